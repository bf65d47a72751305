# SPDX-License-Identifier: GPL-2.0-or-later
"""How a plan tells what it does: all that is said, and nothing besides."""

import pytest

from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Attrs, Object, State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.present import objects_text, text
from netgroupd.plan.step import Op, Plan, Step
from tests.engine.universe import state_of


def test_rule_says_once_what_it_selects_by() -> None:
    plan = assemble(state_of("rules: [{pref: 1000, l3mdev: true, family: inet}]"), State(), Owned())
    assert text(plan).splitlines()[0] == "+ rule 1000  inet  l3mdev"


@pytest.mark.parametrize(
    ("had", "said", "told"),
    [
        pytest.param(
            {"kind": "police", "rate": 1000, "burst": 9, "overhead": 0, "mtu": 2040, "control": "drop"},
            {"kind": "police", "rate": 2000, "burst": 9, "control": "drop"},
            "(kind police rate 8kbit burst 9 control drop) -> (kind police rate 16kbit burst 9 control drop)",
            id="what_goes_without_saying",
        ),
        pytest.param(
            {"kind": "skbedit", "priority": 1, "mark": 5, "hw_stats": "any"},
            {"kind": "skbedit", "priority": 2},
            "(kind skbedit priority 1 mark 5) -> (kind skbedit priority 2)",
            id="and_not_what_is_lost",
        ),
    ],
)
def test_of_an_action_that_changes_is_told(had: Attrs, said: Attrs, told: str) -> None:
    have, want = (
        Object("filter", ("d", "ingress", 0, 1, ()), {"kind": "matchall", "actions": (action,)})
        for action in (had, said)
    )
    assert told in text(Plan((Step(Op.CHANGE, have, want, want.attrs),)))


def test_end_of_a_pair_that_comes_with_the_other_is_made_too() -> None:
    pair = "links: {e0: {kind: veth, peer: e1, mtu: 1400}, e1: {kind: veth, peer: e0, up: true}}"
    assert text(assemble(state_of(pair), State(), Owned())).splitlines() == [
        "+ veth e0  peer e1  mtu 1400",
        "+ veth e1  peer e0  up",
        "2 to create; 3 messages",
    ]


def test_vlan_that_a_port_is_to_be_out_of_is_not_told_as_made() -> None:
    port = "links: {br: {kind: bridge, ports: p}, p: {kind: dummy, vlans: [5, {vid: 1, member: false}]}}"
    desired = state_of(port)
    told = text(assemble(desired, State(), Owned())).splitlines()
    assert [line for line in told if "vlan" in line] == [
        "- bridge_vlan p vid 1  # the bridge puts it there by itself",
        "+ bridge_vlan p vid 5",
    ]
    assert told[-1].startswith("3 to create, 1 to delete; ")
    shown = objects_text(desired.of("bridge_vlan").values(), {})
    assert shown.splitlines() == ["bridge_vlan p vid 5", "bridge_vlan p vid 1  member off"]


def test_bridge_that_is_told_its_mtu_again_for_a_new_port_is_not_counted() -> None:
    bridge = Object("link", ("br",), {"kind": "bridge", "mtu": 9000, "up": True, "group": GROUP_BASE})
    port = Object("link", ("p",), {"kind": "dummy", "mtu": 1500, "up": False, "group": GROUP_BASE})
    files = "links: {br: {kind: bridge, mtu: 9000, up: true}, p: {kind: dummy, master: br}}"
    *lines, count = text(assemble(state_of(files), State([bridge, port]), Owned())).splitlines()
    assert lines == ["~ dummy p  master none -> br"]
    assert count == "1 to change; 2 messages"


def test_forwarding_entry_says_what_its_numbers_are() -> None:
    links = "links: {br: {kind: bridge, ports: p}, p: {kind: dummy}, vx: {kind: vxlan, id: 7}}\n"
    flood, other = "{dev: vx, mac: '00:00:00:00:00:00', dst: 192.0.2.9}", "{dev: p, mac: '02:00:00:00:00:01', vlan: 20}"
    plan = assemble(state_of(f"{links}fdb: [{flood}, {other}]"), State(), Owned())
    told = [" ".join(line.split()) for line in text(plan).splitlines() if line.startswith("+ fdb")]
    assert told == [
        "+ fdb vx 00:00:00:00:00:00 self dst 192.0.2.9",
        "+ fdb p 02:00:00:00:00:01 vlan 20 master",
    ]
