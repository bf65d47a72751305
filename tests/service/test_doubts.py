# SPDX-License-Identifier: GPL-2.0-or-later
"""What is doubtful in the files, as the daemon tells it to who asks, to who applies and to the journal."""

import logging
from pathlib import Path

import pytest
from gi.repository import Gio, GLib

from netgroupd.errors import Problem
from netgroupd.service.call import NAME
from netgroupd.service.client import Remote
from netgroupd.service.interface import MANAGER, ROOT
from netgroupd.service.journal import LOG
from tests.service.conftest import PrivateBus
from tests.service.fake import FakeEngine

LINE = "key: hush"


@pytest.fixture
def doubt(engine: FakeEngine, tmp_path: Path) -> Problem:
    (tmp_path / "a.yaml").write_text(LINE)
    doubt = Problem(str(tmp_path / "a.yaml"), 1, 6, "it is old", "use another", LINE, warning=True)
    engine.doubts = (doubt,)
    return doubt


def test_doubt_is_told_whoever_applies_as_a_check_tells_it(remote: Remote, doubt: Problem) -> None:
    told = remote.apply({})["problems"], remote.reload()["problems"], remote.diff({})["problems"]
    assert told == ([doubt._asdict()],) * 3
    assert remote.check()["warnings"] == told[0]


def test_doubt_is_in_the_journal_once_for_each_change_with_its_place(
    remote: Remote, doubt: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries: list[logging.LogRecord] = []
    monkeypatch.setattr(LOG, "handle", entries.append)
    monkeypatch.setattr(LOG, "level", logging.INFO)
    remote.reload()
    (entry,) = (entry for entry in entries if "it is old" in entry.getMessage())
    assert (entry.levelno, entry.getMessage()) == (logging.WARNING, str(doubt))
    assert entry.__dict__["netgroup"].items() >= {"NETGROUP_FILE": doubt.file, "NETGROUP_LINE": "1"}.items()


@pytest.mark.parametrize("method", ["Check", "Diff"])
def test_line_is_shown_only_to_who_may_read_its_file(
    remote: Remote, doubt: Problem, bus: PrivateBus, method: str
) -> None:
    told = bus.connect().call_sync(
        NAME, ROOT, MANAGER, method, GLib.Variant("(a{sv})", ({},)), None, Gio.DBusCallFlags.NONE, -1, None
    )
    assert (doubt.message in told.unpack()[0], LINE in told.unpack()[0]) == (True, False)
    Path(doubt.file).unlink()
    assert remote.diff({})["problems"][0]["text"] == ""
