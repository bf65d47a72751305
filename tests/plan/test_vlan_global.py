# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of VLANs in a plan: behind their bridge and who is in the VLAN, in ranges, and said again when lost."""

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import USUAL
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.diff import diff
from netgroupd.plan.named import text_of
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, RangeStep, Step, cls_of
from tests.engine.universe import state_of

OURS: dict[str, Value] = {"group": 0x4E47_0000}
LEARNS = "vlan_filtering: true, mcast_vlan_snooping: true"
PORTS = "p1: {kind: dummy, master: br, vlans: ['[20-22]']}, p2: {kind: dummy, master: br}"


def said(options: str, vlans: str = "'[10-12]'", ports: str = PORTS, bridge: str = "") -> State:
    own = f"{LEARNS}{bridge}, vlans: [{vlans}], vlan_global: [{options}]"
    return state_of(f"links: {{br: {{kind: bridge, {own}}}, {ports}}}")


def actual(*options: Object, more: dict[str, Value] = {}) -> State:  # noqa: B006  # it is not changed
    """A bridge in three VLANs with a port in three others, and options of VLANs."""
    links: dict[str, dict[str, Value]] = {
        "br": {"kind": "bridge", "vlan_filtering": True, "mcast_vlan_snooping": True, **more, **OURS},
        "p1": {"kind": "dummy", "up": False, "master": "br", **OURS},
        "p2": {"kind": "dummy", "up": False, "master": "br", **OURS},
    }
    members = [*(("br", vid) for vid in (1, 10, 11, 12)), *(("p1", vid) for vid in (1, 20, 21, 22)), ("p2", 1)]
    vlans = (Object("bridge_vlan", key, {"state": "forwarding"}) for key in members)
    return State((*(Object("link", (name,), attrs) for name, attrs in links.items()), *vlans, *options))


def of_vlan(vid: int, **attrs: Value) -> Object:
    return Object("vlan_global", ("br", vid), {**USUAL, **attrs})


def planned(want: State, have: State) -> Plan:
    return assemble(want, have, Owned(frozenset({0x4E47_0000}), named=(text_of(have),)))


def lines(plan: Plan) -> list[str]:
    return [" ".join(line.split()) for line in present.text(plan).splitlines()]


def about_options(plan: Plan) -> list[tuple[Op, Value, dict[str, Value]]]:
    steps = (step for step in singles(plan.steps) if step.object.cls == "vlan_global")
    return [(step.op, step.object.key[1], dict(step.attrs)) for step in steps]


def test_options_come_behind_the_vlans_of_their_bridge_and_of_its_ports() -> None:
    plan = planned(said("{vid: '[11-12]', mcast_querier: on}, {vid: 20, mcast_snooping: off}"), State())
    order = list(dict.fromkeys(map(cls_of, plan.steps)))
    assert order == ["link", "bridge_vlan", "vlan_global"]
    shown = [line for line in lines(plan) if "vlan_global" in line]
    assert shown == ["+ vlan_global br vid [11-12] mcast_querier on (2)", "+ vlan_global br vid 20 mcast_snooping off"]


def test_range_is_one_message_as_far_as_what_is_said_is_the_same() -> None:
    have = actual(*(of_vlan(vid) for vid in (10, 11, 12)))
    plan = planned(said("{vid: '[10-12]', mcast_querier: on, mcast_igmp_version: 3}"), have)
    (step,) = plan.steps
    assert isinstance(step, RangeStep)
    apart = actual(of_vlan(10), of_vlan(11, mcast_igmp_version=3), of_vlan(12))
    assert len(planned(said("{vid: '[10-12]', mcast_querier: on, mcast_igmp_version: 3}"), apart).steps) == 3


def test_what_is_not_said_keeps_the_kernels_value() -> None:
    have = actual(of_vlan(10, mcast_querier=True, mcast_query_interval=500))
    assert planned(said("{vid: 10, mcast_querier: on}"), have).steps == ()
    plan = planned(said("{vid: 10, mcast_querier: off}"), have)
    assert about_options(plan) == [(Op.CHANGE, 10, {"mcast_querier": False})]
    assert diff(said(""), have, Owned(frozenset({0x4E47_0000}))).steps == ()


def test_interval_is_what_the_kernels_clock_makes_of_it() -> None:
    have = actual(of_vlan(10, mcast_startup_query_interval=3124))
    assert planned(said("{vid: 10, mcast_startup_query_interval: 3125}"), have).steps == ()
    assert planned(said("{vid: 10, mcast_startup_query_interval: 3126}"), have).steps


def test_options_go_with_their_vlan_and_nobody_is_told() -> None:
    plan = planned(said("", "'[10-11]'"), actual(of_vlan(12, mcast_querier=True)))
    assert [(step.op, step.object.cls) for step in singles(plan.steps)] == [(Op.DELETE, "bridge_vlan")]


