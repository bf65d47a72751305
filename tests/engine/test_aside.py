# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done aside begins when the kernel has enough to do, at the latest at the end, and once."""

from itertools import count
from threading import Event, Thread

import pytest

from netgroupd.engine.record.aside import Aside
from tests.waiting import PATIENCE_S


def test_it_begins_when_many_steps_are_on_their_way() -> None:
    begun, heard = Event(), list[int]()
    with Aside(begun.set, lambda done, _total: heard.append(done)) as aside:
        aside.progress(255, 1000)
        assert not begun.wait(0.05)
        aside.progress(511, 1000)
        assert begun.wait(PATIENCE_S)
        aside.progress(767, 1000)
    assert heard == [255, 511, 767]


def test_it_begins_when_the_few_steps_there_are_are_on_their_way() -> None:
    begun = Event()
    with Aside(begun.set, None) as aside:
        aside.progress(2, 3)
        assert not begun.wait(0.05)
        aside.progress(3, 3)
        assert begun.wait(PATIENCE_S)


def test_it_is_done_once_for_who_asks_for_the_result() -> None:
    times = count(1)
    with Aside(lambda: next(times), None) as aside:
        assert aside.result() == aside.result() == 1


def test_it_is_done_though_the_change_fails() -> None:
    done = Event()
    with pytest.raises(ZeroDivisionError), Aside(done.set, None):
        raise ZeroDivisionError
    assert done.is_set()


def test_it_is_done_here_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refused)
    times = count(1)
    with Aside(lambda: next(times), None) as aside:
        aside.progress(256, 256)
    assert aside.result() == 1
