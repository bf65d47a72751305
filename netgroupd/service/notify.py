# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon tells systemd: ready, status, reloading, still alive.

The protocol of sd_notify(3) is one datagram of lines; outside systemd
NOTIFY_SOCKET is not set and every call does nothing.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from gi.repository import Gio, GLib

_LONGEST = 4096  # bytes: systemd passes over what is longer
_PATIENCE_S = 1.0
_AGAIN_S = 0.01
_LONGEST_SILENCE_US = 1_800_000_000  # as long as a start may take
_away: set[str] = set()  # who took nothing for so long, and is not waited for until they do


@cache
def _socket() -> Gio.Socket:
    """The one socket for all datagrams: kept, so that they go out when no descriptor is left."""
    socket = Gio.Socket.new(Gio.SocketFamily.UNIX, Gio.SocketType.DATAGRAM, Gio.SocketProtocol.DEFAULT)
    socket.set_blocking(False)
    return socket


def send_datagram(path: str, payload: bytes) -> bool:
    """Send ``payload`` to the socket at ``path`` ("@" for abstract); say whether it went.

    Who listens and does not read, as a journal that hangs, must not hold up a change or a deadline for long.
    """
    if path.startswith("@"):
        kind, path = Gio.UnixSocketAddressType.ABSTRACT, path[1:]
    else:
        kind = Gio.UnixSocketAddressType.PATH
    address = Gio.UnixSocketAddress.new_with_type(list(path.encode()), kind)
    end = time.monotonic() + (0.0 if path in _away else _PATIENCE_S)
    while (sent := _sent(address, payload)) is None and time.monotonic() < end:
        time.sleep(_AGAIN_S)
    if sent is None:
        _away.add(path)
    else:
        _away.discard(path)
    return bool(sent)


def _sent(address: Gio.UnixSocketAddress, payload: bytes) -> bool | None:
    """Whether ``payload`` went; None where there is no room for it now."""
    try:
        _socket().send_to(address, payload, None)
    except GLib.Error as error:  # nobody listens: that must not stop the daemon
        return None if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.WOULD_BLOCK) else False
    return True


def notify(**lines: str | int) -> None:
    """Tell systemd, for example ``notify(READY=1, STATUS="12 links")``."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        text = "\n".join(f"{name}={str(value).replace(chr(10), ' ')}" for name, value in lines.items())
        send_datagram(path, _cut(text.encode(errors="backslashreplace")))


def _cut(payload: bytes) -> bytes:
    """What systemd reads of it: a status may have a line for each of a hundred problems."""
    if len(payload) <= _LONGEST:
        return payload
    more = " …".encode()
    return payload[: _LONGEST - len(more)].decode(errors="ignore").encode() + more


def reloading() -> None:
    """Announce a reload; systemd wants the clock with it to pair it with READY=1."""
    notify(RELOADING=1, MONOTONIC_USEC=time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)


def watchdog_interval_s() -> float:
    """How often systemd wants to hear from this process, halved for safety; 0 for never."""
    return _watchdog_us() / 2_000_000


def _watchdog_us() -> int:
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0
    return int(os.environ.get("WATCHDOG_USEC", "0"))


@contextmanager
def long_silence() -> Iterator[None]:
    """Have systemd wait longer for signs of life during the block, which asks the kernel for changes.

    On a host with one processor, and a kernel that is not preempted, nobody else runs until it has done a request: one
    for the MTU of a group took 13 s for 10,000 links, and 7 minutes for 32,000.
    """
    usual_us = _watchdog_us()
    if usual_us:
        notify(WATCHDOG_USEC=_LONGEST_SILENCE_US)
    try:
        yield
    finally:
        if usual_us:
            notify(WATCHDOG_USEC=usual_us)  # from now on
