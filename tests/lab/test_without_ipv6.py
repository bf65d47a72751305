# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that was booted without IPv6, where many of the kernel's answers are other ones."""

import sys
from collections.abc import Iterator

import pytest

from netgroupd.lab.boot import Guest
from netgroupd.lab.kernel import CHECKOUT
from netgroupd.lab.machine import Machine
from netgroupd.lab.ways import image_for

CONFIGURATION = """\
groups: {t: {mtu: 1400}}
links:
  d[1-3]: {kind: dummy, up: true, group: t, addresses: ["10.0.{1}.1/24"]}
  br0: {kind: bridge, ports: "d1.[10-12]", up: true}
  vx0: {kind: vxlan, id: 5, dstport: 4789}
vrfs: {red: {table: 7, up: true, links: d3}}
routes:
- {to: 10.7.0.0/16, via: 10.0.1.2, dev: d1}
- {to: 10.8.0.0/16, via: 10.0.3.2, vrf: red}
- {to: 10.9.0.0/16, nexthops: [{via: 10.0.1.2, dev: d1}, {via: 10.0.2.2, dev: d2}]}
rules: [{pref: 100, family: inet, from: 10.0.1.0/24, lookup: 77}]
nexthops: {5: {via: 10.0.1.9, dev: d1}}
neighbours: [{dev: d1, ip: 10.0.1.2, lladdr: "02:00:00:00:00:01"}]
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    guest = Guest(CHECKOUT, cpus=1, memory_mib=512, parameters=("ipv6.disable=1",))
    with Machine(guest, image_for("stock", guest), lifetime_s=600.0) as booted:
        yield booted


def _netgroupctl(machine: Machine, *argv: str) -> tuple[int, str]:
    result = machine.run([sys.executable, "-m", "netgroupd.cli.main", *argv], timeout_s=120, cwd=CHECKOUT)
    return result.status, result.stdout + result.stderr


def test_everything_of_ipv4_is_made_and_nothing_differs(machine: Machine) -> None:
    assert machine.run(["test", "-e", "/proc/net/if_inet6"], timeout_s=60).status == 1
    machine.put("/run/all.yaml", CONFIGURATION.encode())
    status, told = _netgroupctl(machine, "apply", "--config", "/run/all.yaml")
    assert (status, told.partition(";")[0]) == (0, "18 to create")
    assert _netgroupctl(machine, "diff", "--config", "/run/all.yaml") == (0, "no differences\n")
    status, captured = _netgroupctl(machine, "capture")
    assert status == 0
    assert '{to: "10.9.0.0/16", nexthops: [{via: "10.0.1.2", dev: d1}, {via: "10.0.2.2", dev: d2}]}' in captured
