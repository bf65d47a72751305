# SPDX-License-Identifier: GPL-2.0-or-later
"""The VLANs that others had given to ports, taken away by a take-over: they are there again when netgroupd lets go."""

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

BRIDGE = (
    "ip link add br0 type bridge vlan_filtering 1",
    "ip link add d0 master br0 type dummy",
    "ip link add d1 master br0 type dummy",
    "bridge vlan add dev d0 vid 10-12",
    "bridge vlan add dev d0 vid 300 pvid untagged",
    "bridge vlan add dev d1 vid 20",
    "bridge vlan add dev br0 vid 30 self",
)
FIRST = "links: {d0: {vlans: [11, 40]}}\n"
THEN = "links: {d0: {master: br0, vlans: [10, 40, 41]}, br0: {vlans: [50]}}\n"


@pytest.fixture(autouse=True)
def bridge(engine_in: EngineIn) -> None:
    """A bridge of somebody else's, with VLANs on its ports."""
    engine_in("here", "{}")  # makes the namespace
    for command in BRIDGE:
        here(command)


def test_vlans_that_a_take_over_removed_are_there_again(engine_in: EngineIn) -> None:
    before = here("bridge -d vlan")
    engine_in("here", FIRST).apply()
    between = here("bridge -d vlan")
    engine = engine_in("here", THEN)
    engine.apply()
    assert "50" in here("bridge vlan show dev br0")
    engine.rollback(1)
    assert here("bridge -d vlan") == between
    engine_in("here", THEN).apply()
    engine.rollback(0)
    assert here("bridge -d vlan") == before
    assert not engine.drift().steps


def test_vlans_of_netgroupd_that_it_took_away_itself_do_not_come_back(engine_in: EngineIn) -> None:
    before = here("bridge -d vlan")
    engine_in("here", FIRST).apply()
    engine = engine_in("here", "links: {d0: {vlans: [11]}}\n")
    engine.apply()
    engine.rollback(0)
    assert here("bridge -d vlan") == before


def test_port_that_others_put_into_a_bridge_stays_there_when_the_bridge_is_let_go(engine_in: EngineIn) -> None:
    engine_in("here", "links: {d0: {mtu: 1400}}\n").apply()
    engine = engine_in("here", "links: {d0: {master: br0, mtu: 1400}, br0: {mtu: 1300}}\n")
    engine.apply()
    engine.rollback(1)
    assert "master br0" in here("ip link show d0")
