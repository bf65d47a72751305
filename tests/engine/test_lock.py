# SPDX-License-Identifier: GPL-2.0-or-later
"""One change at a time: whose it is, and who waits for whom."""

import errno
import os
from threading import Timer

import pytest

from netgroupd.engine.record.lock import locked
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
