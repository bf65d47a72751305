# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads leave behind when their work has failed, and the main loop of what it was given to do."""

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from gi.repository import GLib

from netgroupd.errors import BusyError, NetgroupError, VerifyError
from netgroupd.plan.step import Plan
from netgroupd.service.daemon import Daemon
from netgroupd.service.methods import Manager
from netgroupd.service.work import Worker, in_main_loop
from tests.service.fake import FakeEngine
from tests.waiting import eventually


class _State:
    """What a change reads and plans: much, on a large host."""


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_failed_work_keeps_nothing_of_what_it_read(without_collector: None) -> None:
    loop, read, told = GLib.MainLoop(), list[weakref.ref[_State]](), list[str]()

    def put_back(state: _State, error: NetgroupError) -> None:
        assert state
        raise VerifyError("not put back either") from error

    def change() -> None:
        state = _State()
        read.append(weakref.ref(state))
        try:
            raise VerifyError("refused")
        except VerifyError as error:
            put_back(state, error)

    def failed(error: NetgroupError) -> None:
        told.append(str(error))
        loop.quit()

    worker = Worker("changes", 1)
    worker.submit(change, lambda _: loop.quit(), failed)
    loop.run()
    done = GLib.MainLoop()
    worker.submit(lambda: None, lambda _: done.quit(), failed)  # the thread has left its work behind
    done.run()
    assert told == ["not put back either"]
    assert [each() for each in read] == [None]


def test_who_asks_for_much_does_not_keep_others_waiting() -> None:
    loop, gate, done = GLib.MainLoop(), threading.Event(), list[str]()
    worker = Worker("reads", 3)

    def ask(what: str, who: int) -> None:
        worker.submit(lambda: gate.wait(20), lambda _: done.append(what), lambda _: done.append(f"{what} failed"), who)

    ask("first", 1000)
    eventually(lambda: not worker._waiting)  # it is being done
    for what in ("second", "third", "fourth"):
        ask(what, 1000)
    with pytest.raises(BusyError, match="3 requests wait already"):
        ask("fifth", 1000)
    ask("one of another", 0)
    worker.submit(lambda: None, lambda _: loop.quit(), lambda _: loop.quit(), "last")
    gate.set()
    loop.run()
    assert done[:2] == ["first", "one of another"]


class _Slow(FakeEngine):
    """One that reads the files while its gate is closed."""

    def diff(self) -> Plan:
        self.gate.wait(20)
        return Plan()


def test_requests_of_each_user_wait_by_themselves(daemon: Daemon) -> None:
    engine = _Slow()
    engine.gate.clear()
    manager = Manager(lambda _: engine, daemon._changes)
    manager.caller = 1000
    for number in range(16):
        manager.Diff({"session": str(number)})
    eventually(lambda: len(manager._reads._waiting.get(1000, ())) == 15)  # one is being answered
    manager.Diff({"session": "16"})
    for _ in range(2):
        with pytest.raises(BusyError):
            manager.Diff({"session": "17"})
    manager.Diff({"session": "16"})  # waits with the one that is the same
    manager.caller = 0
    manager.Diff({"session": "17"})
    manager.Status()
    engine.gate.set()


def _in_turn(count: int) -> None:
    """Have the main loop make so many calls, and wait for the last."""
    loop = GLib.MainLoop()
    for _ in range(count):
        in_main_loop(lambda: None)
    in_main_loop(loop.quit)
    loop.run()


def _resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def test_calls_of_the_main_loop_leave_nothing_behind() -> None:
    for _ in range(10):
        _in_turn(2_000)
    before = _resident_kib()
    for _ in range(10):
        _in_turn(2_000)
    assert _resident_kib() - before < 1_000


def test_call_that_fails_keeps_no_other_from_the_main_loop(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    in_main_loop(fail)
    _in_turn(1)
    assert "netgroupd has a defect" in caplog.text


def test_flood_leaves_no_call_of_the_main_loop_behind() -> None:
    loop, turns, made = GLib.MainLoop(), list[None](), list[None]()

    def turn() -> bool:
        turns.append(None)
        for _ in range(3):
            in_main_loop(lambda: made.append(None))
        if len(turns) == 100:
            loop.quit()
        return len(turns) < 100

    GLib.idle_add(turn, priority=GLib.PRIORITY_DEFAULT)
    loop.run()
    assert len(made) > 250


def test_memory_that_work_has_needed_is_the_systems_again() -> None:
    kept, most = list[bytes](), list[int]()

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def work() -> None:
        needed = [bytes([1]) * 4000 for _ in range(10_000)]
        kept.append(bytes(4000))  # behind all of that: so the end of the heap does not shrink by itself
        most.append(resident())
        del needed

    worker = Worker("one who needs much", 1)
    worker.submit(work, lambda _: None, lambda _: None)
    eventually(lambda: bool(most) and resident() < most[0] - 30_000_000)
