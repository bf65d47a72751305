# SPDX-License-Identifier: GPL-2.0-or-later
"""Being in another network namespace for a moment.

A socket stays in the namespace that it was opened in, and /proc/sys/net is that
of the thread that opens a file: so both are opened inside ``entered``.  Only the
calling thread moves, and it comes back.
"""

import ctypes
import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netgroupd.errors import UsageError

CLONE_NEWNET = 0x40000000
_SO_NETNS_COOKIE = 71
HERE = "/proc/thread-self/ns/net"
_DIRECTORY = Path("/run/netns")
_libc = ctypes.CDLL(None, use_errno=True)


def path_of(netns: str) -> Path:
    """Where a namespace is mounted: ``netns`` is a name as ``ip netns`` has it, or a path."""
    return Path(netns) if "/" in netns else _DIRECTORY / netns


def name_of(netns: str) -> str:
    """What files about a namespace are called by: its name as ``ip netns`` has it, or its path without slashes."""
    place = path_of(netns).resolve()
    return place.name if place.parent == _DIRECTORY.resolve() else str(place).replace("/", "-")


def cookie_of(netns: str | None) -> int:
    """A number that no other namespace has until the host restarts; 0 where there is none, or Linux is before 5.14.

    Raises:
        OSError, UsageError: It cannot be told.
    """
    if netns is not None and not is_there(netns):
        return 0
    with entered(netns), socket.socket(socket.AF_UNIX) as inside:
        try:
            return int.from_bytes(inside.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), sys.byteorder)
        except OSError as error:
            if error.errno != errno.ENOPROTOOPT:
                raise
            return 0


def is_there(netns: str) -> bool:
    """Whether there is a namespace of that name."""
    return path_of(netns).exists()


def named() -> list[str]:
    """The namespaces that have a name."""
    return sorted(path.name for path in _DIRECTORY.iterdir()) if _DIRECTORY.is_dir() else []


def open_netns(netns: str) -> int:
    """A file descriptor of the namespace.

    Raises:
        UsageError: There is none of that name.
    """
    if netns in ("", ".", ".."):
        raise UsageError(f"{netns!r} is no name of a network namespace")
    try:
        return os.open(path_of(netns), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO would be waited for
    except OSError as error:
        raise UsageError(f"no network namespace {netns!r}: {error.strerror}") from error


def _set(fd: int) -> None:
    if _libc.setns(fd, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter the network namespace: {os.strerror(number)}")


@contextmanager
def _opened(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def entered(netns: str | None) -> Iterator[None]:
    """Run the block with this thread in ``netns``; None is where it is already.

    Raises:
        UsageError: There is no such namespace.
    """
    if netns is None:
        yield
        return
    with _opened(os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)) as home, _opened(open_netns(netns)) as target:
        try:
            _set(target)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise UsageError(f"{path_of(netns)} is no network namespace") from error
        try:
            yield
        finally:
            _set(home)


@contextmanager
def fresh() -> Iterator[None]:
    """Run the block with this thread in a new namespace, which lasts as long as a socket of it."""
    with _opened(os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)) as home:
        if _libc.unshare(CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, f"cannot make a network namespace: {os.strerror(number)}")
        try:
            yield
        finally:
            _set(home)
