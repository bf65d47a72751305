# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl import``: the text on one stream, what is not in it on the other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STANZAS = "% for v in (7, 8):\nauto br-${v}\niface br-${v}\n  bridge-ports swp1.${v}\n% endfor\nno-auto-down usb0\n"
WANT = 'links:\n  br-[v=7-8]: {kind: bridge, up: true, ports: "swp1.{v}"}\n'


@pytest.fixture
def interfaces(tmp_path: Path) -> Path:
    (tmp_path / "interfaces").write_text(STANZAS)
    return tmp_path / "interfaces"


def netgroupctl(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "netgroupd.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_import_prints_a_configuration_and_tells_what_is_not_in_it(interfaces: Path) -> None:
    got = netgroupctl("import", "ifupdown2", interfaces)
    assert got.returncode == 0
    assert got.stdout.startswith(WANT + "# Not taken over:\n")
    assert f"{interfaces}:6:1: warning: no-auto-down has no equivalent" in got.stderr


def test_import_of_several_files_as_json(interfaces: Path) -> None:
    more = interfaces.with_name("more")
    more.write_text("auto swp9\niface swp9\n  mtu 1400\n")
    got = json.loads(netgroupctl("import", "ifupdown2", interfaces, more, "--json").stdout)
    assert "swp9: {up: true, mtu: 1400}" in got["yaml"]
    assert [warning["line"] for warning in got["warnings"]] == [6]


def test_import_of_files_that_cannot_be_read_prints_nothing(interfaces: Path) -> None:
    interfaces.write_text("% for v in\n")
    got = netgroupctl("import", "ifupdown2", interfaces, interfaces.with_name("absent"))
    assert (got.returncode, got.stdout) == (1, "")
    assert "absent:1:1: cannot be read: No such file or directory" in got.stderr
    assert "interfaces:1:1:" in got.stderr


def test_configuration_comes_though_nobody_can_be_told_what_is_not_in_it(interfaces: Path) -> None:
    command = [sys.executable, "-m", "netgroupd.cli.main", "import", "ifupdown2", str(interfaces)]
    with Path("/dev/full").open("w") as full:
        got = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=True)
    assert got.stdout.startswith(WANT)
