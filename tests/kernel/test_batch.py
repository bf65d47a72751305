# SPDX-License-Identifier: GPL-2.0-or-later
"""Batches: the next is laid out while the kernel works, and what is sent keeps its order."""

from collections.abc import Callable, Iterator
from threading import Event

import pytest

from netgroupd.kernel.features import Features
from netgroupd.kernel.kernel import Kernel as Conversation
from netgroupd.kernel.links import codec as links
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import delivery
from netgroupd.kernel.netlink.batch import Batch
from netgroupd.kernel.netlink.delivery import Denied, Lanes
from netgroupd.kernel.netlink.message import request
from netgroupd.kernel.netlink.request import Call
from netgroupd.kernel.netlink.socket import Answer, Counters
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Op, Step

FIRST, FULL = 32, 256
WAIT_S = 10.0


class Kernel:
    """In place of sockets: notes what is sent, and answers a packet when it may; ``refuse`` is one of them."""

    def __init__(self, refuse: int = -1) -> None:
        self.counters = Counters()
        self.refuse = refuse
        self.sent: list[int] = []
        self.answered = 0
        self.begun = Event()
        self.may_answer = Event()
        self.overtaken = False

    def next_sequence(self, _count: int = 1) -> int:
        return 1

    def send(self, *_parts: bytes, count: int = 1) -> None:
        self.overtaken |= self.answered < len(self.sent)
        self.sent.append(count)
        self.begun.set()

    def answers(self, _last: int) -> Iterator[Answer]:
        assert self.may_answer.wait(WAIT_S)
        self.answered += 1
        if len(self.sent) - 1 == self.refuse:
            yield Answer(1, 17, "File exists")

    def close(self) -> None:
        """Nothing is held."""


def _begun(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> tuple[Batch, Lanes]:
    monkeypatch.setattr(delivery, "Socket", lambda _netns: kernel)
    lanes = Lanes(None, Counters(), 8)
    return Batch(kernel, lanes), lanes  # type: ignore[arg-type]  # all that it asks of a socket


def _add(batch: Batch, count: int) -> None:
    for number in range(count):
        batch.add(_step(number), [request(16, 0, bytes(16))])


def _step(number: int) -> AnyStep:
    return Step(Op.CREATE, None, Object("link", (f"d{number}",), {}))


def test_next_batch_is_laid_out_while_the_kernel_works_and_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel()
    batch, lanes = _begun(monkeypatch, kernel)
    _add(batch, 3 * FIRST - 1)
    assert kernel.begun.wait(WAIT_S)
    assert (kernel.sent, kernel.answered) == ([FIRST], 0)
    kernel.may_answer.set()
    _add(batch, 5 * FIRST + 2 * FULL)
    batch.flush()
    assert (kernel.sent, kernel.answered, kernel.overtaken) == ([32, 64, 128, FULL, FULL, FIRST - 1], 6, False)
    lanes.close()


def test_nothing_is_sent_behind_a_refusal_in_what_was_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(refuse=0)
    kernel.may_answer.set()
    batch, lanes = _begun(monkeypatch, kernel)
    _add(batch, 3 * FULL)
    batch.flush()
    assert (len(kernel.sent), [one.step for one in batch.denied]) == (1, [_step(0)])
    lanes.close()


@pytest.mark.parametrize("what", ["call", "abreast"])
def test_nothing_overtakes_a_batch_that_is_on_its_way(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    kernel = Kernel()
    kernel.may_answer.set()
    batch, lanes = _begun(monkeypatch, kernel)
    waited: list[str] = []

    def arrived(before: Callable[[], list[Denied]] = lanes.arrived) -> list[Denied]:
        waited.append(what)
        return before()

    monkeypatch.setattr(lanes, "arrived", arrived)
    _add(batch, FIRST)
    before = len(waited)
    if what == "call":
        batch.add(_step(0), [Call(lambda: None)])
    else:
        batch.abreast([_step(0)], request(16, 0, bytes(16)))
    assert len(waited) == before + 1
    batch.flush()
    lanes.close()


@pytest.mark.vm("stock")
def test_link_is_looked_for_when_what_may_bring_it_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(Lanes, "settle", lambda _lanes: seen.append("arrived"))
    monkeypatch.setattr(links, "find", lambda _socket, wanted: seen.append(wanted))
    with Conversation(assume=Features()) as asked, pytest.raises(UnknownLinkError):
        asked.names.index("d0")
    assert seen[:2] == ["arrived", "d0"]
