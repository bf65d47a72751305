# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps during which something changes: read again until it can be believed, and not for ever."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest

from netgroupd.errors import KernelError
from netgroupd.kernel.netlink.message import HEADER, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_MULTI, NLMSG_DONE, request
from netgroupd.kernel.netlink.socket import Decode, Skim, Socket, T
from tests.instructions import instructions

pytestmark = pytest.mark.vm("stock")


class Restless(Socket):
    """Every dump is interrupted, and brings what a test says."""

    def __init__(self, readings: Iterator[list[int]]) -> None:
        super().__init__()
        self.readings = readings
        self.turns = 0

    def _dump_once(
        self, message: bytes, decode: Decode[T], what: str, mark: bytes, skim: Skim[T] | None
    ) -> tuple[list[T], bool]:
        del message, what, mark, skim
        self.turns += 1
        found = (decode(number, memoryview(b"")) for number in next(self.readings))
        return [item for item in found if item is not None], False


class Overrun(Socket):
    """So many dumps lose messages before one comes whole."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def _dump_once(
        self, message: bytes, decode: Decode[T], what: str, mark: bytes, skim: Skim[T] | None
    ) -> tuple[list[T], bool]:
        self.left -= 1
        if self.left >= 0:
            raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
        return super()._dump_once(message, decode, what, mark, skim)


def number(kind: int, _payload: memoryview) -> int:
    return kind


class Foretold(Socket):
    """A dump that comes in one packet: messages that all say one, with these flags, and the end of it."""

    def __init__(self, flags: list[int]) -> None:
        super().__init__()
        sizes = [44, *[40] * (len(flags) - 1)]  # of the address of lo more is said than of others
        messages = [
            HEADER.pack(size, 28, NLM_F_MULTI | each, 1, 0) + bytes((1,) * (size - 16))
            for size, each in zip(sizes, flags, strict=True)
        ]
        self.packet = b"".join([*messages, HEADER.pack(20, NLMSG_DONE, NLM_F_MULTI, 1, 0), bytes(4)])

    def receive(self) -> memoryview:
        return memoryview(self.packet)


def test_second_reading_that_brings_the_same_is_believed() -> None:
    with closing(Restless(iter(([1], [1, 2], [1, 2], [])))) as socket:
        assert socket.dump(b"", number) == [1, 2]
        assert socket.turns == 3


def test_reading_that_is_restless_for_a_while_is_waited_for() -> None:
    with closing(Restless(iter([*([each] for each in range(20)), [19]]))) as socket:
        assert socket.dump(b"", number) == [19]


def test_reading_that_never_is_the_same_twice_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.kernel.netlink.socket._PATIENCE_S", 0.2)
    with (
        closing(Restless([each] for each in count())) as socket,
        pytest.raises(KernelError, match="it changed during each of"),
    ):
        socket.dump(b"", number)


def test_dump_that_was_overrun_is_asked_for_again() -> None:
    with closing(Overrun(2)) as socket:
        assert 16 in socket.dump(request(18, NLM_F_DUMP, bytes(16)), number)
        assert socket.left == -1


def test_dump_that_always_is_overrun_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.kernel.netlink.socket._PATIENCE_S", 0.2)
    with closing(Overrun(100)) as socket, pytest.raises(KernelError, match="it changed during each of"):
        socket.dump(request(18, NLM_F_DUMP, bytes(16)), number)


def test_dump_that_the_kernel_refuses_is_told_in_its_words() -> None:
    unknown_flag = bytes((2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0))  # of struct ndmsg
    with closing(Socket()) as socket, pytest.raises(KernelError, match="Invalid flags in header for neighbor dump"):
        socket.dump(request(30, NLM_F_DUMP, unknown_flag), number)


def test_numbers_begin_anew_behind_the_last_that_a_message_can_have() -> None:
    with closing(Socket()) as socket:
        socket._sequence = 0xFFFFFFFE
        answers = [socket.ask(request(18, 0, bytes((0,) * 4 + (1,) + (0,) * 11)), number) for _ in range(2)]
        assert [(answer.errno, found) for answer, found in answers] == [(0, [16])] * 2


@pytest.fixture
def many() -> Iterator[str]:
    """A namespace whose links take several messages to tell."""
    subprocess.run(["ip", "netns", "add", "many"], check=True)
    lines = "".join(f"link add d{index} type dummy\n" for index in range(100))
    subprocess.run(["ip", "-n", "many", "-batch", "-"], input=lines, text=True, check=True)
    yield "many"
    subprocess.run(["ip", "netns", "del", "many"], check=True)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))])
def test_dump_that_was_given_up_in_the_middle_is_in_nobodys_way(
    many: str, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    with closing(Socket(many)) as socket:
        received = count(1)
        receive = socket.receive

        def failing() -> memoryview:
            if next(received) == 1:
                raise failure
            return receive()

        monkeypatch.setattr(socket, "receive", failing)
        message = request(18, NLM_F_DUMP, bytes(16))
        if isinstance(failure, KeyboardInterrupt):  # as whoever then undoes what was changed
            with pytest.raises(KeyboardInterrupt):
                socket.dump(message, number)
        assert len(socket.dump(message, number)) == 101


@pytest.mark.parametrize("mark", [b"", b"\xff"], ids=["told", "worth nothing"])
@pytest.mark.parametrize("place", [None, 0, 1, 2])
@pytest.mark.parametrize("count", [1, 3])
def test_change_is_seen_in_any_message_also_of_those_that_are_not_read(
    mark: bytes, place: int | None, count: int
) -> None:
    flags = [NLM_F_DUMP_INTR * (each == place) for each in range(count)]
    with closing(Foretold(flags)) as socket:
        _, whole = socket._dump_once(request(30, NLM_F_DUMP, bytes(12)), number, "dump", mark, None)
        assert whole != any(flags)


def test_messages_that_are_worth_nothing_take_nothing_each() -> None:
    def read(messages: int) -> int:
        with closing(Foretold([0] * messages)) as socket:
            return instructions(lambda: socket.dump(request(30, NLM_F_DUMP, bytes(12)), number, mark=b"\xff"))

    assert read(500) == read(100)
