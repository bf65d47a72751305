# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk fails at every boundary of a change: the old is there and nothing is left to be undone, or the new is kept.

What a file system was asked for may be done although it says that it failed, as when the name of a file is there
and not yet on disk.
"""

import errno
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.errors import JournalError
from tests.fault.test_crash import Host


class Disk:
    """Fails at the boundary that it is told, or from there on at all but removing."""

    def __init__(self, at: int, *, late: bool, lasting: bool) -> None:
        self.left = at
        self.late = late
        self.lasting = lasting
        self.failed = False

    def __call__(self, act: Callable[[], object], *, frees: bool = False) -> None:
        """Do what it is asked for, or fail, perhaps afterwards."""
        self.left -= 1
        fails = self.left == 0 or (self.left < 0 and self.lasting and not frees)
        if not fails or self.late:
            act()
        if fails:
            self.failed = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def failing(monkeypatch: pytest.MonkeyPatch, disk: Disk) -> None:
    """Have what is written down go to ``disk``; what the kernel of the tests keeps does not."""
    sync, rename, unlink = os.fsync, Path.replace, Path.unlink

    def renamed(path: Path, target: Path) -> Path:
        if path.name == "objects.new":
            return rename(path, target)
        disk(lambda: rename(path, target))
        return target

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        disk(lambda: unlink(path, missing_ok), frees=True)

    monkeypatch.setattr(os, "fsync", lambda file: disk(lambda: sync(file)))
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(Path, "unlink", unlinked)


def for_good(engine: Engine) -> None:
    """Apply at once."""
    engine.apply()


def for_a_while(engine: Engine) -> None:
    """Apply, and wait to be confirmed."""
    engine.apply(confirm_s=600)


@pytest.mark.parametrize("late", [False, True], ids=["undone", "done_all_the_same"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from_then_on"])
@pytest.mark.parametrize("change", [for_good, for_a_while])
def test_change_that_the_disk_refuses_leaves_nothing_to_undo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Engine], None], lasting: bool, late: bool
) -> None:
    refused = 0
    for at in count(1):
        directory = tmp_path / f"{at}"
        directory.mkdir()
        host = Host(directory)
        before = host.becomes("vlans")
        host.wants("ports_moved")
        disk = Disk(at, late=late, lasting=lasting)
        with monkeypatch.context() as patch:
            failing(patch, disk)
            try:
                change(host.engine())
            except JournalError:
                refused += 1
                assert host.there() == before
        if not disk.failed:
            break
        if host.there() == before:
            assert not host.engine().has_begun()
            assert host.engine().recover() is None
            assert host.there() == before
            assert change is for_a_while or host.engine().decided_against() is None
        else:
            host.engine().recover()
            generation = host.engine().status().generation
            assert generation is not None
            assert generation.number == (1 if host.engine().pending() else 2)
    assert refused > 8


def test_change_that_is_written_down_is_kept_though_its_journal_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path)
    before = host.becomes("vlans")
    host.wants("ports_moved")

    def refused(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        assert host.engine().apply().generation == 2
    after = host.there()
    assert after != before
    assert host.engine().recover() == "generation 2 had ended, and is kept"
    assert host.there() == after
