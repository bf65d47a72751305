# SPDX-License-Identifier: GPL-2.0-or-later
"""A netlink socket: what goes out and comes in, counted; dumps that are whole or repeated.

Strict checking makes the kernel refuse filters that it does not know instead of
ignoring them; extended acknowledgements carry its own sentence.  One large
buffer is reused: the kernel makes its dump messages as large as the largest
buffer it has seen, up to 32 KiB.
"""

import ctypes
import errno
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple, Self, TypeVar

from netgroupd.errors import KernelError, Refusal
from netgroupd.kernel.netlink.message import (
    HEADER,
    HEADER_LEN,
    NLM_F_ACK,
    NLM_F_ACK_TLVS,
    NLM_F_CAPPED,
    NLM_F_DUMP_INTR,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_NOOP,
    SEQUENCE,
    attributes,
)
from netgroupd.kernel.netlink.opening import SOL_NETLINK, opened

NETLINK_ROUTE = 0
NETLINK_GENERIC = 16
_KERNEL = (0, 0)  # where messages go by themselves; strace shows them as what they are only where a call says so
_RECEIVE = 64 << 10
_LAST_SEQUENCE = 0xFFFFFFFF
_TRIES = 8
_TOLD_AT_ONCE = 128
_PATIENCE_S = 10.0  # thousands of links that came up get their link-local addresses for some seconds
_PAUSE_S = 0.001
_ENDS = frozenset({NLMSG_DONE, NLMSG_ERROR})
_LONGEST_PAUSE_S = 0.1

_ATTR_MSG = 1
_ATTR_OFFS = 2
_ATTR_COOKIE = 3
_ATTR_MISS_TYPE = 5
_ATTR_BATCH = 32
_ERROR = struct.Struct("=iIHHII")  # errno, then the header of the request

_SO_ATTACH_FILTER = 26
_INSTRUCTION = struct.Struct("=HBBI")  # struct sock_filter
_PROGRAM = struct.Struct("@HP")  # struct sock_fprog

T = TypeVar("T")
Decode = Callable[[int, memoryview], T | None]
Skim = Callable[[memoryview, list[T]], int]
Message = tuple[int, int, int, memoryview]  # type, flags, sequence number, payload


