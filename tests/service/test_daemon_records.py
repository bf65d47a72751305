# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon whose records are damaged while it runs: it says so, for nothing looks for drift meanwhile."""

from pathlib import Path

import pytest

from netgroupd.errors import JournalError
from netgroupd.model.state import State
from tests.service.conftest import PrivateBus, serving
from tests.service.fake import FakeEngine
from tests.waiting import eventually


def test_records_that_are_damaged_while_it_runs_are_trouble_until_they_can_be_read(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> State:
        raise JournalError("/var/lib/netgroup/generations/2 makes no sense")

    monkeypatch.setattr("netgroupd.service.drift._LONGEST_S", 0.1)
    engine = FakeEngine()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle" and remote.properties()["Groups"])
        with monkeypatch.context() as damaged:
            damaged.setattr(engine, "applied", fail)
            engine.news.tell()
            eventually(lambda: remote.properties()["State"] == "failed")
            want = "cannot look for drift: /var/lib/netgroup/generations/2 makes no sense"
            assert remote.properties()["Trouble"] == want
        eventually(lambda: remote.properties()["State"] == "idle")


def test_change_that_is_done_ends_the_trouble_with_records_before_it_is_answered(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> State:
        raise JournalError("/var/lib/netgroup/generations/index makes no sense")

    engine = FakeEngine()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle" and remote.properties()["Groups"])
        monkeypatch.setattr(engine, "applied", fail)
        engine.news.tell()
        eventually(lambda: remote.properties()["State"] == "failed")
        remote.reload()
        assert remote.properties()["State"] == "idle"
