# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bridge changes only while no port of it has a VLAN, on a real kernel."""

import pytest

from netgroupd.engine.observe import look
from netgroupd.engine.snapshot import Snapshot
from netgroupd.engine.transaction import converge, plan_for, plan_now, put_back
from netgroupd.errors import KernelError
from tests.engine.universe import state_of
from tests.vm.stumbling import MINE, Stumbling, become, there

pytestmark = pytest.mark.vm(cpus=1)

BRIDGE = """
links:
  br0: {kind: bridge, up: true, vlan_filtering: true, addresses: [192.0.2.1/24], ports: 'p[1-2]'%s}
  p[1-2]: {kind: dummy, up: true, port: {cost: 7}, vlans: [{vid: '[5-9]'}, {vid: 10, pvid: true, untagged: true}]}
fdb: [{dev: p1, mac: "02:00:00:00:00:09", vlan: 5}]
routes: [{to: default, via: 192.0.2.9, dev: br0}]
"""


@pytest.mark.parametrize("option", ["mst_enabled", "vlan_stats_per_port"])
def test_ports_come_back_with_all_that_they_had(kernel: Stumbling, option: str) -> None:
    become(kernel, state_of(BRIDGE % ""))
    goal = state_of(BRIDGE % f", {option}: true")
    actual = look(kernel, goal, MINE)
    plan, before = plan_for(kernel, goal, actual, MINE), there(kernel, goal)
    snapshot = Snapshot.from_json(Snapshot.of(plan, actual).to_json())
    for nth in range(len(plan.steps)):
        kernel.stumbles_at = nth
        with pytest.raises(KernelError):
            converge(kernel, plan, goal, MINE)
        put_back(kernel, snapshot, MINE)
        assert there(kernel, goal) == before
    become(kernel, goal)
    assert not plan_now(kernel, goal, MINE)[0].steps
    put_back(kernel, snapshot, MINE)
    assert there(kernel, goal) == before
