# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs, forwarding entries and VNIs that other programs give to links: they stay where no file lists any."""

import pytest

from netgroupd.plan import present
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

# A tap of a guest, the overlay of a container network, and what a routing daemon gives to a VXLAN.
OF_OTHERS = (
    "ip link add virbr0 up type bridge vlan_filtering 1",
    "ip link add vnet0 up master virbr0 type dummy",
    "bridge vlan del dev vnet0 vid 1",
    "bridge vlan add dev vnet0 vid 20 pvid untagged",
    "bridge vlan add dev vnet0 vid 30",
    "bridge vlan add dev virbr0 vid 20 self",
    "bridge fdb add 02:00:00:00:00:03 dev vnet0 master static vlan 20",
    "ip link add flannel.1 up type vxlan id 1 dstport 8472 local 127.0.0.1 nolearning",
    "bridge fdb append 00:00:00:00:00:00 dev flannel.1 dst 192.0.2.9",
    "bridge fdb add 02:00:00:00:00:01 dev flannel.1 dst 192.0.2.9 self permanent",
    "ip link add vx9 up type vxlan external vnifilter dstport 4790 local 127.0.0.1",
    "bridge vni add vni 100 dev vx9",
)
# Somewhere else files list all of these.
BESIDE = """
  br0: {kind: bridge, vlan_filtering: true}
  d0: {kind: dummy, master: br0, vlans: [5], fdb: [{mac: 02:00:00:00:00:77, where: master, vlan: 5}]}
  vx0: {kind: vxlan, external: true, vnifilter: true, local: 127.0.0.1, dstport: 4791, vnis: [5]}
"""
FOR_AN_MTU = "links:\n" + "".join(f"  {name}: {{mtu: 1400}}\n" for name in ("virbr0", "vnet0", "flannel.1", "vx9"))


@pytest.fixture(autouse=True)
def of_others(engine_in: EngineIn) -> None:
    """Links of other programs with what these have given to them."""
    engine_in("here", "{}")  # makes the namespace
    for command in OF_OTHERS:
        here(command)


def _lists() -> list[str]:
    """All that others have listed."""
    entries = here("bridge fdb").splitlines()
    told = sorted(line for line in entries if "dev vnet0" in line or "dev flannel.1" in line)
    given = [line for line in told if " static" in line or " dst " in line]
    vlans = [here(f"bridge vlan show dev {name}") for name in ("virbr0", "vnet0")]
    return [*given, *vlans, here("bridge vni show dev vx9")]


def test_lists_of_others_stay_on_links_that_a_file_names_for_something_else(engine_in: EngineIn) -> None:
    before = _lists()
    for text in (FOR_AN_MTU + BESIDE, FOR_AN_MTU, FOR_AN_MTU + BESIDE, "links:" + BESIDE, "{}\n"):
        engine = engine_in("here", text)
        engine.apply()
        assert _lists() == before
        assert not engine.drift().steps
    engine.rollback(1)
    engine.rollback(0)
    assert _lists() == before


def test_what_a_routing_daemon_gives_to_a_vxlan_of_ours_stays(engine_in: EngineIn) -> None:
    text = "links:\n  vx1: {kind: vxlan, id: 9, local: 127.0.0.1, up: true, master: br0}" + BESIDE
    engine = engine_in("here", text)
    engine.apply()
    here("bridge fdb append 00:00:00:00:00:00 dev vx1 dst 192.0.2.9")
    here("bridge vlan add dev vx1 vid 33")
    assert not engine.drift().steps
    engine_in("here", text.replace("up: true", "up: true, mtu: 1400")).apply()
    assert "dst 192.0.2.9" in here("bridge fdb show dev vx1")
    assert "33" in here("bridge vlan show dev vx1")


def test_list_says_all_that_there_is_and_who_goes_back_has_what_was_there(engine_in: EngineIn) -> None:
    before = _lists()
    engine_in("here", FOR_AN_MTU).apply()
    listing = FOR_AN_MTU.replace("flannel.1: {", "flannel.1: {fdb: [{mac: 02:00:00:00:00:09, dst: 192.0.2.7}], ")
    listing = listing.replace("vnet0: {", "vnet0: {vlans: [7], ").replace("vx9: {", "vx9: {vnis: [7], ")
    engine = engine_in("here", listing)
    told = present.text(engine.diff())
    assert all(line in told for line in ("- fdb flannel.1", "- bridge_vlan vnet0 vid [20,30]", "- vni vx9"))
    engine.apply()
    assert "192.0.2.9" not in here("bridge fdb show dev flannel.1")
    engine_in("here", FOR_AN_MTU).apply()
    assert "192.0.2.7" not in here("bridge fdb show dev flannel.1")
    assert "7" not in here("bridge vlan show dev vnet0").split()
    engine.rollback(1)
    assert _lists() == before
    engine_in("here", listing).apply()
    engine.rollback(0)
    assert _lists() == before


def test_vlans_that_their_owner_has_changed_since_stay_when_the_link_is_let_go(engine_in: EngineIn) -> None:
    engine = engine_in("here", FOR_AN_MTU + BESIDE)
    engine.apply()
    here("bridge vlan del dev vnet0 vid 30")
    here("bridge vlan add dev vnet0 vid 40 pvid untagged")
    before = _lists()
    engine.rollback(0)
    assert _lists() == before
