# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of VLANs on a real kernel: as ``bridge`` tells them, back after any refusal, lost with nobody in the VLAN."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from netgroupd.engine.kept.lost import add_lost
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import plan_for, plan_now
from netgroupd.errors import KernelError
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import CLASS, TREE, USUAL
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, RangeStep, Step
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.pipeline import Pipeline
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, to_and_fro, told

OTHERS: dict[str, Value] = {
    "mcast_snooping": False,
    "mcast_igmp_version": 3,
    "mcast_mld_version": 2,
    "mcast_last_member_count": 5,
    "mcast_startup_query_count": 6,
    "mcast_last_member_interval": 200,
    "mcast_membership_interval": 30000,
    "mcast_querier_interval": 31000,
    "mcast_query_interval": 15000,
    "mcast_query_response_interval": 1200,
    "mcast_startup_query_interval": 4000,
    "mcast_querier": True,
    TREE: 7,
}
_ALL = Selection(classes=frozenset({"vlan_global"}), bridges=frozenset({"b0"}))
SETUP = """
link add b0 type bridge vlan_filtering 1 mcast_vlan_snooping 1 vlan_default_pvid 0
link add p1 type dummy
link set p1 up master b0
link set b0 up
"""


def bridge_tells(*command: str) -> dict[tuple[str, int], dict[str, Any]]:
    """What ``bridge`` tells of the VLANs of all bridges, but for the queriers that it has heard of."""
    shown = subprocess.run(
        [*command, "bridge", "-j", "vlan", "global", "show"], capture_output=True, text=True, check=True
    )
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for link in json.loads(shown.stdout or "[]"):
        for told_of in link["vlans"]:
            options = {name: value for name, value in told_of.items() if name in CLASS.attrs}
            for vid in range(told_of["vlan"], told_of.get("vlanEnd", told_of["vlan"]) + 1):
                found[link["ifname"], vid] = options
    return found


def seen() -> tuple[object, ...]:
    """The options and the groups that there are in the namespace of the engine."""
    groups = sorted(" ".join(line.split()) for line in told("bridge", "-d", "mdb", "show").splitlines())
    return bridge_tells("ip", "netns", "exec", "engine"), [line for line in groups if "permanent" in line]


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    subprocess.run(["ip", "-batch", "-"], input=SETUP, text=True, check=True)
    for command in ("dev b0 self vid 10-19", "dev p1 vid 20-29"):
        subprocess.run(["bridge", "vlan", "add", *command.split()], check=True)
    with Kernel() as kernel:
        yield Pipeline(kernel, _ALL)


def test_every_option_is_tried() -> None:
    assert OTHERS.keys() == CLASS.attrs.keys() == USUAL.keys()
    assert not [name for name, value in OTHERS.items() if USUAL[name] == value]


def test_vlan_that_is_new_has_what_is_usual(pipeline: Pipeline) -> None:
    vlans = pipeline.actual.of("vlan_global")
    assert [*vlans] == [("b0", vid) for vid in range(10, 30)]
    assert not [
        step for key in vlans for step in pipeline._pending("vlan_global", (Object("vlan_global", key, USUAL),))
    ]


@pytest.mark.parametrize("vid", [12, 22], ids=["of_the_bridge", "of_a_port"])
@pytest.mark.parametrize("name", [name for name in OTHERS if name != TREE])  # which `bridge` does not tell
def test_option_is_set_and_set_back_and_nothing_else_changes(pipeline: Pipeline, name: str, vid: int) -> None:
    before = bridge_tells()
    for value in (OTHERS[name], USUAL[name]):
        (step,) = pipeline.reach("vlan_global", Object("vlan_global", ("b0", vid), {name: value}))
        assert (step.op, dict(step.attrs)) == (Op.CHANGE, {name: value})
        want = {**before[("b0", vid)], name: value if not isinstance(value, bool) else int(value)}
        got = bridge_tells()
        as_near = abs(got["b0", vid][name] - want[name]) <= (1 if CLASS.attrs[name].ticks else 0)
        assert as_near, (got["b0", vid][name], want[name])
        assert {**got, ("b0", vid): {**got["b0", vid], name: 0}} == {**before, ("b0", vid): {**want, name: 0}}


