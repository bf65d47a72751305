# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be journalled is not begun: a full disk, a read-only one; and a kill in the middle on a real kernel."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.errors import JournalError
from tests.engine.universe import UNIVERSE


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A small file system, and an empty network namespace."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=True)
    subprocess.run(["ip", "netns", "add", "disk"], check=True)
    yield tmp_path
    subprocess.run(["ip", "netns", "del", "disk"], check=True)
    subprocess.run(["umount", str(tmp_path)], check=True)


def engine_for(directory: Path, name: str) -> Engine:
    """An engine that keeps everything in ``directory``, with a configuration."""
    config = Path("/run/engine-disk")
    config.mkdir(exist_ok=True)
    (config / "all.yaml").write_text(UNIVERSE[name])
    return Engine(Paths((config,), directory / "state", directory / "group"), netns="disk")


def links() -> set[str]:
    """The names of the links in the namespace."""
    shown = subprocess.run(["ip", "-n", "disk", "-br", "link"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0].partition("@")[0] for line in shown.splitlines()} - {"lo"}


def test_full_disk_stops_it_before_anything_is_touched(directory: Path) -> None:
    engine = engine_for(directory, "vlans")
    engine.apply()
    before = links()
    subprocess.run(["dd", "if=/dev/zero", f"of={directory / 'filler'}", "bs=4k"], check=False, capture_output=True)
    with pytest.raises(JournalError, match="No space left on device"):
        engine_for(directory, "nothing").apply()
    assert links() == before
    (directory / "filler").unlink()
    engine_for(directory, "nothing").apply()
    assert links() == set()


def test_read_only_directory_stops_it_before_anything_is_touched(directory: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
    with pytest.raises(JournalError, match="Read-only file system; once it is writable, `systemctl restart netgroupd`"):
        engine_for(directory, "vlans").apply()
    assert links() == set()


@pytest.mark.parametrize("trouble", ["read_only", "full"])
def test_change_that_was_not_confirmed_is_put_back_whatever_has_become_of_the_disk(
    directory: Path, trouble: str
) -> None:
    engine = engine_for(directory, "vlans")
    engine.apply()
    before = links()
    engine_for(directory, "nothing").apply(confirm_s=1)
    assert links() == set()
    if trouble == "full":
        subprocess.run(["dd", "if=/dev/zero", f"of={directory / 'filler'}", "bs=4k"], check=False, capture_output=True)
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
    time.sleep(1.1)
    with pytest.raises(JournalError, match=r"\nwhat was there before is back, but that could not be written down$"):
        engine.expire()
    assert links() == before
    subprocess.run(["mount", "-o", "remount,rw", str(directory)], check=True)
    (directory / "filler").unlink(missing_ok=True)
    assert engine.pending() is None or "was not confirmed in time, and is rolled back" in str(engine.expire())
    assert engine.pending() is None
    assert links() == before


@pytest.mark.parametrize("steps", [1, 3, 5, 9, 1000])
def test_kill_while_messages_are_sent_is_resolved_by_the_next_start(directory: Path, steps: int) -> None:
    engine_for(directory, "ports_moved").apply()
    before = links()
    child = os.fork()
    if not child:

        def progress(_done: int, _total: int) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        from netgroupd.kernel.netlink import batch  # noqa: PLC0415  # the child's own

        batch._MESSAGES = steps
        engine_for(directory, "bond").apply(progress=progress)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    said = str(engine_for(directory, "bond").recover())
    if "is rolled back to generation 1" in said:
        assert links() == before
        assert not engine_for(directory, "ports_moved").diff().steps
    else:  # the last message was through before the kill
        assert "is kept" in said
        assert not engine_for(directory, "bond").diff().steps
