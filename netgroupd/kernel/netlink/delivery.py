# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of messages to the kernel, one after the other or side by side, and what it refused of each.

A packet takes one system call and one acknowledgement.  The kernel works while
that call lasts, so packets go out by threads with a socket each: the next one is
laid out meanwhile, unless there is but one CPU.  Those whose order does not matter go side by side, and where
the kernel needs no common lock they are worked off on several CPUs.
"""

import errno
import os
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import NamedTuple

from netgroupd.errors import UsageError
from netgroupd.kernel.netlink.compound import compound, failures
from netgroupd.kernel.netlink.message import HEADER_LEN, SEQUENCE, path_to
from netgroupd.kernel.netlink.socket import Answer, Counters, Socket, noop
from netgroupd.kernel.netlink.threads import Begun, Crew
from netgroupd.plan.step import AnyStep

_LENGTH = struct.Struct("=I")  # at the start of each message
_SEQUENCE = 8  # where it is in a message


class Denied(NamedTuple):
    """What the kernel said about one message of a step, with the message."""

    step: AnyStep
    answer: Answer
    message: bytes

    def path(self, body: int) -> tuple[int, ...]:
        """The attribute numbers down to the one that it did not like; () where it does not say."""
        if self.answer.offset < 0:
            return ()
        return path_to(memoryview(self.message), self.answer.offset, HEADER_LEN + body)


class Packet(NamedTuple):
    """The messages of steps, one for one behind each other; ``together``: entries of one compound message."""

    steps: Sequence[AnyStep]
    messages: bytes
    together: bool = False

    def denied(self, refused: Sequence[tuple[int, Answer]]) -> list[Denied]:
        """The refusals of those at some places."""
        if not refused:
            return []
        starts = [*_starts(self.messages), len(self.messages)]
        return [
            Denied(self.steps[place], answer, self.messages[starts[place] : starts[place + 1]])
            for place, answer in refused
        ]

    def halves(self) -> tuple["Packet", "Packet"]:
        """The first messages and the others."""
        count = len(self.steps) // 2
        middle = next(islice(_starts(self.messages), count, None))
        first = self._replace(steps=self.steps[:count], messages=self.messages[:middle])
        return first, self._replace(steps=self.steps[count:], messages=self.messages[middle:])


def deliver(socket: Socket, packet: Packet) -> list[Denied]:
    """Send a packet, and read what the kernel refused of it.

    Who is root in a user namespace alone has no larger socket than the host lets anybody
    have, which may take less than a packet at once.
    """
    try:
        return _deliver_compound(socket, packet) if packet.together else _deliver(socket, packet)
    except OSError as error:
        if error.errno != errno.EMSGSIZE:
            raise
        answer = Answer(0, errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
    if len(packet.steps) == 1:
        return packet.denied([(0, answer)])
    first, second = packet.halves()
    return deliver(socket, first) + deliver(socket, second)


def _deliver(socket: Socket, packet: Packet) -> list[Denied]:
    count = len(packet.steps)
    first = socket.next_sequence(count + 1)
    last = first + count
    whole = bytearray(packet.messages)
    _number(whole, count, first)
    socket.send(whole, noop(last), count=count)
    answers = (answer for answer in socket.answers(last) if first <= answer.sequence < last)
    return packet.denied([(answer.sequence - first, answer) for answer in answers])


def _starts(messages: bytes | bytearray) -> Iterator[int]:
    """Where each message begins, which it does with its length."""
    start = 0
    while start < len(messages):
        yield start
        (size,) = _LENGTH.unpack_from(messages, start)
        start += (size + 3) & ~3


def _number(whole: bytearray, count: int, first: int) -> None:
    """Give each message its sequence number."""
    size = len(whole) // count
    if count > 1 and _are_all(size, count, whole):
        numbers = array("I", range(first, first + count)).tobytes()
        for place in range(4):  # all first bytes at once, and so on
            whole[_SEQUENCE + place :: size] = numbers[place::4]
        return
    for sequence, start in enumerate(_starts(whole), first):
        SEQUENCE.pack_into(whole, start + _SEQUENCE, sequence)


def _are_all(size: int, count: int, whole: bytearray) -> bool:
    """Whether so many messages are all of one size."""
    if size * count != len(whole) or size % 4:
        return False
    (length,) = _LENGTH.unpack_from(whole)
    columns = (whole[place::size] == length.to_bytes(4, sys.byteorder)[place : place + 1] * count for place in range(4))
    return (length + 3) & ~3 == size and all(columns)


def _deliver_compound(socket: Socket, packet: Packet) -> list[Denied]:
    first = socket.next_sequence(2)
    socket.send(*compound(packet.messages, first), noop(first + 1))
    refused: list[tuple[int, Answer]] = []
    for answer in socket.answers(first + 1):
        if answer.sequence != first:
            continue
        for place, number, sentence in list(failures(answer.entries)) or [(0, answer.errno, answer.sentence)]:
            refused.append((place, Answer(first, number, sentence or os.strerror(number))))
    return packet.denied(refused)


class Lanes:
    """Packets on their way side by side, each by a socket and thread of its own, opened when there are the first."""

    def __init__(self, netns: str | None, counters: Counters, most: int) -> None:
        """``most``: more of them would not help; there are no more than CPUs."""
        self._netns = netns
        self._counters = counters
        cpus = len(os.sched_getaffinity(0))
        self._count = min(most, cpus)
        self.alone = cpus == 1
        """Whether a thread would only take turns with the one that sends."""
        self._sockets: list[Socket] = []
        self._free: SimpleQueue[Socket] = SimpleQueue()
        self._crew = Crew(self._count, "netlink")
        self._pending: list[Begun[list[Denied]]] = []
        self._denied: list[Denied] = []

    def close(self) -> None:
        """Wait for what is on its way, and give the sockets back."""
        self._crew.close()
        for socket in self._sockets:
            socket.close()

    def send(self, packet: Packet) -> None:
        """Bring a packet on its way, as soon as there is a lane for it."""
        self._open()
        if self.alone:
            self._denied += self._run(packet)
            return
        if len(self._pending) > self._count:
            self._note(1)
        self._pending.append(self._crew.begin(partial(self._run, packet)))

    def settle(self) -> None:
        """Wait for all packets."""
        self._note(len(self._pending))
        for socket in self._sockets:
            self._counters.take(socket.counters)

    def arrived(self) -> list[Denied]:
        """Wait for all packets; what was refused and not told yet."""
        self.settle()
        return self.refused()

    def refused(self) -> list[Denied]:
        """What was refused so far and not told yet."""
        denied, self._denied = self._denied, []
        return denied

    def _open(self) -> None:
        while len(self._sockets) < self._count:
            try:
                socket = Socket(self._netns)
            except (OSError, UsageError):
                if not self._sockets:
                    raise
                break  # those that there are will do, and the next time there may be more
            self._sockets.append(socket)
            self._free.put(socket)

    def _note(self, count: int) -> None:
        """Wait for the first of the packets that are on their way, and only then tell how they went."""
        done = self._pending[:count]
        for begun in done:
            begun.wait()
        self._pending = self._pending[count:]
        for begun in done:
            self._denied += begun.result()

    def _run(self, packet: Packet) -> list[Denied]:
        socket = self._free.get()
        try:
            return deliver(socket, packet)
        finally:
            self._free.put(socket)
