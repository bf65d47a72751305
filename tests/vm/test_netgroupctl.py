# SPDX-License-Identifier: GPL-2.0-or-later
"""The command as an operator uses it, without the daemon: from a template to the kernel and back to nothing."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

STATE = Path("/var/lib/netgroup/netns/operator")
TEMPLATE = """groups:
  tenants: {mtu: 9000, up: true}
links:
  swp[1-2]: {kind: dummy, up: true, mtu: 9216}
  lo: {addresses: ["192.168.2.[0-9]/32"]}
% for v in range(1000, 1004):
  br-${v}: {kind: bridge, stp: true, ports: "swp[1-2].${v}", group: tenants, addresses: [10.0.${v - 1000}.1/24]}
% endfor
"""
FROM_NOTHING = """\
~ link lo  group 0 -> netgroupd
+ dummy swp[1-2]  up  mtu 9216 (2)
+ bridge br-[1000-1003]  stp_state on  group tenants  mtu 9000  up (4)
+ vlan swp[1-2].[1000-1003]  group tenants  master br-{2}  mtu 9000  up (8)
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def netgroupctl(tmp_path: Path) -> Iterator[Command]:
    subprocess.run(["ip", "netns", "add", "operator"], check=True)
    (tmp_path / "stack.mako").write_text(TEMPLATE)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = (sys.executable, "-m", "netgroupd.cli.main", "--netns", "operator", "--config", str(tmp_path))
        return subprocess.run((*argv, *arguments), capture_output=True, text=True, check=False)

    yield run
    subprocess.run(["ip", "netns", "del", "operator"], check=True)
    shutil.rmtree(STATE, ignore_errors=True)


def links() -> int:
    shown = subprocess.run(["ip", "-n", "operator", "-o", "link"], capture_output=True, text=True, check=True)
    return len(shown.stdout.splitlines())


@pytest.mark.vm("patched")
def test_stack_comes_stays_and_goes(netgroupctl: Command, tmp_path: Path) -> None:
    diff = netgroupctl("diff")
    assert diff.stderr == ""
    assert diff.stdout.startswith(FROM_NOTHING)
    assert diff.returncode == 2
    assert netgroupctl("apply").returncode == 0
    assert links() == 1 + 2 + 4 + 8
    again = netgroupctl("diff")
    assert (again.stdout, again.returncode) == ("no differences\n", 0)
    (tmp_path / "stack.mako").write_text(TEMPLATE.replace("mtu: 9000", "mtu: 8000"))
    changed = netgroupctl("diff")
    assert "mtu 9000 -> 8000" in changed.stdout
    assert changed.returncode == 2
    gone = netgroupctl("rollback", "0")
    assert (gone.stderr, gone.returncode) == ("", 0)
    assert links() == 1


@pytest.mark.vm("stock")
def test_namespaces_may_be_more_than_the_files_that_a_shell_allows(tmp_path: Path) -> None:
    spaces = [f"many{number}" for number in range(20)]
    link = "links: {'dummy-[n=0-19]': {kind: dummy, netns: 'many{n}'}}"
    (tmp_path / "10-many.yaml").write_text(link)
    here = (sys.executable, "-m", "netgroupd.cli.main", "--netns", "many0", "--config", str(tmp_path), "apply")
    try:
        for space in spaces:
            subprocess.run(["ip", "netns", "add", space], check=True)
        ended = subprocess.run(["prlimit", "--nofile=32:", *here], capture_output=True, text=True, check=False)
        assert (ended.stderr, ended.returncode) == ("", 0)
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], check=False)
        shutil.rmtree(STATE.with_name("many0"), ignore_errors=True)
