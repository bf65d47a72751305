# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs, entries and groups that others give to links: told and given back where these leave their bridge, or go."""

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step
from tests.vm.hosts import EngineIn, here

BRIDGE = """
links:
  br0: {{kind: bridge, up: true, vlan_filtering: true, ports: ["p[0-1]"], {}}}
  p[0-1]: {{kind: dummy, up: true}}
"""
OF_OTHERS = (
    "bridge vlan del dev p0 vid 1",
    "bridge vlan add dev p0 vid 20 pvid untagged",
    "bridge vlan add dev p0 vid 30-32",
    "bridge vlan del dev p1 vid 1",
    "bridge fdb add 02:00:00:00:00:03 dev p0 master static vlan 20",
    "bridge mdb add dev br0 port p0 grp 239.1.1.1 permanent vid 20",
    "bridge mdb add dev br0 port p1 grp 239.1.1.2 permanent vid 20",
)
ALLOWED = frozenset({"br0", "p0", "p1"})
WHAT = "VLANs (6), forwarding entries (1), multicast groups of proto static (2)"
BACK = (
    f"what is not netgroupd's goes with ports that leave their bridge for a moment, and is given back: {WHAT} on p[0-1]"
)
LOST = f"what is not netgroupd's goes when links go or leave their bridge: {WHAT} on p[0-1]"


def lists() -> list[str]:
    """All that others have listed."""
    entries = [line for line in here("bridge fdb").splitlines() if " static" in line]
    groups = sorted(line for line in here("bridge -d mdb").splitlines() if " 239." in line)
    vlans = [here(f"bridge -d vlan show dev {name}") for name in ("p0", "p1")]
    return [*sorted(entries), *groups, *vlans]


@pytest.mark.parametrize("change", ["mst_enabled: true", "vlan_stats_per_port: true", "numtxqueues: 2"])
def test_what_others_list_on_ports_that_leave_for_a_moment_is_there_again(engine_in: EngineIn, change: str) -> None:
    engine_in("here", BRIDGE.format("")).apply()
    for command in OF_OTHERS:
        here(command)
    before = lists()
    engine = engine_in("here", BRIDGE.format(change))
    assert engine.diff().warnings == (BACK,)
    assert engine.apply(allow=ALLOWED).plan.warnings == (BACK,)
    assert lists() == before
    assert not engine.diff().steps


_PORTS = "  p[0-1]: {kind: dummy, up: true"
LEAVING = {
    "leave": f"  br0: {{kind: bridge, up: true, vlan_filtering: true}}\n{_PORTS}, master: null}}",
    "change": f"  br0: {{kind: bridge, up: true}}\n  br1: {{kind: bridge, ports: 'p[0-1]'}}\n{_PORTS}}}",
    "lose_their_bridge": f"{_PORTS}}}",
    "go": "  x: {kind: dummy}",
    "made_anew": f"  br0: {{kind: bridge, up: true}}\n{_PORTS}, master: br0, numtxqueues: 2}}",
}


@pytest.mark.parametrize("left", LEAVING.values(), ids=LEAVING)
def test_what_others_list_on_ports_that_leave_for_good_is_told_and_given_back(engine_in: EngineIn, left: str) -> None:
    engine_in("here", BRIDGE.format("")).apply()
    for command in OF_OTHERS:
        here(command)
    before = lists()
    engine = engine_in("here", f"links:\n{left}\n")
    assert LOST in engine.diff().warnings
    engine.apply(allow=ALLOWED, confirm_s=60.0)
    assert "02:00:00:00:00:03" not in here("bridge fdb")
    engine.rollback()
    assert lists() == before


TAPS = """
links:
  br0: {{kind: bridge, up: true, vlan_filtering: true, ports: p0, {}}}
  p0: {{kind: dummy, up: true}}
"""


def test_what_others_list_on_their_own_ports_of_a_bridge_of_ours_is_back_with_it(engine_in: EngineIn) -> None:
    engine_in("here", TAPS.format("")).apply()
    here("ip link add tap0 up master br0 type dummy")
    here("bridge vlan add dev tap0 vid 40")
    here("bridge fdb add 02:00:00:00:00:04 dev tap0 master static vlan 40")
    before = here("bridge vlan show dev tap0"), here("bridge fdb show dev tap0")
    engine = engine_in("here", TAPS.format("numtxqueues: 2"))
    said = engine.diff().warnings
    assert (
        "what is not netgroupd's goes when links go or leave their bridge: VLANs (1), forwarding entries (1) on tap0"
        in said
    )
    engine.apply(allow=ALLOWED, confirm_s=60.0)
    assert "40" not in here("bridge vlan show dev tap0")
    engine.rollback()
    assert (here("bridge vlan show dev tap0"), here("bridge fdb show dev tap0")) == before