class Counters:
    """What was done so far: the costs that no noise disturbs."""

    __slots__ = ("messages", "received", "syscalls")

    def __init__(self) -> None:
        self.messages = 0
        self.syscalls = 0
        self.received = 0

    def take(self, other: "Counters") -> None:
        """Add what another has counted, which begins anew."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
            setattr(other, name, 0)


class Answer(NamedTuple):
    """What the kernel said about one request; ``errno`` 0 is yes.

    ``offset`` is where in the request the attribute is that it did not like, and
    ``missing`` the number of one that it wants, both -1 where it does not say.
    ``entries`` are the errors of the parts of a compound message.
    """

    sequence: int
    errno: int
    sentence: str
    offset: int = -1
    missing: int = -1
    cookie: bytes = b""
    entries: bytes = b""

    def refusal(self, what: str) -> Refusal:
        """As the operator shall read it."""
        return Refusal(what, self.errno, self.sentence)


def read_error(payload: memoryview, flags: int, *, done: bool = False) -> Answer:
    """Read the body of an NLMSG_ERROR, or of an NLMSG_DONE, which has no header of a request in it."""
    number = -struct.unpack_from("=i", payload)[0]
    whole = not done and len(payload) >= _ERROR.size
    size, sequence = (_ERROR.unpack_from(payload)[1], _ERROR.unpack_from(payload)[4]) if whole else (0, 0)
    sentence, offset, missing, cookie, entries = "", -1, -1, b"", b""
    if flags & NLM_F_ACK_TLVS:
        echoed = 0 if flags & NLM_F_CAPPED else max(0, size - HEADER_LEN)
        start = _ERROR.size + ((echoed + 3) & ~3) if whole else 4
        told = attributes(payload, start)
        if _ATTR_MSG in told:
            sentence = bytes(told[_ATTR_MSG]).rstrip(b"\0").decode(errors="replace")
        if _ATTR_OFFS in told:
            (offset,) = struct.unpack_from("=I", told[_ATTR_OFFS])
        if _ATTR_MISS_TYPE in told:
            (missing,) = struct.unpack_from("=I", told[_ATTR_MISS_TYPE])
        cookie, entries = bytes(told.get(_ATTR_COOKIE, b"")), bytes(told.get(_ATTR_BATCH, b""))
    sentence = sentence or (os.strerror(number) if number else "")
    return Answer(sequence, number, sentence, offset, missing, cookie, entries)


class Socket:
    """One netlink socket in one network namespace."""

    def __init__(self, netns: str | None = None, family: int = NETLINK_ROUTE, *, buffer: int = 4 << 20) -> None:
        """Open it; ``buffer`` is what may wait in it in bytes, either way.

        Raises:
            UsageError: There is no such namespace.
        """
        self._open = partial(opened, netns, family, buffer)
        self._raw = self._open()
        self._dumping = False  # also after one that was given up
        self._buffer = memoryview(bytearray(_RECEIVE))
        self._sequence = 0
        self.counters = Counters()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the socket back; nothing can be sent any more."""
        self._raw.close()

    def fileno(self) -> int:
        """For ``select``."""
        return self._raw.fileno()

    def next_sequence(self, count: int = 1) -> int:
        """The first of ``count`` sequence numbers that nobody else has."""
        if self._sequence + count > _LAST_SEQUENCE:
            self._sequence = 0
        first = self._sequence + 1
        self._sequence += count
        return first

    def send(self, *parts: bytes | bytearray, count: int = 1) -> None:
        """Send ``count`` messages, in parts, with one call; the kernel has done them when it returns."""
        self._raw.sendmsg(parts, (), 0, _KERNEL)
        self.counters.syscalls += 1
        self.counters.messages += count

    def receive(self) -> memoryview:
        """What one call brings; overwritten by the next."""
        size = self._raw.recv_into(self._buffer)
        self.counters.syscalls += 1
        self.counters.received += size
        return self._buffer[:size]

    def waiting(self) -> memoryview | None:
        """What has come already, None if nothing has; overwritten by the next.

        Raises:
            OSError: With ENOBUFS when something was lost.
        """
        try:
            size = self._raw.recv_into(self._buffer, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        self.counters.syscalls += 1
        self.counters.received += size
        return self._buffer[:size]

    def answers(self, last: int) -> Iterator[Answer]:
        """The refusals up to the acknowledgement of ``last``, a message that does nothing."""
        for kind, flags, _, payload in self._until(last):
            if kind == NLMSG_ERROR and (answer := read_error(payload, flags)).errno:
                yield answer

    def _until(self, last: int) -> Iterator[Message]:
        """What comes before the acknowledgement of ``last``.

        An overrun loses answers, perhaps that one.  It is asked for again, but only
        when the queue is empty: as long as it is not, more are lost in silence.
        """
        while True:
            try:
                packets = [self.receive()]
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                packets = self._drain()
                last = self.barrier()
            for packet in packets:
                for message in split(packet):
                    if message[0] == NLMSG_ERROR and message[2] == last:
                        return
                    yield message

    def _drain(self) -> list[memoryview]:
        """Everything that waits, copied."""
        packets = []
        while (packet := self.waiting()) is not None:
            packets.append(memoryview(bytes(packet)))
        return packets

    def barrier(self) -> int:
        """Ask for an acknowledgement of nothing: what was sent before is then answered."""
        sequence = self.next_sequence()
        self.send(noop(sequence))
        return sequence

    def ask(self, message: bytes, decode: Decode[T] | None = None) -> tuple[Answer, list[T]]:
        """Send one request that is no dump; what came for it, and how it ended."""
        sequence = self.next_sequence(2)
        packet = bytearray(message)
        SEQUENCE.pack_into(packet, 8, sequence)
        self.send(packet + noop(sequence + 1))
        found: list[T] = []
        answer = Answer(sequence, 0, "")
        for kind, flags, got, payload in self._until(sequence + 1):
            if got != sequence:
                continue
            if kind == NLMSG_ERROR:
                answer = read_error(payload, flags)
            elif decode and (item := decode(kind, payload)) is not None:
                found.append(item)
        return answer, found

    def ask_all(self, messages: Sequence[bytes], decode: Decode[T]) -> list[T]:
        """Send requests that are no dumps, many at once; what came for them, in their order."""
        found: list[T] = []
        for first, last in self._sent(messages):
            for kind, _, got, payload in self._until(last):
                if kind != NLMSG_ERROR and first <= got < last and (item := decode(kind, payload)) is not None:
                    found.append(item)
        return found

    def tell(self, messages: Sequence[bytes]) -> None:
        """Send requests, many at once, and see that they are done; nobody wants to know what was refused."""
        for _, last in self._sent(messages):
            for _ in self.answers(last):
                pass

    def _sent(self, messages: Sequence[bytes]) -> Iterator[tuple[int, int]]:
        """Send some messages after the others; the number of their first, and of what ends them."""
        for start in range(0, len(messages), _TOLD_AT_ONCE):
            packets = [bytearray(message) for message in messages[start : start + _TOLD_AT_ONCE]]
            first = self.next_sequence(len(packets) + 1)
            for sequence, packet in enumerate(packets, first):
                SEQUENCE.pack_into(packet, 8, sequence)
            last = first + len(packets)
            self.send(b"".join((*packets, noop(last))), count=len(packets))
            yield first, last

    def dump(
        self,
        message: bytes,
        decode: Decode[T],
        what: str = "dump",
        *,
        enough: bool = False,
        mark: bytes = b"",
        skim: Skim[T] | None = None,
    ) -> list[T]:
        """All that a dump request brings, decoded; ``decode`` may return None to leave one out.

        What it decodes from is overwritten when it returns.  A dump during which
        something changes is repeated, after longer and longer pauses, until one is whole
        or brings what the one before has brought: what changes then is something else,
        as the link-local addresses that 10,000 links get one by one after they came up.
        ``enough``: when others never stop changing things, the last reading will do.
        Packets without ``mark`` anywhere in them are not decoded, nor so many bytes from
        any message on as ``skim`` has seen enough of, which may add to what was found.

        Raises:
            KernelError: The kernel refused it, or it never came whole.
        """
        before: list[T] | None = None
        until = time.monotonic() + _PATIENCE_S
        turn = 0
        while turn < _TRIES or time.monotonic() < until:
            turn += 1
            try:
                found, whole = self._dump_once(message, decode, what, mark, skim)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
            else:
                if whole or found == before or (enough and turn >= _TRIES):
                    return found
                before = found
            time.sleep(min(_PAUSE_S * 2 ** min(turn, _TRIES), _LONGEST_PAUSE_S))
        raise KernelError([Refusal(what, errno.EINTR, f"it changed during each of {turn} readings")])

    def _dump_once(
        self, message: bytes, decode: Decode[T], what: str, mark: bytes, skim: Skim[T] | None
    ) -> tuple[list[T], bool]:
        """What came, and whether it did not change meanwhile."""
        if self._dumping:  # the kernel takes no further one from a socket before that has come to its end
            self._raw.close()
            self._raw = self._open()
        self._dumping = True
        sequence = self.next_sequence()
        packet = bytearray(message)
        SEQUENCE.pack_into(packet, 8, sequence)
        self.send(packet)
        found: list[T] = []
        seen = 0
        unpack = HEADER.unpack_from
        while True:
            received = self.receive()
            worthless = bool(mark) and mark not in received.tobytes()
            # As `split` does it, without its tuples: this loop sees every link there is.
            is_ours = len(received) >= HEADER_LEN and SEQUENCE.unpack_from(received, 8) == (sequence,)
            passing = (_alike if worthless else skim) if is_ours else None
            start, end = passing(received, found) if passing else 0, len(received)
            while start + HEADER_LEN <= end:
                size, kind, flags, got, _ = unpack(received, start)
                first, last = start + HEADER_LEN, start + size
                if size < HEADER_LEN or last > end:
                    break
                start = (last + 3) & ~3
                if got != sequence:
                    continue  # the rest of a dump given up after an overrun
                seen |= flags
                if kind in _ENDS:
                    answer = read_error(received[first:last], flags, done=kind == NLMSG_DONE)
                    return self._ended(answer, found, seen, what)
                if not worthless and (item := decode(kind, received[first:last])) is not None:
                    found.append(item)
                if passing:
                    start += passing(received[start:], found)

    def _ended(self, answer: Answer, found: list[T], seen: int, what: str) -> tuple[list[T], bool]:
        """What a dump brought that has come to its end."""
        self._dumping = False
        if answer.errno == errno.EINTR:  # what routes say in place of the flag
            return found, False
        if answer.errno:
            raise KernelError([answer.refusal(what)])
        return found, not seen & NLM_F_DUMP_INTR

    def attach(self, program: Sequence[tuple[int, int, int, int]]) -> None:
        """Receive only what a classic BPF program accepts, which OSError says is wrong."""
        code = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*row) for row in program))
        self._raw.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _PROGRAM.pack(len(program), ctypes.addressof(code)))

    def join(self, group: int) -> None:
        """Receive the notifications of a multicast group, which OSError says there is not."""
        self._raw.setsockopt(SOL_NETLINK, 1, group)


