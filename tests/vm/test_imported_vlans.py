# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of a bridge as ifupdown2 has them: the imported file leaves them as they are, and gives the same elsewhere."""

from pathlib import Path

import pytest

from netgroupd.plan import present
from tests.config.importing import importing_in
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")  # what is asked for is what any kernel has

PORTS = ("p1", "p2", "p3", "p4", "p5")
FILE = """
auto br0
iface br0
    bridge-vlan-aware yes
    bridge-ports p1 p2 p3 p4 p5
    bridge-vids 10-12 20
iface p2
    bridge-access 10
iface p3
    bridge-allow-untagged no
iface p4
    bridge-pvid 2
    bridge-vids 1-2 20
iface p5
    bridge-allow-untagged no
    bridge-vids 1
"""
DONE = """
vlan add vid 10-12 dev p1
vlan add vid 20 dev p1
vlan del vid 1 dev p2
vlan add vid 10 pvid untagged dev p2
vlan del vid 1 dev p3
vlan add vid 10-12 dev p3
vlan add vid 20 dev p3
vlan add vid 1 dev p4
vlan add vid 2 pvid untagged dev p4
vlan add vid 20 dev p4
vlan add vid 1 dev p5
"""


def test_vlans_of_a_bridge_are_as_before_and_the_same_elsewhere(engine_in: EngineIn, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    got = importing_in(files)(FILE)
    assert got.problems == ()
    for netns in ("here", "there"):
        engine_in(netns, "{}")
        for port in PORTS:
            here(f"ip link add {port} type dummy", netns)
    here("ip link add br0 up type bridge vlan_filtering 1")
    for port in PORTS:
        here(f"ip link set {port} up master br0")
    for command in DONE.strip().splitlines():
        here(f"bridge {command}")
    want = here("bridge vlan")
    assert "vid" not in present.text(engine_in("here", got.text).diff())
    for netns in ("here", "there"):
        engine_in(netns, got.text).apply()
        assert sorted(here("bridge vlan", netns).split("\n")) == sorted(want.split("\n"))