def test_what_a_daemon_gives_to_a_vxlan_that_is_made_anew_is_told_and_given_back(engine_in: EngineIn) -> None:
    text = "links: {{vx: {{kind: vxlan, external: true, vnifilter: true, local: 127.0.0.1, dstport: {}, up: true}}}}\n"
    engine_in("here", text.format(4790)).apply()
    here("bridge vni add vni 100-101 dev vx")
    here("bridge fdb append 00:00:00:00:00:00 dev vx dst 192.0.2.9 src_vni 100")
    before = here("bridge vni show dev vx"), here("bridge fdb show dev vx")
    engine = engine_in("here", text.format(4791))
    lost = "goes when links go or leave their bridge: forwarding entries (1), VNIs (2) on vx"
    assert engine.diff().warnings == (f"what is not netgroupd's {lost}",)
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert (here("bridge vni show dev vx"), here("bridge fdb show dev vx")) == before


def test_nothing_is_told_of_what_stays_or_is_by_itself(engine_in: EngineIn) -> None:
    engine_in("here", BRIDGE.format("vlan_default_pvid: 5")).apply()
    here("bridge fdb add 02:00:00:00:00:03 dev p0 self permanent")
    for text in (BRIDGE.format("vlan_default_pvid: 5, mst_enabled: true"), BRIDGE.format("mtu: 1400")):
        assert not engine_in("here", text).diff().warnings
    engine_in("here", BRIDGE.format("vlan_default_pvid: 5, mst_enabled: true")).apply(allow=ALLOWED)
    here("bridge fdb del 02:00:00:00:00:03 dev p0 self")
    assert not engine_in("here", "links: {x: {kind: dummy}}").diff().warnings


OF_TREES = """
links:
  br0: {{kind: bridge, up: true, vlan_filtering: true, mst_enabled: true, mac: "02:00:00:00:00:01", {}}}
  p0: {{kind: dummy, up: true, master: {}}}
"""


def in_trees(kernel: Kernel) -> list[Object]:
    """What others have given to the VLAN of a port, and to its tree."""
    kernel.read_names()
    selection = Selection(
        frozenset({"bridge_vlan", "vlan_global", "mst"}), frozenset({"p0"}), bridges=frozenset({"br0"})
    )
    return [*kernel.dump(selection)]


@pytest.mark.parametrize(
    ("change", "master"), [("vlan_stats_per_port: true", "br0"), ("numtxqueues: 2", "br0"), ("", "null")]
)
def test_what_bridges_do_in_vlans_of_others_comes_back_with_these(
    engine_in: EngineIn, change: str, master: str
) -> None:
    engine_in("here", OF_TREES.format("", "br0")).apply()
    given = (
        Object("bridge_vlan", ("p0", 10), {}),
        Object("vlan_global", ("br0", 10), {"mcast_querier": True, "msti": 5}),
        Object("mst", ("p0", 5), {"state": "blocking"}),
    )
    with Kernel("here") as kernel:
        kernel.read_names()
        assert not kernel.apply([Step(Op.CREATE, None, obj, obj.attrs) for obj in given])
        before = in_trees(kernel)
        engine = engine_in("here", OF_TREES.format(change, master))
        engine.apply(allow=ALLOWED, confirm_s=60.0)
        assert (in_trees(kernel) == before) is (master == "br0")
        engine.rollback()
        assert in_trees(kernel) == before


@pytest.mark.parametrize("kind", ["bond", "dummy"])
def test_address_that_others_put_beside_the_own_one_of_a_link_is_told_and_given_back(
    engine_in: EngineIn, kind: str
) -> None:
    text = "links: {t: {kind: %s, up: on, addresses: '2001:db8::1/64'}}\n"
    engine_in("here", text % kind).apply()
    here("ip link add link t name m type macvlan")
    here("ip link add link t name t.5 address 02:00:00:00:07:05 type vlan id 5")
    here("bridge fdb add 02:00:00:00:01:04 dev t self")
    here("bridge fdb add 01:00:5e:00:00:77 dev t self")
    before = [line for line in here("bridge fdb show dev t").splitlines() if ":01:04" in line or ":00:77" in line]
    assert len(before) == 2
    engine = engine_in("here", text % "ifb")
    told = [said for said in engine.apply(confirm_s=60.0).plan.warnings if "forwarding" in said]
    assert told == ["what is not netgroupd's goes when links go or leave their bridge: forwarding entries (2) on t"]
    engine.rollback()
    entries = here("bridge fdb show dev t").splitlines()
    assert [line for line in entries if ":01:04" in line or ":00:77" in line] == before


def test_address_of_what_stands_on_a_bond_is_no_entry_of_a_port_that_goes(engine_in: EngineIn) -> None:
    text = "links: {{b: {{kind: bond, up: true, ports: 'p[0-{0}]'}}, 'p[0-{0}]': {{kind: dummy, up: true}}}}\n"
    engine_in("here", text.format(1)).apply()
    here("ip link add link b name m address 02:00:00:00:07:06 up type macvlan")
    assert "02:00:00:00:07:06" in here("bridge fdb show dev p1")
    said = engine_in("here", text.format(0)).diff().warnings
    assert not [one for one in said if "forwarding" in one]