def noop(sequence: int) -> bytes:
    """A message that does nothing and is acknowledged."""
    return HEADER.pack(HEADER_LEN, NLMSG_NOOP, NLM_F_REQUEST | NLM_F_ACK, sequence, 0)


def _alike(packet: memoryview, _found: list[T]) -> int:
    """How many bytes at the start of a packet are messages with one header, that tells nothing of the dump."""
    if len(packet) < HEADER_LEN:
        return 0
    head = size, kind, flags, *_ = HEADER.unpack_from(packet)
    if size < HEADER_LEN or kind in _ENDS or flags & NLM_F_DUMP_INTR:
        return 0
    each = struct.Struct(f"{HEADER.format}{(size - HEADER_LEN + 3) & ~3}x")
    whole = len(packet) - len(packet) % each.size
    return each.size * len([*takewhile(head.__eq__, each.iter_unpack(packet[:whole]))])


def split(packet: memoryview) -> Iterator[Message]:
    """The messages of one packet: type, flags, sequence number and payload."""
    start, end = 0, len(packet)
    while start + HEADER_LEN <= end:
        size, kind, flags, sequence, _ = HEADER.unpack_from(packet, start)
        if size < HEADER_LEN or start + size > end:
            return
        yield kind, flags, sequence, packet[start + HEADER_LEN : start + size]
        start += (size + 3) & ~3
