# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the VLANs of ports on a real kernel: set, changed, left alone, back after any refusal, and captured."""

import json
import subprocess
from typing import Any

import pytest

from netgroupd.engine.observe import look
from netgroupd.engine.transaction import plan_for, plan_now
from netgroupd.model.state import State
from netgroupd.plan.serialise import singles
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import MINE, Stumbling, become, ip, to_and_fro, told

BRIDGE = "br: {kind: bridge, up: true, mac: '02:00:00:00:00:01', vlan_filtering: true, mcast_vlan_snooping: %s, %s}"
OPTIONS = "{vid: '[10-14]', mcast_router: 2, mcast_max_groups: 7, neigh_suppress: true, state: learning}"


def said(vlans: str, learns: str = "true", more: str = "vlans: []", port: str = "master: br") -> State:
    text = f"links: {{{BRIDGE % (learns, more)}, p1: {{kind: dummy, up: true, {port}, vlans: [{vlans}]}}}}"
    return state_of(text)


def seen(netns: str = "engine") -> dict[tuple[str, int], dict[str, Any]]:
    """The VLANs as the kernel itself dumps them, which the ``bridge`` of Debian 12 tells only in part."""
    command = ["ip", "netns", "exec", netns, "bridge", "-d", "-j", "vlan", "show"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    return {
        (link["ifname"], vid): {**vlan, "vlan": 0, "vlanEnd": 0}
        for link in json.loads(shown.stdout or "[]")
        for vlan in link["vlans"]
        for vid in range(vlan["vlan"], vlan.get("vlanEnd", vlan["vlan"]) + 1)
    }


NO_LEARNING = "vlans: [12], vlan_global: [{vid: 12, mcast_snooping: false}]"
LEARNING = "vlans: [12], vlan_global: [{vid: 12, mcast_snooping: true}]"
WAYS = [
    pytest.param(said("'[10-14]'"), said(OPTIONS), id="options_come"),
    pytest.param(said(""), said(OPTIONS), id="options_come_with_their_vlans"),
    pytest.param(said(OPTIONS), said("{vid: '[10-14]', mcast_router: 0, mcast_max_groups: 0}"), id="options_change"),
    pytest.param(said(OPTIONS), said("'[10-11]'"), id="vlans_go"),
    pytest.param(said(OPTIONS), said("", port="master: null"), id="port_leaves"),
    pytest.param(said(OPTIONS), said("", "false"), id="bridge_learns_no_more"),
    pytest.param(said("'[10-14]'", "false"), said(OPTIONS), id="bridge_begins_to_learn"),
    pytest.param(
        said("12", more=NO_LEARNING), said("{vid: 12, mcast_max_groups: 7}", more=LEARNING), id="vlan_begins_to_learn"
    ),
    pytest.param(
        said("{vid: 12, mcast_max_groups: 7}", more=LEARNING), said("12", more=NO_LEARNING), id="vlan_learns_no_more"
    ),
    pytest.param(
        said("{vid: 12, mcast_max_groups: 7}", more=LEARNING), said("", more=NO_LEARNING), id="vlan_goes_as_it_ends"
    ),
    pytest.param(said("", more="vlans: []"), said("", more="vlans: [{vid: 9, mcast_router: 2}]"), id="bridge_itself"),
    pytest.param(said(OPTIONS), said(OPTIONS, more="vlan_stats_per_port: true"), id="port_leaves_and_comes_back"),
    pytest.param(said(OPTIONS), said("{vid: '[10-14]', mcast_router: 0}", more="vlan_default_pvid: 11"), id="default"),
    pytest.param(said("12, 13"), said("12, {vid: 13, neigh_suppress: true}"), id="neighbours_become_different"),
]


@pytest.mark.parametrize(("before", "after"), WAYS)
def test_options_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    to_and_fro(kernel, before, after, seen)


def test_range_is_one_message(kernel: Stumbling) -> None:
    become(kernel, said("'[10-14]'"))
    goal = said(OPTIONS)
    plan = plan_for(kernel, goal, look(kernel, goal, MINE), MINE)
    assert (len(plan.steps), len([*singles(plan.steps)])) == (1, 5)


def test_options_that_are_not_mentioned_any_more_stay(kernel: Stumbling) -> None:
    become(kernel, said(OPTIONS))
    assert not plan_now(kernel, said("'[10-14]'"), MINE)[0].steps


def test_vlan_becomes_what_the_one_before_it_is(kernel: Stumbling) -> None:
    become(kernel, said("{vid: 12, neigh_suppress: true, mcast_max_groups: 7}, 13"))
    become(kernel, said("{vid: '[12-13]', neigh_suppress: true, mcast_max_groups: 7}"))
    told("bridge", "vlan", "del", "dev", "p1", "vid", "12")
    have = options(kernel, 13)
    assert (have["mcast_max_groups"], have["neigh_suppress"]) == (7, True)


def options(kernel: Stumbling, vid: int) -> dict[str, object]:
    found = look(kernel, said(""), MINE).of("bridge_vlan")["p1", vid].attrs
    return {name: found.get(name) for name in ("mcast_router", "mcast_max_groups", "neigh_suppress", "state")}


def test_options_of_somebody_else_survive_that_their_port_leaves_for_a_moment(kernel: Stumbling) -> None:
    become(kernel, said(OPTIONS))
    before = options(kernel, 12)
    assert before == {"mcast_router": 2, "mcast_max_groups": 7, "neigh_suppress": True, "state": "learning"}
    become(kernel, said("'[10-14]'", more="vlan_stats_per_port: true"))
    assert options(kernel, 12) == before


def test_limit_does_not_hinder_a_bridge_that_learns_no_more_and_lets_its_ports_go(kernel: Stumbling) -> None:
    become(kernel, said(OPTIONS))
    become(kernel, said("'[10-14]'", "false", more="vlan_stats_per_port: true"))
    assert options(kernel, 12)["mcast_router"] == 2


def test_options_live_where_their_port_does(kernel: Stumbling) -> None:
    ip("netns add blue")
    try:
        text = (
            f"links: {{{BRIDGE % ('true', 'netns: blue')}, p1: {{kind: dummy, master: br, netns: blue, vlans: [%s]}}}}"
        )
        for value in (7, 9):
            goal = state_of(text % f"{{vid: 12, mcast_max_groups: {value}}}")
            become(kernel, goal)
            assert not plan_now(kernel, goal, MINE)[0].steps
    finally:
        ip("netns del blue")


LINKS = f"""
links:
  br: {{kind: bridge, up: true, vlan_filtering: true, mcast_vlan_snooping: true, vlans: [{{vid: 9, mcast_router: 0}}]}}
  p1: {{kind: dummy, up: true, master: br, vlans: [{OPTIONS.replace("learning", "forwarding")}]}}
"""


def test_capture_has_the_options(engine_in: EngineIn) -> None:
    engine_in("here", LINKS).apply()
    text = engine_in("here", LINKS).capture()
    assert "mcast_router: 2, mcast_max_groups: 7, neigh_suppress: true" in text
    assert "vlans: [{vid: 9, mcast_router: 0}]" in text
    assert not engine_in("here", text).diff().steps
    assert engine_in("here", text).capture() == text


def test_an_earlier_generation_has_the_options_that_it_did_not_mention(engine_in: EngineIn) -> None:
    engine_in("here", LINKS.replace("mcast_max_groups: 7, ", "")).apply()
    before = here("bridge -d vlan")
    engine_in("here", LINKS.replace("mcast_router: 2", "mcast_router: 0")).apply()
    engine_in("here", LINKS).rollback(1)
    assert here("bridge -d vlan") == before