def test_range_is_one_message_each_way(pipeline: Pipeline) -> None:
    for value in (True, False):
        vlans = [Object("vlan_global", ("b0", vid), {"mcast_querier": value}) for vid in range(12, 26)]
        steps = tuple(Step(Op.CHANGE, pipeline.actual.of("vlan_global")[vlan.key], vlan, vlan.attrs) for vlan in vlans)
        sent = pipeline.kernel.counters.messages
        assert not pipeline.kernel.apply([RangeStep(Op.CHANGE, steps)])
        assert pipeline.kernel.counters.messages - sent <= 2  # with the one that closes the batch
        asking = [vid for (_, vid), options in bridge_tells().items() if options["mcast_querier"]]
        assert asking == ([*range(12, 26)] if value else [])


def test_refusal_is_of_the_vlan_that_it_was_about(pipeline: Pipeline) -> None:
    vlans = [Object("vlan_global", ("b0", vid), {"mcast_querier": True}) for vid in range(27, 33)]
    (refused,) = pipeline.kernel.apply(
        [RangeStep(Op.CREATE, tuple(Step(Op.CREATE, None, vlan, vlan.attrs) for vlan in vlans))]
    )
    why = "bridge: Vlan in range doesn't exist, can't process global options"
    assert str(refused.refusal).startswith(f"create vlan_global b0 vid 30: {why}")
    assert refused.step.object.key == ("b0", 30)  # type: ignore[union-attr]


def test_value_that_the_kernel_does_not_take_is_blamed(pipeline: Pipeline) -> None:
    bad = Object("vlan_global", ("b0", 12), {"mcast_igmp_version": 9})
    (refused,) = pipeline.kernel.apply([Step(Op.CHANGE, pipeline.actual.of("vlan_global")["b0", 12], bad, bad.attrs)])
    assert "vlan_global b0 vid 12" in str(refused.refusal)


def test_only_bridges_that_are_asked_for_are_told_of(pipeline: Pipeline) -> None:
    subprocess.run(["ip", "link", "add", "b9", "type", "bridge"], check=True)
    assert {obj.name for obj in pipeline.look().of("vlan_global").values()} == {"b0"}
    for asked, found in (({"b9"}, {"b9"}), ({"p1"}, set()), ({"b9", "gone"}, {"b9"}), (set(), set())):
        dumped = pipeline.kernel.dump(_ALL._replace(bridges=frozenset(asked))).of("vlan_global")
        assert {obj.name for obj in dumped.values()} == found
    many = _ALL._replace(bridges=frozenset({"b9", *(f"no{number}" for number in range(100))}))
    assert {obj.name for obj in pipeline.kernel.dump(many).of("vlan_global").values()} == {"b9"}


BRIDGE = "br: {kind: bridge, up: true, mac: '02:00:00:00:00:01', vlan_filtering: true, mcast_vlan_snooping: true, %s}"
PORTS = "p1: {kind: dummy, up: true, master: br, vlans: ['[20-24]']}, p2: {kind: dummy, up: true, master: br}"
VLANS = "vlans: ['[10-14]']"
OPTIONS = (
    "vlan_global: [{vid: '[10-12]', mcast_querier: true, mcast_igmp_version: 3}, {vid: 13, mcast_query_interval: 500},"
    " {vid: 14, mcast_snooping: false}, {vid: '[20-22]', mcast_mld_version: 2, mcast_last_member_count: 4}]"
)
GROUPS = "mdb: [{dev: br, port: p1, group: 239.1.1.1, vid: 14}]"


def said(options: str = OPTIONS, vlans: str = VLANS, ports: str = PORTS, more: str = "", groups: str = "") -> State:
    own = ", ".join(filter(None, (vlans, options, more)))
    return state_of(f"links: {{{BRIDGE % own}, {ports}}}\n{groups}")


