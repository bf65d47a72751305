# SPDX-License-Identifier: GPL-2.0-or-later
"""Spanning trees on a real kernel: states of ports as their VLANs have them, back after any refusal."""

import json

import pytest

from netgroupd.engine.observe import look
from netgroupd.engine.transaction import plan_for, plan_now
from netgroupd.errors import KernelError
from netgroupd.kernel.kernel import Kernel
from netgroupd.model.state import Object, State
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Step
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, to_and_fro, told


def states() -> dict[tuple[str, int], str]:
    """What each VLAN of each port is, which is where the kernel keeps the states of trees."""
    found: dict[tuple[str, int], str] = {}
    for link in json.loads(told("bridge", "-d", "-j", "vlan", "show")):
        for vlan in link["vlans"]:
            for vid in range(vlan["vlan"], vlan.get("vlanEnd", vlan["vlan"]) + 1):
                found[link["ifname"], vid] = vlan["state"]
    return found


OPTIONS = "{vid: '[10-12]', msti: 1}, {vid: 13, msti: 2}"
STATES = "{msti: 1, state: forwarding}, {msti: 2, state: blocking}"


def said(
    options: str = OPTIONS,
    one: str = STATES,
    other: str = STATES,
    *,
    vlans: str = "'[10-14]'",
    bridge: str = "mst_enabled: true",
    port: str = "master: br, ",
) -> State:
    own = f"kind: bridge, up: true, mac: '02:00:00:00:00:01', vlan_filtering: true, {bridge}, vlan_global: [{options}]"
    ports = (
        f"p1: {{kind: dummy, up: true, {port}vlans: [{vlans}], mst: [{one}]}}, "
        f"p2: {{kind: dummy, up: true, master: br, vlans: ['[10-14]'], mst: [{other}]}}"
    )
    return state_of(f"links: {{br: {{{own}}}, {ports}}}")


NONE = said("", "", "")
WAYS = [
    pytest.param(NONE, said(), id="trees_come"),
    pytest.param(said(), NONE, id="nothing_is_said_any_more"),
    pytest.param(said(), said(one=STATES.replace("blocking", "learning")), id="state_changes"),
    pytest.param(said(), said("{vid: '[10,13]', msti: 1}, {vid: '[11-12]', msti: 2}"), id="vlans_change_trees"),
    pytest.param(said(), said("{vid: '[10-13]', msti: 0}", "", ""), id="trees_go"),
    pytest.param(
        said(one=STATES.replace("forwarding", "blocking"), vlans="'[12-13]'"),
        said(one=STATES.replace("forwarding", "blocking")),
        id="vlans_of_a_tree_come",
    ),
    pytest.param(said(), said(vlans="'[10-12]', 14, {vid: 13, untagged: true}"), id="vlan_that_is_shut_changes"),
    pytest.param(said(), said(one=STATES.partition(", {")[0], vlans="12"), id="vlans_of_a_tree_go"),
    pytest.param(said(), said(one="", vlans="", port="master: null, "), id="port_leaves"),
    pytest.param(
        said(), state_of("links: {p1: {kind: dummy, up: true}, p2: {kind: dummy, up: true}}"), id="bridge_goes"
    ),
    pytest.param(said("", "", "", bridge="mst_enabled: false"), said(), id="ports_leave_and_come_back"),
    pytest.param(said(), said(bridge="mst_enabled: true, vlan_stats_per_port: true"), id="ports_leave_and_have_states"),
    pytest.param(
        said(bridge="mst_enabled: true, vlan_default_pvid: 13", vlans="'[10-12]'"),
        said(bridge="mst_enabled: true, vlan_default_pvid: 12", vlans="'[10-11,13]'"),
        id="default_vlan_changes",
    ),
]


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize(("before", "after"), WAYS)
def test_states_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    to_and_fro(kernel, before, after, states)


def test_vlans_have_the_states_of_their_trees(kernel: Stumbling) -> None:
    become(kernel, said(other="{msti: 1, state: learning}, {msti: 2, state: forwarding}"))
    got = states()
    assert {vid: got["p1", vid] for vid in range(10, 15)} == {
        **dict.fromkeys((10, 11, 12), "forwarding"),
        13: "blocking",
        14: "forwarding",
    }
    assert (got["p2", 12], got["p2", 13]) == ("learning", "forwarding")


def test_vlan_that_comes_to_a_tree_has_its_state(kernel: Stumbling) -> None:
    shut = STATES.replace("forwarding", "blocking")
    become(kernel, said(one=shut, vlans="'[11-13]'"))
    goal = said(one=shut)
    plan = plan_for(kernel, goal, look(kernel, goal, MINE), MINE)
    again = [step.object.key for step in singles(plan.steps) if step.why == "its VLANs become others"]
    assert again == [("p1", 1), ("p1", 2)]
    become(kernel, goal)
    assert {states()["p1", vid] for vid in range(10, 14)} == {"blocking"}


def by_hand(*objects: Object) -> None:
    """What somebody else does, who has a newer ``bridge`` than Debian 12."""
    with Kernel("engine") as other:
        assert not other.apply([Step(Op.CHANGE, obj, obj, obj.attrs) for obj in objects])


