# SPDX-License-Identifier: GPL-2.0-or-later
"""Many who ask the daemon at once."""

import threading

import pytest
from gi.repository import Gio, GLib

from netgroupd.engine.report import Status
from netgroupd.errors import NetgroupError
from netgroupd.service.call import NAME
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from netgroupd.service.interface import MANAGER, ROOT
from tests.service.conftest import PrivateBus
from tests.service.fake import FakeEngine
from tests.waiting import eventually


def test_all_are_answered_however_many_look_at_once(
    daemon: Daemon, bus: PrivateBus, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, asked, answered, failed = threading.Event(), list[str](), list[str](), list[str]()
    status = engine.status

    def slow() -> Status:
        asked.append(threading.current_thread().name)  # who looks for drift asks too
        go.wait()
        return status()

    def done(source: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        try:
            answered.append(source.call_finish(result)[0])
        except GLib.Error as error:
            failed.append(str(error))

    monkeypatch.setattr(engine, "status", slow)
    caller = bus.connect()
    for _ in range(60):
        caller.call(NAME, ROOT, MANAGER, "Status", None, None, Gio.DBusCallFlags.NONE, -1, None, done)
    with pytest.raises(NetgroupError):
        Remote(caller).apply({"generation": 1})  # the daemon has heard of all of them by then, and who has called
    go.set()
    eventually(lambda: len(answered) + len(failed) == 60)
    assert failed == []
    assert asked.count("reads") in (1, 2)  # the first, and one for all who came after it had begun
