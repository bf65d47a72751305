# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranges of VLANs on bridges: a message each, and a refusal of the VLAN that it was about."""

import subprocess
from collections.abc import Iterator

import pytest

from netgroupd.engine.observe import Mine, look
from netgroupd.engine.record.generations import Content
from netgroupd.engine.transaction import plan_for
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object
from netgroupd.plan.named import text_of
from netgroupd.plan.step import Op, RangeStep, Step
from tests.engine.universe import state_of

MINE = Mine(classes=frozenset({"bridge_vlan"}))
TEXT = """
links:
  swp[1-2]: {kind: dummy, vlans: %s}
  br: {kind: bridge, vlan_filtering: true, vlan_default_pvid: 0, ports: "swp[1-2]", vlans: "[2-500]"}
  vx: {kind: vxlan, external: true, master: br, port: {vlan_tunnel: true}, vlans: %s}
"""
CHANGES = (
    ("'[2-1000]'", "{vid: '[v=5-900]', tunnel_id: '{v+100}'}"),
    ("[{vid: '[2-99]', untagged: true}, {vid: 100, pvid: true}, '[101-200]', '[300-900]']", "'[5-900]'"),
    (
        "{vid: '[5-8]', state: blocking}",
        "[{vid: '[v=5-300]', tunnel_id: '{v+2000}'}, {vid: '[301-303]', neigh_suppress: true}]",
    ),
    ("[]", "[]"),
)


@pytest.fixture
def kernel() -> Iterator[Kernels]:
    subprocess.run(["ip", "netns", "add", "ranges"], check=True)
    try:
        with Kernels("ranges") as kernel:
            yield kernel
    finally:
        subprocess.run(["ip", "netns", "del", "ranges"], check=True)


def test_a_range_is_one_message_and_reads_back(kernel: Kernels) -> None:
    ranges, mine = [], MINE
    for texts in CHANGES:
        goal = state_of(TEXT % texts)
        mine = mine.joined(Content(named=text_of(goal)))
        plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
        sent = kernel.counters.messages
        assert kernel.apply(plan.steps) == ()
        assert kernel.counters.messages - sent < 30
        assert not plan_for(kernel, goal, look(kernel, goal, mine), mine).steps
        ranges.append(sum(isinstance(step, RangeStep) for step in plan.steps))
    assert ranges == [4, 6, 11, 3]


def test_refusal_is_of_the_vlan_that_it_was_about(kernel: Kernels) -> None:
    goal = state_of(TEXT % ("[]", "[]"))
    kernel.apply(plan_for(kernel, goal, look(kernel, goal, MINE), MINE).steps)
    mapping = "vlan add dev vx vid 6 tunnel_info id 9"
    subprocess.run(["bridge", "-n", "ranges", "vlan", "add", "dev", "vx", "vid", "6"], check=True)
    subprocess.run(["bridge", "-n", "ranges", *mapping.split()], check=True)
    wanted = [Object("bridge_vlan", ("vx", vid), {"tunnel_id": vid + 100}) for vid in range(3, 9)]
    steps = tuple(Step(Op.CREATE, None, vlan, vlan.attrs) for vlan in wanted)
    (refused,) = kernel.apply([RangeStep(Op.CREATE, steps)])
    assert str(refused.refusal) == "create bridge_vlan vx vid 6: File exists"
    assert refused.step is steps[3]
    vlans = kernel.dump(Selection(frozenset({"bridge_vlan"}), frozenset({"vx"}))).of("bridge_vlan")
    tunnels = [vlans["vx", vid].attrs.get("tunnel_id") for vid in range(3, 9)]
    assert tunnels == [103, 104, 105, 9, None, None]
