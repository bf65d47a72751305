# SPDX-License-Identifier: GPL-2.0-or-later
"""The installation with pip, by the page that tells of it; by its name it runs where the package has been removed."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.vm.installed import ETC, MANAGER, bridges, eventually, good, run

pytestmark = pytest.mark.vm_systemd("stock")

_TOP = Path(__file__).parents[2]
_PREFIX = Path("/opt/netgroupd")
_PROGRAM = """#!/usr/bin/python3
import sys

sys.path.insert(0, {place!r})
from {module} import main

sys.exit(main())
"""
_MODULES = {"netgroupd": "netgroupd.service.start", "netgroupctl": "netgroupd.cli.main"}


def follow(first: str) -> None:
    """Do what the lines of the page say, from the one that begins with ``first`` to the end of its block."""
    page = (_TOP / "docs/installing.md").read_text()
    found = re.search(rf"^    {re.escape(first)}.*\n(?:    .*\n)*", page, re.MULTILINE)
    assert found
    subprocess.run(["sh", "-e"], input=found[0], text=True, check=True)


@pytest.fixture
def prefix(libraries: None, tmp_path: Path) -> None:
    """What pip makes of the wheel: there is no network here to get it built."""
    subprocess.run([_TOP / ".ci/stage", tmp_path], check=True)
    run("cp", "-r", str(tmp_path / "usr"), str(_PREFIX))
    for name, module in _MODULES.items():
        place = str(_PREFIX / "lib/python3/dist-packages")
        (_PREFIX / "bin" / name).write_text(_PROGRAM.format(place=place, module=module))
    run("rm", "-rf", "/etc/iproute2", "/var/lib/netgroup")  # Debian 13 has no names of groups


def test_page_gives_a_daemon_that_a_call_starts_and_takes_it_away_again(prefix: None) -> None:
    follow("ln -s")
    follow("cd /opt/netgroupd")
    good(2)
    run("systemctl", "stop", "netgroupd")
    eventually(lambda: run("busctl", "call", *MANAGER, "Status").returncode == 0)
    assert run("systemctl", "reload", "netgroupd").returncode == 0
    assert bridges() == 2
    assert "tbr-1" in run("ip", "link", "show", "group", "tenants").stdout
    follow("systemctl disable")
    assert run("systemctl", "is-active", "netgroupd").stdout == "inactive\n"
    left = run("find", "/etc/systemd/system", "/usr/local/bin", "-name", "*netgroup*")
    assert left.stdout == ""
    assert bridges() == 2
    assert (ETC / "10-bridges.yaml").exists()
    for number in (1, 2):
        run("ip", "link", "del", f"tbr-{number}")
