# SPDX-License-Identifier: GPL-2.0-or-later
"""Which steps of a plan what is there can feel: none about new links that have no part in it."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan.affected import felt, warnings
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan
from tests.engine.universe import state_of

THERE = State(
    [
        Object("link", ("eth0",), {"mtu": 1500}),
        Object("link", ("br0",), {"kind": "bridge", "mtu": 1500, "up": True, "group": 0x4E470000}),
    ]
)
OLD = "br0: {kind: bridge, up: true}"
APART = {
    "a_link": "d: {kind: dummy, up: true, mtu: 1400}",
    "a_vlan_of_hardware": "eth0.5: {up: true}",
    "a_bridge_with_hardware": "br: {kind: bridge, ports: eth0}",
}
FELT = {
    "a_port": "d: {kind: dummy, mtu: 1400, master: br0}",
    "a_port_above_a_new_link": "d: {kind: dummy, mtu: 1400}\n  d.5: {master: br0}",
    "an_ipvlan": "i: {kind: ipvlan, link: eth0}",
    "a_bond": "b: {kind: bond, mode: active-backup}",
    "a_tunnel_that_sets_something_for_all": "w: {kind: wireguard, up: true}",
}


def planned(link: str) -> Plan:
    return assemble(state_of(f"links:\n  {OLD}\n  eth0: {{mtu: 1480}}\n  {link}\n"), THERE, Owned())


@pytest.mark.parametrize("link", APART.values(), ids=APART)
def test_what_is_there_feels_nothing_of_a_new_link_that_has_no_part_in_it(link: str) -> None:
    got = {step.object.name for step in singles(felt(planned(link)).steps)}
    assert got == {"eth0"}


@pytest.mark.parametrize("link", FELT.values(), ids=FELT)
def test_what_is_there_feels_of_one_that_joins_it_all_that_is_new(link: str) -> None:
    plan = planned(link)
    assert felt(plan) == plan


def test_a_bridge_becomes_as_small_as_the_new_link_below_its_new_port() -> None:
    link = FELT["a_port_above_a_new_link"]
    desired = state_of(f"links:\n  {OLD}\n  {link}\n  top: {{kind: vlan, link: br0, id: 7}}\n")
    top = Object("link", ("top",), {"kind": "vlan", "link": "br0", "id": 7, "mtu": 1500, "group": 0x4E470000})
    there = State([*THERE, top])
    plan = felt(assemble(desired, there, Owned()))
    assert [*warnings(plan, desired, there)] == [
        "links become as small as what is below, which no file says of them: top mtu 1500 -> 1400"
    ]
