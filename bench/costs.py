# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program costs that no noise disturbs, counted by the kernel meanwhile: the program runs as fast as ever.

Netlink messages are those that a monitor sees, which is one link more in the
network namespace.  What goes to the kernel waits at a socket until the program
has ended; of what comes from there the monitor itself has the bytes.
"""

import ctypes
import resource
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

MONITOR = "nlmon0"
_ETH_P_ALL = 3
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _PACKET_STATISTICS = 26, 33, 6
_SOL_PACKET = 263
_WAITING = (1 << 30) - 1  # bytes of messages and what the kernel needs to keep them; it doubles that
_LARGEST = 1 << 24
# The monitor does not tell directions.  Only what asks for something has this
# flag, and the kernel does not look at messages without it.
_NLM_F_REQUEST, _FLAGS_AT = 1, 6
_LOAD_BYTE, _IF_BIT, _RETURN = 0x30, 0x45, 0x06
_REQUESTS = (
    (_LOAD_BYTE, 0, 0, _FLAGS_AT),
    (_IF_BIT, 0, 1, _NLM_F_REQUEST),
    (_RETURN, 0, 0, _LARGEST),
    (_RETURN, 0, 0, 0),
)


class Costs(NamedTuple):
    """The counts of one run."""

    messages: int  # netlink messages sent
    syscalls: int  # 0 where the kernel does not count them
    received: int  # bytes of netlink messages
    packets: int  # in which they came, each for one call
    started: int  # processes and threads


class _Reading(NamedTuple):
    """What only grows."""

    packets: int
    received: int
    syscalls: int
    started: int


class Meter:
    """Counts what children do in this network and process namespace, until they have ended."""

    def __init__(self) -> None:
        subprocess.run(("ip", "link", "add", MONITOR, "up", "type", "nlmon"), check=True)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
        code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in _REQUESTS))
        program = struct.pack("@HP", len(_REQUESTS), ctypes.addressof(code))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _WAITING)
        self._socket.bind((MONITOR, _ETH_P_ALL))
        self._buffer = bytearray(_LARGEST)
        self.start()

    def close(self) -> None:
        """Take the monitor away."""
        self._socket.close()
        subprocess.run(("ip", "link", "del", MONITOR), check=True)

    def start(self) -> None:
        """Forget what there was."""
        for _ in self._sent():
            pass
        self._before = _reading()

    def costs(self) -> Costs:
        """What there was since the start."""
        after = _reading()
        messages = packets = size = 0
        for packet in self._sent():
            packets += 1
            size += len(packet)
            messages += sum(1 for _ in messages_of(packet))
        told = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        assert not struct.unpack("=II", told)[1], "more messages than can wait"
        grown = _Reading(*(new - old for new, old in zip(after, self._before, strict=True)))
        return Costs(messages, grown.syscalls, grown.received - size, grown.packets - packets, grown.started)

    def _sent(self) -> Iterator[memoryview]:
        with suppress(BlockingIOError):
            while size := self._socket.recv_into(self._buffer, 0, socket.MSG_DONTWAIT):
                yield memoryview(self._buffer)[:size]


def messages_of(packet: memoryview) -> Iterator[memoryview]:
    """Every message of a packet."""
    while len(packet):
        (length,) = struct.unpack_from("=I", packet)
        yield packet[:length]
        packet = packet[(length + 3) & ~3 :]


def _reading() -> _Reading:
    links = Path("/proc/net/dev").read_text()
    received, packets = map(int, links.partition(f"{MONITOR}:")[2].split(maxsplit=2)[:2])
    # The counting kernel has system calls where others have blocks read, or nothing.
    syscalls = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    last_pid = Path("/proc/loadavg").read_text().split()[-1]
    return _Reading(packets, received, syscalls, int(last_pid))


def costs(argv: Sequence[str]) -> Costs:
    """Run a program and count."""
    with closing(Meter()) as meter:
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        return meter.costs()
