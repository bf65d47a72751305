# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bridge changes only while no port of it has a VLAN, on a real kernel."""

import pytest

from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, there_and_back

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
    there_and_back(kernel, state_of(BRIDGE % f", {option}: true"), refused=True)
