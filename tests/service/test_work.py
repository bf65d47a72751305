# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads leave behind when their work has failed, and the main loop of what it was given to do."""

import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from gi.repository import GLib

from netgroupd.errors import NetgroupError, VerifyError
from netgroupd.service.work import Worker, in_main_loop


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