def test_options_are_said_again_where_all_leave_the_vlan_and_others_come() -> None:
    ports = "p1: {kind: dummy, master: br, vlans: []}, p2: {kind: dummy, master: br, vlans: ['[20-22]']}"
    have = actual(of_vlan(20, mcast_querier=True, mcast_query_interval=500), of_vlan(21, mcast_querier=True))
    plan = planned(said("{vid: '[20-21]', mcast_querier: on}", ports=ports), have)
    assert about_options(plan) == [
        (Op.CHANGE, 20, {**USUAL, "mcast_querier": True, "mcast_query_interval": 500}),
        (Op.CHANGE, 21, {**USUAL, "mcast_querier": True}),
    ]
    assert cls_of(plan.steps[-1]) == "vlan_global"
    assert "~ vlan_global br vid [20-21] (2) # all leave the VLAN for a moment" in lines(plan)


def test_options_stay_where_somebody_stays_in_the_vlan() -> None:
    ports = "p1: {kind: dummy, master: br, vlans: []}, p2: {kind: dummy, master: br, vlans: [20]}"
    have = State((*actual(of_vlan(20, mcast_querier=True)), Object("bridge_vlan", ("p2", 20), {})))
    plan = planned(said("{vid: 20, mcast_querier: on}", ports=ports), have)
    assert {step.object.key for step in singles(plan.steps)} == {("p1", 20), ("p1", 21), ("p1", 22)}


def test_options_are_said_again_when_ports_leave_for_their_bridge_to_change() -> None:
    have = actual(of_vlan(20, mcast_querier=True), of_vlan(10, mcast_querier=True), more={"mst_enabled": False})
    want = said("{vid: '[10,20]', mcast_querier: on}", bridge=", mst_enabled: true")
    plan = planned(want, have)
    assert [(op, vid) for op, vid, _ in about_options(plan)] == [(Op.CHANGE, 20)]


def test_groups_go_from_a_vlan_that_learns_none_when_it_does_again() -> None:
    entry = Object("mdb", ("br", "p1", "239.1.1.1", 20, None), {"filter_mode": "exclude"})
    have = State((*actual(of_vlan(20, mcast_snooping=False)), entry))
    plan = planned(said("{vid: 20, mcast_snooping: on}"), have)
    assert [(step.op, step.object.cls) for step in plan.steps if isinstance(step, Step)] == [
        (Op.CHANGE, "vlan_global"),
        (Op.DELETE, "mdb"),
    ]


def test_limit_of_a_port_comes_behind_what_has_its_vlan_learn() -> None:
    limited = "p1: {kind: dummy, master: br, vlans: [{vid: '[20-23]', mcast_max_groups: 7, mcast_router: 2}]}"
    want = said("{vid: '[20-22]', mcast_snooping: on}", ports=limited)
    plan = planned(want, actual(*(of_vlan(vid, mcast_snooping=False) for vid in (20, 21, 22))))
    order = [
        (step.op, cls_of(step), sorted(first.attrs))
        for step in plan.steps
        for first in [*singles([step])][:1]
        if cls_of(step) != "link"
    ]
    assert order == [
        (Op.CHANGE, "bridge_vlan", ["mcast_router"]),
        (Op.CREATE, "bridge_vlan", ["mcast_max_groups", "mcast_router"]),
        (Op.CHANGE, "vlan_global", ["mcast_snooping"]),
        (Op.CHANGE, "bridge_vlan", ["mcast_max_groups"]),
    ]


def test_limit_of_somebody_else_is_said_again_only_where_the_bridge_learns() -> None:
    def again(**bridge: Value) -> dict[str, Value]:
        have = actual(more={"vlan_stats_per_port": False})
        have.add(Object("bridge_vlan", ("p1", 20), {"state": "forwarding", "mcast_max_groups": 7, "mcast_router": 2}))
        want = said("", bridge=", vlan_stats_per_port: true")
        want.classes["link"]["br",] = Object("link", ("br",), {**want.of("link")["br",].attrs, **bridge})
        plan = planned(want, have)
        (step,) = [step for step in singles(plan.steps) if step.object.key == ("p1", 20)]
        return dict(step.attrs)

    assert again() == {"mcast_max_groups": 7, "mcast_router": 2}
    assert again(vlan_filtering=False).keys() == {"mcast_router"}


def test_limit_of_somebody_else_is_said_again_where_another_vlan_becomes_the_default() -> None:
    have = actual(more={"vlan_default_pvid": 1})
    own: dict[str, Value] = {"pvid": True, "untagged": True, "state": "forwarding"}
    for name in ("br", "p1", "p2"):
        have.add(Object("bridge_vlan", (name, 1), {**own, "mcast_max_groups": 7}))
    want = said("", ports="p1: {kind: dummy, master: br, vlans: [1]}", bridge=", vlan_default_pvid: 5")
    (step,) = [step for step in singles(planned(want, have).steps) if step.object.key == ("p1", 1)]
    assert dict(step.attrs) == {"mcast_max_groups": 7}
