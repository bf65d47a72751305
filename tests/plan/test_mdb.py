# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast groups in a plan: with their bridges and ports, in their order, and as operators read them."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.named import text_of
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Op, Plan, Step
from tests.engine.universe import state_of

MAC = "01:00:00:00:00:05"
OWN = Object("mdb", ("br", "br", MAC, 0, None), {})
OF_P1, OF_P2 = (Object("mdb", ("br", port, MAC, 0, None), {}) for port in ("p1", "p2"))
IP = Object("mdb", ("br", "p1", "239.1.1.1", 7, None), {"filter_mode": "exclude"})
PORTS = "p1: {kind: dummy, master: br}, p2: {kind: dummy, master: br}"
BRIDGE = "br: {kind: bridge, up: true}"


def actual(*entries: Object, **bridge: object) -> State:
    """A bridge with two ports, and its groups."""
    ours: dict[str, object] = {"group": 0x4E47_0000}
    links = {
        "br": {"kind": "bridge", "up": True, **ours, **bridge},
        "p1": {"kind": "dummy", "up": False, "master": "br", **ours},
        "p2": {"kind": "dummy", "up": False, "master": "br", **ours},
    }
    return State((*(Object("link", (name,), attrs) for name, attrs in links.items()), *entries))  # type: ignore[arg-type]


def planned(have: State, entries: str = "", links: str = f"{BRIDGE}, {PORTS}") -> Plan:
    text = f"links: {{{links}}}\nmdb: [{entries}]\n"
    return assemble(state_of(text), have, Owned(frozenset({0x4E47_0000}), named=(text_of(have),)))


def said(plan: Plan) -> list[str]:
    """What is done, one word for each object that it is done to."""
    steps = (step for step in plan.steps if isinstance(step, Step))
    return [f"{step.op} {step.object.key[1] if step.object.cls == 'mdb' else step.object.name}" for step in steps]


def test_bridge_leaves_before_its_ports_and_joins_behind_them() -> None:
    both = f"{{dev: br, port: br, group: '{MAC}'}}, {{dev: br, port: p1, group: '{MAC}'}}"
    assert said(planned(actual(), both)) == ["create p1", "create br"]
    assert said(planned(actual(OF_P1, OWN))) == ["delete br", "delete p1"]
    assert said(planned(actual(OWN, OF_P1))) == ["delete br", "delete p1"]


def test_bridge_joins_again_when_a_port_leaves() -> None:
    own = f"{{dev: br, port: br, group: '{MAC}'}}"
    plan = planned(actual(OWN, OF_P1), own)
    assert said(plan) == ["delete p1", "change br"]
    assert present.text(plan).splitlines()[1].split() == f"~ mdb br br {MAC} # p1 leaves {MAC}".split()
    left = planned(actual(OWN, OF_P1), own, f"{BRIDGE}, {PORTS.replace('master: br', 'master: null', 1)}")
    assert said(left)[-1] == "change br"


def test_bridge_stays_when_a_port_leaves_another_group() -> None:
    own = f"{{dev: br, port: br, group: '{MAC}'}}"
    other = OF_P1._replace(key=(*OF_P1.key[:3], 7, None))
    assert said(planned(actual(OWN, other), own)) == ["delete p1"]


def test_entry_that_goes_with_its_port_or_its_bridge_is_not_deleted() -> None:
    assert said(planned(actual(IP), links=f"{BRIDGE}, p2: {{kind: dummy, master: br}}")) == ["delete p1"]
    without = planned(actual(IP), links=PORTS.replace(", master: br", ""))
    assert {step.object.cls for step in without.steps if isinstance(step, Step)} == {"link"}


def test_entry_comes_back_with_its_port() -> None:
    entry = "{dev: br, port: p1, group: 239.1.1.1, vid: 7}"
    links = f"{BRIDGE[:-1]}, vlan_filtering: true}}, {PORTS.replace('kind: dummy', 'kind: ifb', 1)}"
    plan = planned(actual(IP, vlan_filtering=True), entry, links)
    assert [(step.op, step.object.cls) for step in plan.steps if isinstance(step, Step)][-1] == (Op.CHANGE, "mdb")
    assert [step.object.cls for step in plan.steps if isinstance(step, Step) and step.op is Op.DELETE] == ["link"]


def test_entry_comes_back_when_its_port_leaves_for_the_bridge_to_change() -> None:
    entry = "{dev: br, port: p1, group: 239.1.1.1, vid: 7}"
    links = f"{BRIDGE[:-1]}, vlan_filtering: true, mst_enabled: true}}, {PORTS}"
    plan = planned(actual(IP, vlan_filtering=True, mst_enabled=False), entry, links)
    assert said(plan)[-1] == "change p1"
    assert present.text(plan).splitlines()[-2].endswith("# p1 leaves br for its `mst_enabled` to change")


def test_groups_of_many_ports_are_one_line() -> None:
    plan = planned(actual(), '{dev: br, port: "p[1-2]", group: "239.1.1.[1-3]"}')
    assert present.text(plan).splitlines()[0].split() == ["+", "mdb", "br", "p[1-2]", "239.1.1.[1-3]", "(6)"]


@pytest.mark.parametrize("shut", [{"up": False}, {"mcast_snooping": False}], ids=["down", "does_not_look"])
def test_groups_go_from_a_shut_bridge_when_it_is_open_again(shut: dict[str, object]) -> None:
    links = f"{BRIDGE[:-1]}, mcast_snooping: true}}, {PORTS}"
    assert said(planned(actual(OF_P1, **{"mcast_snooping": True, **shut}), links=links)) == ["change br", "delete p1"]


def test_groups_go_from_a_bridge_before_it_is_shut() -> None:
    links = f"{BRIDGE.replace('true', 'false')}, {PORTS}"
    assert said(planned(actual(OF_P1), links=links)) == ["delete p1", "change br"]


def test_lists_change_in_place() -> None:
    have = IP._replace(attrs={"filter_mode": "exclude", "source_list": ("10.0.0.1",)})
    entry = "{dev: br, port: p1, group: 239.1.1.1, vid: 7, filter_mode: include, source_list: 10.0.0.2}"
    links = f"{BRIDGE[:-1]}, vlan_filtering: true, mcast_igmp_version: 3}}, {PORTS}"
    there = actual(have, vlan_filtering=True, mcast_igmp_version=3)
    told = " ".join(present.text(planned(there, entry, links)).splitlines()[0].split())
    changes = "filter_mode exclude -> include source_list 10.0.0.1 -> 10.0.0.2"
    assert told == f"~ mdb br p1 239.1.1.1 vid 7 {changes}"


def test_what_somebody_else_made_becomes_netgroupds_in_place() -> None:
    theirs = OF_P1._replace(attrs={UNOWNED: 4})
    plan = planned(actual(theirs), f"{{dev: br, port: p1, group: '{MAC}'}}")
    assert present.text(plan).splitlines()[0].endswith("# it is there, and becomes netgroupd's")
    assert said(plan) == ["change p1"]