CHANGED = ", ".join(f"{name}: {value}" for name, value in OTHERS.items() if name not in ("mcast_snooping", TREE))
EVERY = f"vlan_global: [{{vid: '[10-14,20-24]', {CHANGED}}}]"
PORTS_IN_14 = PORTS.replace("'[20-24]'", "14, '[20-24]'")
NO_LEARNING = "vlan_global: [{vid: 14, mcast_snooping: false}]"
LEARNING = "vlan_global: [{vid: 14, mcast_snooping: true}]"
OF_20 = "vlan_global: [{vid: 20, mcast_querier: true}]"
WAYS = [
    pytest.param(said(""), said(), id="options_come"),
    pytest.param(
        said("", "vlans: []"), said(OF_20.replace("20", "14"), "vlans: [14]"), id="options_come_with_their_vlan"
    ),
    pytest.param(said(), said(EVERY), id="all_options_change"),
    pytest.param(said(EVERY), said(), id="some_options_change"),
    pytest.param(said(), said("", "vlans: ['[10-11]']"), id="vlans_go"),
    pytest.param(said(), said(OF_20, "vlans: []"), id="vlans_go_and_others_change"),
    pytest.param(said(), said("", ports="p2: {kind: dummy, up: true, master: br}"), id="port_goes"),
    pytest.param(
        said(),
        said("", ports=PORTS.replace("master: br", "master: null", 1).replace("vlans: ['[20-24]']", "vlans: []")),
        id="port_leaves",
    ),
    pytest.param(
        said(),
        said(
            ports="p1: {kind: dummy, up: true, master: br}, p2: {kind: dummy, up: true, master: br, vlans: ['[20-24]']}"
        ),
        id="vlans_go_to_another_port",
    ),
    pytest.param(
        said(), state_of("links: {p1: {kind: dummy, up: true}, p2: {kind: dummy, up: true}}"), id="bridge_goes"
    ),
    pytest.param(said(), said(more="mst_enabled: true"), id="ports_leave_and_come_back"),
    pytest.param(
        said(LEARNING, ports=PORTS_IN_14, groups=GROUPS), said(NO_LEARNING, ports=PORTS_IN_14), id="vlan_learns_nothing"
    ),
    pytest.param(
        said(NO_LEARNING, ports=PORTS_IN_14), said(LEARNING, ports=PORTS_IN_14, groups=GROUPS), id="vlan_learns_again"
    ),
]


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize(("before", "after"), WAYS)
def test_options_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    to_and_fro(kernel, before, after, seen)


def test_options_of_somebody_else_stay_and_come_back_with_their_vlan(kernel: Stumbling) -> None:
    become(kernel, said(""))
    ip("netns exec engine bridge vlan global set dev br vid 10-14 mcast_querier 1 mcast_query_interval 700")
    ip("netns exec engine bridge vlan global set dev br vid 21 mcast_igmp_version 3")
    by_hand = seen()
    assert not plan_now(kernel, said(""), MINE)[0].steps
    there_and_back(kernel, said("vlan_global: [{vid: 10, mcast_igmp_version: 3}]", "vlans: [10]"), seen, refused=True)
    there_and_back(kernel, said("", "vlans: []", "p2: {kind: dummy, up: true, master: br}"), seen, refused=True)
    assert seen() == by_hand


def test_options_of_somebody_else_come_back_with_the_default_vlan(kernel: Stumbling) -> None:
    become(kernel, said(""))
    ip("netns exec engine bridge vlan global set dev br vid 1 mcast_last_member_count 9")
    goal = said("", more="vlan_default_pvid: 5")
    actual = look(kernel, goal, MINE)
    plan = plan_for(kernel, goal, actual, MINE)
    add_lost(kernel, plan, actual, State, MINE)
    snapshot = Snapshot.of(plan, actual)
    become(kernel, goal)
    assert ("br", 1) not in bridge_tells("ip", "netns", "exec", "engine")
    put_back(kernel, snapshot, MINE)
    assert bridge_tells("ip", "netns", "exec", "engine")["br", 1]["mcast_last_member_count"] == 9


def test_options_of_a_bridge_of_somebody_else_come_back_with_a_port(kernel: Stumbling) -> None:
    ip("link add b9 type bridge vlan_filtering 1 mcast_vlan_snooping 1")
    become(kernel, state_of("links: {p9: {kind: dummy, up: true, master: b9, vlans: [30]}}", {"b9"}))
    ip("netns exec engine bridge vlan global set dev b9 vid 30 mcast_query_interval 700")
    there_and_back(kernel, state_of("links: {p9: {kind: dummy, up: true, master: null}}"), seen, refused=True)
    assert bridge_tells("ip", "netns", "exec", "engine")["b9", 30]["mcast_query_interval"] == 700


