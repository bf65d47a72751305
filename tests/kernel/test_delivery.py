# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of messages: what was refused is matched to its step, whichever way it went."""

import errno
import os
import struct
import threading
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from netgroupd.kernel.netlink import delivery
from netgroupd.kernel.netlink.compound import entry
from netgroupd.kernel.netlink.delivery import Lanes, Packet, deliver
from netgroupd.kernel.netlink.message import attr, nest, request, u32
from netgroupd.kernel.netlink.socket import Answer, Counters
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Op, Step
from tests.waiting import PATIENCE_S


class Told:
    """In place of a socket: answers what it was told to, to whatever is sent."""

    together = Barrier(1)

    def __init__(self, *refused: int, entries: bytes = b"") -> None:
        self.refused = refused
        self.entries = entries
        self.counters = Counters()
        self.next = 100

    def next_sequence(self, count: int = 1) -> int:
        self.next += count
        return self.next - count

    def send(self, *_parts: bytes, count: int = 1) -> None:
        self.counters.messages += count
        self.together.wait(PATIENCE_S)

    def answers(self, last: int) -> Iterator[Answer]:
        first = 100 if self.entries else last - 4
        for place in self.refused:
            yield Answer(first + place, 17, "File exists", entries=self.entries)

    def close(self) -> None:
        pass


def _steps(count: int) -> list[AnyStep]:
    return [Step(Op.CREATE, None, Object("filter", (str(number),), {})) for number in range(count)]


MESSAGES = [request(44, 0, bytes(20 + 4 * (number % 2))) for number in range(4)]


def test_refusal_belongs_to_the_message_of_its_number() -> None:
    steps = _steps(4)
    denied = deliver(Told(2), Packet(steps, b"".join(MESSAGES)))  # type: ignore[arg-type]
    assert [(one.step, one.message) for one in denied] == [(steps[2], MESSAGES[2])]


def test_refused_entry_belongs_to_the_step_of_its_place() -> None:
    told = nest(1, u32(1, 3), attr(2, struct.pack("=i", -17)), attr(3, b"no\0"))
    steps = _steps(4)
    packet = Packet(steps, b"".join(map(entry, MESSAGES)), together=True)
    denied = deliver(Told(0, entries=told), packet)  # type: ignore[arg-type]
    got = [(one.step, one.answer.sentence, one.message) for one in denied]
    assert got == [(steps[3], "no", entry(MESSAGES[3]))]


class Small(Told):
    """A socket that takes no more than so many bytes at once."""

    def send(self, *parts: bytes, count: int = 1) -> None:
        if sum(map(len, parts)) > 120:
            raise OSError(errno.EMSGSIZE, "Message too long")
        super().send(*parts, count=count)


@pytest.mark.parametrize(("together", "want"), [(False, 4), (True, 2)], ids=["packed", "compound"])
def test_packet_that_the_socket_does_not_take_at_once_goes_in_parts(together: bool, want: int) -> None:
    socket, steps, messages = Small(), _steps(4), list(map(entry, MESSAGES)) if together else MESSAGES
    assert deliver(socket, Packet(steps, b"".join(messages), together)) == []  # type: ignore[arg-type]
    assert socket.counters.messages == want


def test_message_that_the_socket_does_not_take_is_refused() -> None:
    steps, large = _steps(2), request(44, 0, bytes(120))
    denied = deliver(Small(), Packet(steps, MESSAGES[0] + large))  # type: ignore[arg-type]
    assert [(one.step, one.answer.errno, one.message) for one in denied] == [(steps[1], errno.EMSGSIZE, large)]


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lanes]:
    """Two lanes, whose packets arrive only when there is one in each."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    monkeypatch.setattr(delivery, "Socket", lambda _netns: Told(1))
    monkeypatch.setattr(Told, "together", Barrier(2))
    opened = Lanes(None, Counters(), 8)
    yield opened
    opened.close()


def test_packets_go_side_by_side_and_all_refusals_come_back(lanes: Lanes) -> None:
    packets = [Packet(_steps(4), b"".join(MESSAGES)) for _ in range(6)]
    for packet in packets:
        lanes.send(packet)
    denied = lanes.arrived()
    assert {id(one.step) for one in denied} == {id(packet.steps[1]) for packet in packets}
    assert len(denied) == len(packets)
    assert lanes.arrived() == []


def test_failure_of_a_packet_is_told_once(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_parts: bytes, count: int = 1) -> None:
        raise OSError(count, "no buffer space")

    monkeypatch.setattr(Told, "send", staticmethod(fail))
    lanes.send(Packet(_steps(4), b"".join(MESSAGES)))
    with pytest.raises(OSError, match="no buffer"):
        lanes.arrived()
    assert lanes.arrived() == []


def test_lane_that_cannot_be_opened_is_not_needed_where_there_is_another(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter([Told(1), None, None, Told(1)])

    def opened(_netns: str | None) -> Told:
        if (socket := next(made)) is None:
            raise OSError(errno.EMFILE, "Too many open files")
        return socket

    monkeypatch.setattr(delivery, "Socket", opened)
    packets = [Packet(_steps(4), b"".join(MESSAGES)) for _ in range(4)]
    for packet in packets:
        lanes.send(packet)
    assert {id(one.step) for one in lanes.arrived()} == {id(packet.steps[1]) for packet in packets}


def test_lanes_of_which_none_can_be_opened_do_not_keep_the_next_packet_for_ever(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter([None, Told(1), Told(1)])

    def opened(_netns: str | None) -> Told:
        if (socket := next(made)) is None:
            raise OSError(errno.EMFILE, "Too many open files")
        return socket

    monkeypatch.setattr(delivery, "Socket", opened)
    packets = [Packet(_steps(4), b"".join(MESSAGES)) for _ in range(2)]
    with pytest.raises(OSError, match="Too many"):
        lanes.send(packets[0])
    for packet in packets:
        lanes.send(packet)
    assert {id(one.step) for one in lanes.arrived()} == {id(packet.steps[1]) for packet in packets}


def test_one_cpu_has_no_thread_to_take_turns_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0})
    monkeypatch.setattr(delivery, "Socket", lambda _netns: Told(1))
    counters, before = Counters(), threading.active_count()
    lanes = Lanes(None, counters, 8)
    packets = [Packet(_steps(4), b"".join(MESSAGES)) for _ in range(2)]
    for packet in packets:
        lanes.send(packet)
    assert threading.active_count() == before
    assert [id(one.step) for one in lanes.arrived()] == [id(packet.steps[1]) for packet in packets]
    assert counters.messages == sum(len(packet.steps) for packet in packets)
    lanes.close()


@pytest.mark.parametrize("threads", [0, 1])
def test_packets_arrive_where_no_more_threads_can_be_started(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    left = iter([True] * threads)
    start = Thread.start

    def refused(thread: Thread) -> None:
        if not next(left, False):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", refused)
    monkeypatch.setattr(Told, "together", Barrier(1))
    packets = [Packet(_steps(4), b"".join(MESSAGES)) for _ in range(6)]
    for packet in packets:
        lanes.send(packet)
    assert sorted(id(one.step) for one in lanes.arrived()) == sorted(id(packet.steps[1]) for packet in packets)