def test_trees_of_somebody_else_stay_and_come_back(kernel: Stumbling) -> None:
    become(kernel, NONE)
    options = (Object("vlan_global", ("br", vid), {"msti": 5}) for vid in (10, 11))
    by_hand(*options, Object("mst", ("p1", 5), {"state": "learning"}))
    before = states()
    assert (before["p1", 10], before["p2", 10]) == ("learning", "disabled")
    assert not plan_now(kernel, NONE, MINE)[0].steps
    there_and_back(kernel, said("{vid: 10, msti: 1}", "{msti: 1, state: blocking}", ""), states, refused=True)
    there_and_back(kernel, said("", "", "", port="master: null, ", vlans=""), states, refused=True)
    assert states() == before


TEXT = """
links:
  br:
    kind: bridge
    vlan_filtering: true
    mst_enabled: true
    vlan_global: [%s]
  p1: {kind: dummy, up: true, master: br, vlans: ["[10-12]"], mst: [%s]}
"""


def test_capture_has_trees_and_states(engine_in: EngineIn) -> None:
    options, states = "{vid: '[10-11]', msti: 3}, {vid: 12, msti: 4}", "{msti: '[3-4]', state: blocking}"
    engine_in("here", TEXT % (options, states)).apply()
    text = engine_in("here", TEXT % (options, states)).capture()
    assert "#" not in text
    assert '    vlan_global: [{vid: "[10-11]", msti: 3}, {vid: 12, msti: 4}]\n' in text
    assert '    mst: [{msti: "[3-4]", state: blocking}]\n' in text
    assert '    vlans: ["[10-12]"]\n' in text
    before = here("bridge -d vlan")
    here("ip link del dev br")
    here("ip link del p1")
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text
    assert sorted(here("bridge -d vlan").split()) == sorted(before.split())


def test_an_earlier_generation_has_the_states_that_it_did_not_mention(engine_in: EngineIn) -> None:
    engine_in("here", TEXT % ("{vid: 10, msti: 3}", "{msti: 3, state: blocking}")).apply()
    engine_in("here", TEXT % ("{vid: 10, msti: 3}", "")).apply()
    before = here("bridge -d vlan")
    engine = engine_in("here", TEXT % ("{vid: '[10-11]', msti: 3}", "{msti: 3, state: forwarding}"))
    assert engine.apply().plan.steps
    assert not engine.apply().plan.steps
    assert here("bridge -d vlan") != before
    engine_in("here", TEXT % ("{vid: '[10-11]', msti: 4}", "{msti: 4, state: learning}")).apply()
    engine.rollback(2)
    assert here("bridge -d vlan") == before


def test_states_without_trees_any_more_are_not_given_back(engine_in: EngineIn) -> None:
    engine_in("here", TEXT % ("", "")).apply()
    before = here("bridge -d vlan")
    for state in ("blocking", "forwarding"):
        engine_in("here", TEXT % ("{vid: 10, msti: 3}", f"{{msti: 3, state: {state}}}")).apply()
    engine_in("here", "{}").rollback(1)
    assert here("bridge -d vlan") == before


def test_refusal_names_the_line(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip link add br9 type bridge vlan_filtering 1")
    here("ip link add p9 type dummy")
    here("ip link set p9 master br9")
    engine = engine_in("here", "links:\n  p9:\n    mst:\n    - {msti: 1, state: forwarding}\n")
    why = r"all\.yaml:4: create mst p9 msti 1: bridge: Can't modify MST state when MST is disabled"
    with pytest.raises(KernelError, match=why):
        engine.apply()


def test_states_live_where_their_port_does(kernel: Stumbling) -> None:
    own = "vlan_filtering: true, mst_enabled: true, netns: blue"
    text = (
        f"links: {{br: {{kind: bridge, {own}, vlan_global: [{{vid: 1, msti: 2}}]}}, "
        "p: {kind: dummy, master: br, netns: blue, mst: [{msti: 2, state: %s}]}}"
    )
    ip("netns add blue")
    try:
        for state in ("learning", "forwarding"):
            goal = state_of(text % state)
            become(kernel, goal)
            assert f"state {state}" in here("bridge -d vlan show dev p", "blue")
            assert not plan_now(kernel, goal, MINE)[0].steps
    finally:
        ip("netns del blue")


@pytest.mark.vm("stock")
def test_vlans_of_ports_that_are_shut_in_trees_are_open_when_there_are_none(kernel: Stumbling) -> None:
    port = "{kind: dummy, up: %s, master: br, vlans: ['[10-12]']}"
    text = f"links: {{br: {{kind: bridge, up: true, vlan_filtering: true%s}}, p1: {port}, p2: {port}}}"
    become(kernel, state_of(text % (", mst_enabled: true", "false", "true")))
    assert states()["p1", 10] == "disabled"
    become(kernel, state_of(text % (", mst_enabled: false", "true", "true")))
    assert {state for (name, _), state in states().items() if name != "br"} == {"forwarding"}


@pytest.mark.vm("stock")
@pytest.mark.parametrize(("one", "other"), [("true", "false"), ("false", "true")])
def test_vlans_of_ports_that_are_shut_in_trees_are_open_in_a_bridge_without(
    kernel: Stumbling, one: str, other: str
) -> None:
    bridge = "{kind: bridge, up: true, mac: '02:00:00:00:00:01', vlan_filtering: true, mst_enabled: %s}"
    text = f"links: {{br: {bridge}, br2: {bridge}, p1: {{kind: dummy, up: %s, master: %s, vlans: ['[10-12]']}}}}"
    before, after = (state_of(text % (one, other, *port)) for port in (("false", "br"), ("true", "br2")))
    become(kernel, before)
    shown = states()
    there_and_back(kernel, after, states, refused=True)
    assert states() == shown
    become(kernel, after)
    assert {state for (name, _), state in states().items() if name == "p1"} == {"forwarding"}
