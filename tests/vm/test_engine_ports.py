# SPDX-License-Identifier: GPL-2.0-or-later
"""What no file says of ports that leave and come back within one change is as it was."""

import re

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm

BRIDGE = """
links:
  br0: {{kind: bridge, up: true, ports: ["p[0-2]"], {}}}
  p0: {{kind: dummy, up: true, port: {{hairpin: true}}}}
  p[1-2]: {{kind: dummy, up: true}}
"""
OF_BRIDGE = (
    "link set p0 type bridge_slave cost 7 isolated on locked on",
    "link set p1 type bridge_slave priority 9 learning off backup_port p0 mcast_router 2",
)
BOND = """
links:
  b0: {{kind: bond, up: true, ports: ["p[0-1]"], mtu: 1400, {}}}
  p0: {{kind: dummy, up: true, mac: "02:00:00:00:00:00"}}
  p1: {{kind: dummy, up: true, mac: "02:00:00:00:00:01"}}
"""
OF_BOND = ("link set p0 type bond_slave queue_id 3", "link set p1 type bond_slave prio 7")
ALLOWED = frozenset({"br0", "b0", "p0", "p1", "p2"})


def options(*ports: str) -> list[str]:
    """What the master of ports keeps of them, but for timers, numbers, and what follows from these."""
    found = (here(f"ip -details link show {port}").partition("_slave")[2] for port in ports)
    passing = r"_timer +\S+|(port_id|port_no|designated_port|state|perm_hwaddr) \S+|addrgenmode.*"
    return [re.sub(passing, "", each) for each in found]


@pytest.mark.parametrize("change", ["mst_enabled: true", "vlan_stats_per_port: true", "numtxqueues: 2"])
def test_ports_of_a_bridge_that_changes_without_any(engine_in: EngineIn, change: str) -> None:
    engine_in("here", BRIDGE.format("mtu: 1400")).apply()
    for command in OF_BRIDGE:
        here(f"ip {command}")
    before = options("p0", "p1", "p2")
    engine = engine_in("here", BRIDGE.format(change))
    assert not engine.apply(allow=ALLOWED).plan.warnings
    assert options("p0", "p1", "p2") == before
    assert not engine.diff().steps


@pytest.mark.parametrize("change", ["mode: active-backup", "mode: balance-tlb, numtxqueues: 5"])
def test_ports_of_a_bond_that_changes_without_any(engine_in: EngineIn, change: str) -> None:
    engine_in("here", BOND.format("mode: balance-tlb")).apply()
    for command in OF_BOND:
        here(f"ip {command}")
    before = options("p0", "p1")
    engine = engine_in("here", BOND.format(change))
    assert not engine.apply(allow=ALLOWED).plan.warnings
    assert options("p0", "p1") == before
    assert not engine.diff().steps


@pytest.mark.parametrize("by_hand", ["02:00:00:00:00:07", "02:00:00:00:00:01"], ids=["own", "of_the_second_port"])
def test_bond_that_changes_without_ports_keeps_its_mac(engine_in: EngineIn, by_hand: str) -> None:
    engine_in("here", BOND.format("mode: active-backup")).apply()
    here(f"ip link set b0 address {by_hand}")
    engine = engine_in("here", BOND.format("mode: balance-rr"))
    engine.apply(allow=ALLOWED)
    assert f"ether {by_hand} " in here("ip link show b0")
    assert not engine.diff().steps


def test_bond_that_changes_without_ports_has_not_the_mac_of_one_that_leaves(engine_in: EngineIn) -> None:
    engine_in("here", BOND.format("mode: active-backup")).apply()
    assert "ether 02:00:00:00:00:00 " in here("ip link show b0")
    engine = engine_in("here", BOND.format("mode: balance-rr").replace('"p[0-1]"', "p1"))
    engine.apply(allow=ALLOWED)
    assert "ether 02:00:00:00:00:01 " in here("ip link show b0")
    assert not engine.diff().steps


def test_bond_that_takes_no_mac_is_back_after_a_refusal(engine_in: EngineIn) -> None:
    text = """
links:
  b0: {{kind: bond, up: true, {}}}
  p0: {{kind: dummy, up: true}}
"""
    refused_route = "routes: [{to: 198.51.100.0/24, via: 203.0.113.1, dev: b0}]\n"
    before = text.format("mode: active-backup, fail_over_mac: active")
    engine_in("here", before).apply()
    with pytest.raises(KernelError) as refused:
        engine_in("here", f"{text.format('mode: balance-rr, ports: p0')}{refused_route}").apply(allow=ALLOWED)
    assert "put back" not in str(refused.value)
    assert not engine_in("here", before).diff().steps


@pytest.mark.parametrize("below", ["b0", "b0.5"])
def test_macsec_above_a_bond_sends_in_the_channel_of_its_port(engine_in: EngineIn, below: str) -> None:
    text = f"""
links:
  b0: {{kind: bond, up: true, ports: p0}}
  b0.5: {{up: true}}
  m0: {{kind: macsec, link: {below}, up: true}}
  p0: {{kind: dummy, mac: "02:00:00:00:00:07", up: true}}
"""
    engine = engine_in("here", text)
    engine.apply()
    assert " sci 0200000000070001 " in here("ip -details link show m0")
    assert not engine.diff().steps
