# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that is killed while the kernel is told thousands of things leaves what the next one puts back."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.vm("stock", "patched")

_MANY = 60
BEFORE = f"""
groups: {{t: {{mtu: 1400, up: true}}}}
links:
  base[1-2]: {{kind: dummy, up: true}}
  br-[v=1-{_MANY}]: {{kind: bridge, ports: "base[1-2].{{v}}", group: t, addresses: ["10.0.{{v}}.1/24"]}}
  vx[1-{_MANY}]: {{kind: vxlan, id: "{{1}}", dstport: 4789, up: true}}
vrfs: {{red: {{table: 1001, up: true, links: "vx[1-{_MANY // 2}]"}}}}
routes: [{{to: "172.16.[0-{_MANY}].0/24", via: 10.0.1.254}}]
tc: {{base2: {{ingress: [{{pref: 1, protocol: ip, flower: {{dst_ip: "10.1.[1-{_MANY}].1"}}, action: drop}}]}}}}
"""
AFTER = f"""
groups: {{t: {{mtu: 1300, up: true}}}}
links:
  base[1-2]: {{kind: dummy, up: true, mtu: 1450}}
  br-[v=1-{_MANY // 2}]: {{kind: bridge, ports: "base2.{{v}}", group: t, addresses: ["10.0.{{v}}.2/24"]}}
  vx[w=1-{_MANY}]: {{kind: vxlan, id: "{{w+5000}}", dstport: 4789, up: true}}
  new[1-{_MANY}]: {{kind: bridge, up: true}}
vrfs: {{red: {{table: 1002, up: true, links: "vx[{_MANY // 2}-{_MANY}]"}}}}
tc: {{base2: {{ingress: [{{pref: 1, protocol: ip, flower: {{dst_ip: "10.1.[1-{_MANY}].1"}}, action: pass}}]}}}}
"""
THEIRS = "203.0.113.1/24"  # on a link that is made anew
JOURNAL = Path("/var/lib/netgroup/netns/killed/journal")


@pytest.fixture
def netgroupctl(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """The command in a namespace of its own, with a file of that text."""
    tmp_path.chmod(0o755)
    subprocess.run(["ip", "netns", "add", "killed"], check=True)

    def begin(verb: str, text: str) -> subprocess.Popen[str]:
        (tmp_path / "all.yaml").write_text(text)
        argv = [sys.executable, "-m", "netgroupd.cli.main", "--netns", "killed", "--config", str(tmp_path), verb]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    yield begin
    subprocess.run(["ip", "netns", "del", "killed"], check=True)


def _end(process: subprocess.Popen[str]) -> str:
    told = process.communicate()[0]
    assert process.returncode == 0, told
    return told


def test_change_that_is_killed_in_its_midst_is_undone(netgroupctl: Callable[..., subprocess.Popen[str]]) -> None:
    _end(netgroupctl("apply", BEFORE))
    chance, undone = random.Random(1), 0
    for longest_s in (0.0, 0.1, 0.2, 0.4):
        subprocess.run(["ip", "-n", "killed", "address", "replace", THEIRS, "dev", "vx1"], check=True)
        changing = netgroupctl("apply", AFTER)
        while not JOURNAL.exists() and changing.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, longest_s))
        changing.kill()
        changing.communicate()
        is_undone = "is rolled back" in _end(netgroupctl("rollback", BEFORE))
        on_it = subprocess.check_output(["ip", "-n", "killed", "address", "show", "dev", "vx1"], text=True)
        assert THEIRS in on_it or not is_undone  # which a change that had come to its end takes along
        undone += is_undone
        _end(netgroupctl("apply", BEFORE))
        assert _end(netgroupctl("diff", BEFORE)) == "no differences\n"
    assert undone
