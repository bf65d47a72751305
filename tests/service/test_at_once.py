# SPDX-License-Identifier: GPL-2.0-or-later
"""Many who ask the daemon at once."""

import os
import threading

import pytest
from gi.repository import Gio, GLib

from netgroupd.errors import NetgroupError
from netgroupd.service.call import NAME
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from netgroupd.service.interface import MANAGER, ROOT
from tests.service.conftest import PrivateBus
from tests.service.fake import FakeEngine
from tests.waiting import eventually

_NO_OPTIONS = GLib.Variant("(a{sv})", ({},))
_DIFF = GLib.Variant("(sa{sv})", ("Diff", {}))


@pytest.mark.parametrize(
    ("method", "arguments", "reads"),
    [
        pytest.param("Status", None, "status", id="status"),
        pytest.param("Diff", _NO_OPTIONS, "diff", id="reply"),
        pytest.param("Open", _DIFF, "diff", id="file"),
    ],
)
def test_all_are_answered_however_many_look_at_once(
    daemon: Daemon,
    bus: PrivateBus,
    engine: FakeEngine,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    arguments: GLib.Variant | None,
    reads: str,
) -> None:
    go, asked, answered, failed = threading.Event(), list[str](), list[str](), list[str]()
    read = getattr(engine, reads)

    def slow() -> object:
        asked.append(threading.current_thread().name)  # who looks for drift asks too
        go.wait()
        return read()

    def done(source: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        try:
            answer, files = source.call_with_unix_fd_list_finish(result)
        except GLib.Error as error:
            failed.append(str(error))
            return
        if files is None:
            answered.append(answer[0])
        else:
            with os.fdopen(files.get(0)) as file:  # each has its own, at the beginning
                answered.append(file.read())

    monkeypatch.setattr(engine, reads, slow)
    caller = bus.connect()
    for _ in range(60):
        flags = Gio.DBusCallFlags.NONE
        caller.call_with_unix_fd_list(NAME, ROOT, MANAGER, method, arguments, None, flags, -1, None, None, done)
    with pytest.raises(NetgroupError):
        Remote(caller).apply({"generation": 1})  # the daemon has heard of all of them by then, and who has called
    go.set()
    eventually(lambda: len(answered) + len(failed) == 60)
    assert failed == []
    assert all(answered)
    assert asked.count("reads") in (1, 2)  # the first, and one for all who came after it had begun
