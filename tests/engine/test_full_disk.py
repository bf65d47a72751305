# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that takes no more, whichever write it refuses: the change is whole and told, or it is not there."""

import errno
import os
from itertools import count
from stat import S_ISREG

import pytest

from netgroupd.errors import JournalError, UsageError
from tests.engine.desk import Desk


class Disk:
    """Fails to sync the nth file or directory; once it is full it takes no file any more."""

    def __init__(self, nth: int, *, full: bool) -> None:
        self.left = nth
        self.full = full

    def sync(self, file: int) -> None:
        if self.full and not S_ISREG(os.fstat(file).st_mode):
            return
        self.left -= 1
        if self.left == -1 or (self.full and self.left < 0):
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("full", [False, True], ids=["for_once", "from_then_on"])
@pytest.mark.parametrize("confirm_s", [None, 60.0], ids=["for_good", "to_be_confirmed"])
def test_change_that_cannot_be_written_down_is_undone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, confirm_s: float | None, full: bool
) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    before = desk.there()
    desk.wants("vrf")
    failures = 0
    for nth in count():
        monkeypatch.setattr(os, "fsync", Disk(nth, full=full).sync)
        try:
            desk.engine.apply(confirm_s=confirm_s)
            break
        except JournalError:
            failures += 1
        assert desk.there() == before
        assert desk.engine.pending() is None
        monkeypatch.undo()
        desk.engine.recover()
        assert desk.there() == before
        assert not desk.engine.drift().steps
        assert not desk.paths.state.joinpath("journal").exists()
    assert failures > 3
    assert (desk.engine.pending() is None) == (confirm_s is None)


def test_change_is_confirmed_where_the_names_of_groups_cannot_be_written(desk: Desk) -> None:
    desk.paths.group_names.mkdir()
    desk.wants("vlans")
    desk.engine.apply(confirm_s=60)
    assert desk.engine.confirm() == 1
    assert desk.engine.pending() is None


def test_what_is_put_back_cannot_be_confirmed_though_the_disk_took_no_word_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    before = desk.there()
    desk.wants("vrf")
    desk.engine.apply(confirm_s=60)
    monkeypatch.setattr(os, "fsync", Disk(0, full=True).sync)
    with pytest.raises(JournalError, match="what was there before is back, but that could not be written down"):
        desk.engine.rollback()
    assert desk.engine.pending() is None
    assert desk.there() == before
    monkeypatch.undo()
    with pytest.raises(UsageError, match="no change waits to be confirmed"):
        desk.engine.confirm()
    desk.engine.apply()
    assert [each.result for each in desk.engine.history()] == ["applied", "rolled back", "applied"]
