# SPDX-License-Identifier: GPL-2.0-or-later
"""One change at a time: whose it is, and who waits for whom."""

import errno
import fcntl
import os
from pathlib import Path
from threading import Timer

import pytest

from netgroupd.engine.record.lock import holder, locked
from netgroupd.errors import BusyError
from tests.engine.desk import Desk


def test_lock_of_another_change_is_respected(desk: Desk) -> None:
    desk.wants("vlans")
    desk.paths.state.mkdir()
    desk.paths.state.joinpath("lock").write_text("somebody that was killed, process 1234567")
    told = f"another change is running: (?!somebody).+, process {os.getpid()}$"
    with locked(desk.paths.state / "lock"), pytest.raises(BusyError, match=told):
        desk.engine.apply()


@pytest.mark.parametrize("failing", ["pwrite", "ftruncate"])
def test_lock_is_had_though_nobody_can_be_told_whose_it_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk.wants("vlans")
    monkeypatch.setattr(os, failing, full)
    with locked(desk.paths.state / "lock"), pytest.raises(BusyError, match="another change is running"):
        desk.engine.apply()
    desk.engine.apply()


def test_change_is_made_though_somebody_asks_who_makes_one_in_this_moment(desk: Desk) -> None:
    desk.wants("vlans")
    held = locked(desk.paths.state / "lock")
    held.__enter__()
    freed = Timer(0.02, held.__exit__, (None, None, None))
    freed.start()
    desk.engine.apply()
    freed.join()


def test_change_ends_though_a_process_stands_still_while_it_writes_names(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.wants("groups: {tenants: {}}\nlinks: {d0: {kind: dummy, group: tenants}}")
    monkeypatch.setattr("netgroupd.engine.unfinished._NAMES_S", 0.05)
    with locked(desk.paths.state / "names.lock"):
        assert desk.engine.apply().generation == 1


def test_holder_of_a_lock_is_told_while_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert holder(path) == ""
    with locked(path):
        assert holder(path).endswith(f", process {os.getpid()}")
        path.write_text("")  # it is full where that would be written
        assert holder(path) == "another process"
    assert holder(path) == ""


def test_nobody_is_told_for_a_holder_who_only_asks_for_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        pass
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert holder(path) == ""


def test_lock_is_left_without_a_name_and_nobody_else_may_have_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        pass
    assert path.read_text() == ""  # or the next one would be told by the name of this one for a moment
    assert path.stat().st_mode & 0o077 == 0