def test_what_is_not_said_survives_that_all_leave_a_vlan(kernel: Stumbling) -> None:
    become(kernel, said(OF_20))
    ip("netns exec engine bridge vlan global set dev br vid 20 mcast_query_interval 700")
    before = bridge_tells("ip", "netns", "exec", "engine")["br", 20]
    other = PORTS.replace(", vlans: ['[20-24]']", "").replace(
        "p2: {kind: dummy", "p2: {vlans: ['[20-24]'], kind: dummy"
    )
    goal = said(OF_20, ports=other)
    plan = plan_for(kernel, goal, look(kernel, goal, MINE), kernel.keep(goal))
    (again,) = [step for step in singles(plan.steps) if step.object.cls == "vlan_global"]
    assert again.why == "all leave the VLAN for a moment"
    become(kernel, goal)
    assert bridge_tells("ip", "netns", "exec", "engine")["br", 20] == before


def test_options_live_where_their_bridge_does(kernel: Stumbling) -> None:
    own = "vlan_filtering: true, mcast_vlan_snooping: true, netns: blue"
    text = f"links: {{br: {{kind: bridge, {own}, vlans: [10], vlan_global: [{{vid: 10, mcast_querier: %s}}]}}}}"
    ip("netns add blue")
    try:
        for value in ("true", "false"):
            become(kernel, state_of(text % value))
            shown = bridge_tells("ip", "netns", "exec", "blue")
            assert shown["br", 10]["mcast_querier"] == (value == "true")
            assert not plan_now(kernel, state_of(text % value), MINE)[0].steps
    finally:
        ip("netns del blue")


ENGINE = """
links:
  br:
    kind: bridge
    vlan_filtering: true
    mcast_vlan_snooping: true
    vlans: [%s]
    vlan_global: [%s]
"""


def test_an_earlier_generation_has_the_options_that_it_did_not_mention(engine_in: EngineIn) -> None:
    engine_in("here", ENGINE % ("10, 12", "{vid: 10, mcast_igmp_version: 3}")).apply()
    before = here("bridge vlan global")
    later = ENGINE % (
        "'[10-12]'",
        "{vid: 10, mcast_querier: true, mcast_query_interval: 500}, {vid: '[11-12]', mcast_querier: true}",
    )
    engine = engine_in("here", later)
    assert engine.apply().plan.steps
    assert not engine.apply().plan.steps
    assert here("bridge vlan global") != before
    engine_in("here", ENGINE % ("'[10-12]'", "{vid: '[10-12]', mcast_query_interval: 600}")).apply()
    engine.rollback(1)
    assert here("bridge vlan global") == before


def test_refusal_names_the_line_and_leaves_all_as_it_was(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip link add br9 type bridge vlan_filtering 1 mcast_vlan_snooping 1")
    before = here("bridge vlan global")
    engine = engine_in(
        "here",
        "links:\n  br9:\n    vlan_global:\n    - {vid: 1, mcast_querier: on}\n    - {vid: 7, mcast_querier: on}\n",
    )
    why = r"all\.yaml:5: create vlan_global br9 vid 7: bridge: Vlan in range doesn't exist"
    with pytest.raises(KernelError, match=why):
        engine.apply()
    assert here("bridge vlan global") == before


def test_four_thousand_vlans_take_few_messages(kernel: Stumbling) -> None:
    text = BRIDGE % "vlans: ['[2-4094]'], vlan_global: [{vid: '[1-4094]', mcast_querier: true, mcast_igmp_version: 3}]"
    goal = state_of(f"links: {{{text}}}")
    sent = kernel.counters.messages
    become(kernel, goal)
    assert kernel.counters.messages - sent < 60
    assert len(bridge_tells("ip", "netns", "exec", "engine")) == 4094
    assert not plan_now(kernel, goal, MINE)[0].steps
