# SPDX-License-Identifier: GPL-2.0-or-later
"""The power goes at every boundary of a change: no file is lost that anything relies on, and the next start goes on.

Of a file is left what was synced of it; of a directory the names that it had when it
was synced, or those that it had at the end, for a file system may be quicker than it was asked to be.
"""

import os
import shutil
import signal
import stat
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from netgroupd.engine import clock
from netgroupd.kernel.fake.kernel import FakeKernel
from tests.fault.test_crash import Host

THEIRS = "7\tuplinks\n"


class Disk:
    """What is for good of the files under ``root``; takes the power away at the boundary that it is told."""

    def __init__(self, root: Path, kept: Path, at: int, *, quick: bool) -> None:
        self.root, self.kept, self.left, self.quick = root, kept, at, quick
        self.contents: dict[int, bytes] = {}
        self.names: dict[Path, dict[str, int]] = {}
        self.open: list[BinaryIO] = []  # a file that is open has its number to itself
        for directory, _, files in os.walk(root):
            self._sync_names(Path(directory))
            for name in files:
                self._sync_content(Path(directory, name))

    def _sync_names(self, directory: Path) -> None:
        self.names[directory] = {path.name: path.stat().st_ino for path in directory.iterdir() if path.is_file()}

    def _sync_content(self, path: Path) -> None:
        self.open.append(path.open("rb"))
        self.contents[path.stat().st_ino] = self.open[-1].read()

    def boundary(self) -> None:
        """Where the power may go."""
        if self.left == 0:
            self.lose()
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def sync(self, file: int) -> None:
        """In place of ``os.fsync``."""
        self.boundary()
        path = Path(f"/proc/self/fd/{file}").readlink()
        if self.root in (path, *path.parents):
            self._sync_names(path) if stat.S_ISDIR(os.fstat(file).st_mode) else self._sync_content(path)
        self.boundary()

    def lose(self) -> None:
        """Keep what is for good."""
        for directory, _, _ in os.walk(self.root):
            if self.quick:
                self._sync_names(Path(directory))
            left = self.kept / Path(directory).relative_to(self.root)
            left.mkdir(parents=True)
            for name, inode in self.names.get(Path(directory), {}).items():
                (left / name).write_bytes(self.contents.get(inode, b""))


def made(directory: Path) -> Path:
    """The directory, made."""
    directory.mkdir()
    return directory


def applied_and_lost(host: Host, kept: Path, boundary: int, *, quick: bool) -> bool:
    """Apply in a child whose host loses its power at a boundary; whether ``apply`` had returned before."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    disk = Disk(host.paths.state.parent, kept, boundary, quick=quick)
    os.fsync = disk.sync  # type: ignore[assignment]
    host.engine(disk.boundary).apply()
    disk.lose()
    os._exit(0)


@pytest.mark.parametrize("quick", [False, True], ids=["names_as_synced", "names_at_the_end"])
@pytest.mark.parametrize(("old", "new"), [("vlans", "ports_moved"), ("nothing", "vlans"), ("vlans_larger", "vrf")])
def test_host_that_loses_its_power_has_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, quick: bool
) -> None:
    whole, current = False, list[int]()
    boundary = 0
    while not whole:
        host = Host(made(tmp_path / f"{boundary}"))
        host.paths.group_names.write_text(THEIRS)
        host.becomes(old)
        host.wants(new)
        left = tmp_path / f"{boundary}.left"
        whole = applied_and_lost(host, left, boundary, quick=quick)
        boundary += 1

        after = Host(made(tmp_path / f"{boundary}.after"))
        shutil.copytree(left, after.paths.state.parent, dirs_exist_ok=True)
        after.keep(FakeKernel())
        monkeypatch.setattr(clock, "boot_id", lambda: "another")
        after.engine().status()
        after.engine().diff()
        after.engine().recover()
        assert THEIRS in after.paths.group_names.read_text()
        generation = after.engine().status().generation
        assert generation is not None
        current.append(generation.number)
        assert not after.paths.state.joinpath("journal").exists()
        in_effect = (old, new)[generation.number - 1]
        assert bool(after.engine().drift().steps) == (in_effect != "nothing")
        after.engine().apply()
        after.engine().rollback(1)
        monkeypatch.undo()
    assert current[-1] == 2, "what was applied was lost"
    assert (boundary > 10, set(current)) == (True, {1, 2})


def test_change_waits_for_the_disk_before_it_begins_and_before_it_counts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(made(tmp_path / "host"))
    host.becomes("vlans")
    host.wants("ports_moved")
    waits: list[int] = []
    sync = os.fsync

    def noted(file: int) -> None:
        waits.append(threading.get_ident())
        sync(file)

    monkeypatch.setattr(os, "fsync", noted)
    host.engine().apply()
    # The journal with its name, the index with its name; the rest is for another thread.
    assert waits.count(threading.get_ident()) == 4
