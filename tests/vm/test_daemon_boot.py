# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that starts, as far as the daemon can tell: no link of ours, another boot, and nobody to ask."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.engine.record.journal import Journal
from tests.vm.installed import ETC, MANAGER, bridges, eventually, good, journal, now, prop, reload, run

pytestmark = pytest.mark.vm_systemd("stock")

_STATE = Path("/var/lib/netgroup")


def restart() -> None:
    """Start the host again, as far as the daemon can tell."""
    run("systemctl", "stop", "netgroupd")
    for path in Path("/sys/class/net").glob("t*-*"):
        run("ip", "link", "del", path.name)
    Path("/run/netgroup/configured").unlink()
    journal = Journal(_STATE)
    if entry := journal.read():
        journal.write(entry._replace(boot="the one before"), journal.before())
    assert run("systemctl", "start", "netgroupd").returncode == 0
    eventually(lambda: prop("State") in ("idle", "failed"))


def test_change_that_was_waiting_to_be_confirmed_does_not_come_back(daemon: None) -> None:
    good(5)
    assert run("busctl", "call", *MANAGER, "Apply", "a{sv}", "1", "confirm", "u", "3600").returncode == 0
    eventually(lambda: prop("State") == "unconfirmed")
    since = now()
    restart()
    assert (bridges(), prop("State")) == (2, "failed")
    for said in (prop("Trouble"), journal(since), run("systemctl", "status", "--no-pager", "netgroupd").stdout):
        assert "the files still ask for generation" in said
    run("systemctl", "restart", "netgroupd")
    eventually(lambda: prop("State") == "failed")
    assert "insist with `netgroupctl apply`" in run("netgroupctl", "status").stdout
    assert reload().returncode == 0
    assert (bridges(), prop("State"), prop("Trouble")) == (5, "idle", "")
    restart()
    assert (bridges(), prop("State")) == (5, "idle")


def test_what_was_gone_back_from_does_not_come_back(daemon: None) -> None:
    good(3)
    assert reload().returncode == 0
    assert "still ask for generation" in run("netgroupctl", "rollback").stderr
    assert bridges() == 2
    restart()
    assert (bridges(), prop("State")) == (2, "failed")
    good(4)
    restart()
    assert (bridges(), prop("State")) == (4, "idle")


def test_step_that_the_kernel_refuses_leaves_the_rest(daemon: None) -> None:
    text = "links:\n  tv-1: {kind: dummy, gso_max_size: 5242%d0}\n  tbr-9: {kind: bridge, ports: tv-1}\n"
    (ETC / "20-refused.yaml").write_text(text % 8)
    assert reload().returncode == 1
    assert bridges() == 2
    (ETC / "20-refused.yaml").write_text(text % 7)  # which nobody has rejected
    restart()
    assert (bridges(), prop("State")) == (3, "failed")
    assert "20-refused.yaml:2: " in prop("Trouble")
    assert "too big gso_max_size" in prop("Trouble")
    assert "all the rest is configured" in prop("Trouble")


def test_start_that_waits_for_the_change_of_another_process_says_so_and_can_be_stopped(daemon: None) -> None:
    run("systemctl", "stop", "netgroupd")
    Path("/run/netgroup/configured").unlink()
    since = now()
    with subprocess.Popen(["flock", "--no-fork", str(_STATE / "lock"), "sleep", "infinity"]) as another:
        try:
            run("systemctl", "start", "--no-block", "netgroupd")
            eventually(lambda: "waiting for the change of another process to end\n" in journal(since))
            run("systemctl", "stop", "netgroupd")
            assert run("systemctl", "show", "-P", "Result", "netgroupd").stdout == "success\n"
            run("systemctl", "start", "--no-block", "netgroupd")
            eventually(lambda: journal(since).count("waiting for") == 2)
        finally:
            another.terminate()
    eventually(lambda: run("systemctl", "is-active", "netgroupd").stdout == "active\n")
    assert (bridges(), prop("State")) == (2, "idle")


@pytest.fixture
def no_room() -> Iterator[None]:
    """/var/lib/netgroup has no room left, and nothing in it."""
    run("systemctl", "stop", "netgroupd")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=0700", "full", str(_STATE)], check=True)
    run("dd", "if=/dev/zero", f"of={_STATE}/filled", "bs=4k")
    yield
    run("systemctl", "stop", "netgroupd")
    subprocess.run(["umount", str(_STATE)], check=True)


def test_full_disk_does_not_take_the_network_along(daemon: None, no_room: None) -> None:
    restart()
    assert (bridges(), prop("State")) == (2, "failed")
    assert "No space left on device" in prop("Trouble")
    assert reload().returncode == 1
    (_STATE / "filled").unlink()
    assert reload().returncode == 0
    assert (bridges(), prop("State")) == (2, "idle")


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """/var/lib takes nothing from the start, and there is no directory for the records."""
    run("systemctl", "stop", "netgroupd")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "empty", str(_STATE.parent)], check=True)
    yield
    run("systemctl", "stop", "netgroupd")
    subprocess.run(["umount", str(_STATE.parent)], check=True)


def test_disk_that_never_took_anything_does_not_keep_the_network_away(daemon: None, nothing_kept: None) -> None:
    restart()
    assert (bridges(), prop("State")) == (2, "failed")
    assert "Read-only file system" in prop("Trouble")
    run("mount", "-o", "remount,rw", str(_STATE.parent))
    assert run("systemctl", "restart", "netgroupd").returncode == 0
    assert reload().returncode == 0
    assert (bridges(), prop("State"), _STATE.stat().st_mode & 0o777) == (2, "idle", 0o700)
