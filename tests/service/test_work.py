# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads leave behind when their work has failed."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from gi.repository import GLib

from netgroupd.errors import NetgroupError, VerifyError
from netgroupd.service.work import Worker


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
