# SPDX-License-Identifier: GPL-2.0-or-later
"""States in spanning trees in a plan: behind what puts VLANs into trees, and said again where that changes them."""

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step, cls_of
from tests.engine.universe import state_of

OURS: dict[str, Value] = {"group": 0x4E47_0000}


def said(options: str, states: str = "{msti: '[1-2]', state: blocking}", vlans: str = "'[10-12]'") -> State:
    own = f"kind: bridge, vlan_filtering: true, mst_enabled: true, vlan_global: [{options}]"
    return state_of(f"links: {{br: {{{own}}}, p1: {{kind: dummy, master: br, vlans: [{vlans}], mst: [{states}]}}}}")


OPTIONS = "{vid: '[10-11]', msti: 1}, {vid: 12, msti: 2}"


def actual(*vids: int) -> State:
    """The same, with the port in some of the VLANs and in one more."""
    bridge: dict[str, Value] = {"kind": "bridge", "vlan_filtering": True, "mst_enabled": True, **OURS}
    vlans = [Object("bridge_vlan", ("p1", vid), {"untagged": False, "state": "blocking"}) for vid in vids]
    return State(
        (
            Object("link", ("br",), bridge),
            Object("link", ("p1",), {"kind": "dummy", "up": False, "master": "br", **OURS}),
            Object("bridge_vlan", ("p1", 1), {"pvid": True, "untagged": True}),
            *vlans,
            *(Object("vlan_global", ("br", vid), {"msti": 1 + (vid == 12)}) for vid in (10, 11, 12)),
            *(Object("mst", ("p1", tree), {"state": "blocking"}) for tree in (1, 2)),
        )
    )


def planned(want: State, have: State) -> Plan:
    return assemble(want, have, Owned(frozenset({0x4E47_0000})))


def about_states(plan: Plan) -> list[tuple[Op, Value, str]]:
    return [(step.op, step.object.key[1], step.why) for step in singles(plan.steps) if step.object.cls == "mst"]


def test_states_come_behind_the_trees_of_their_vlans_and_before_the_port_is_up() -> None:
    plan = planned(said(OPTIONS), State())
    order = list(dict.fromkeys(map(cls_of, plan.steps)))
    assert order[-3:] == ["bridge_vlan", "vlan_global", "mst"]
    lines = [" ".join(line.split()) for line in present.text(plan).splitlines()]
    assert "+ mst p1 msti [1-2] state blocking (2)" in lines


def test_states_are_said_again_where_a_vlan_comes_to_the_port() -> None:
    again = [(Op.CHANGE, tree, "its VLANs become others") for tree in (1, 2)]
    assert about_states(planned(said(OPTIONS), actual(11, 12))) == again
    moved = planned(said(OPTIONS.replace("[10-11]", "10").replace("vid: 12", "vid: '[11-12]'")), actual(10, 11, 12))
    assert about_states(moved) == again


def test_states_are_not_said_again_where_a_vlan_goes_or_is_otherwise_changed() -> None:
    assert planned(said(OPTIONS), actual(10, 11, 12)).steps == ()
    assert about_states(planned(said(OPTIONS), actual(9, 10, 11, 12))) == []
    plan = planned(said(OPTIONS, vlans="'[10-11]', {vid: 12, untagged: true}"), actual(10, 11, 12))
    assert [(step.op, step.object.cls) for step in singles(plan.steps)] == [(Op.CHANGE, "bridge_vlan")]


def test_states_of_vlans_are_not_told_to_a_bridge_that_has_those_of_trees() -> None:
    have = actual(10, 11, 12)
    have.add(Object("link", ("br",), {**have.of("link")["br",].attrs, "vlan_stats_per_port": False}))
    want = said(OPTIONS)
    link = want.of("link")["br",]
    want.classes["link"]["br",] = link._replace(attrs={**link.attrs, "vlan_stats_per_port": True})
    lost = [step for step in planned(want, have).steps if isinstance(step, Step) and step.object.cls == "bridge_vlan"]
    assert not [step for step in lost if "state" in step.attrs]
    assert [(op, tree) for op, tree, _ in about_states(planned(want, have))] == [(Op.CHANGE, 1), (Op.CHANGE, 2)]
