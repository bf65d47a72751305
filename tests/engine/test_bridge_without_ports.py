# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bridge changes only while no port of it has a VLAN: its ports leave it, and come back."""

import pytest

from netgroupd.errors import ConfigError
from netgroupd.model.state import Object
from netgroupd.plan import present
from tests.engine.desk import Desk

BRIDGE = "links: {br0: {kind: bridge, up: true, vlan_filtering: true%s, ports: p}, p: {kind: dummy, up: true%s}}"
VLANS = ", vlans: [{vid: 5}]"


@pytest.mark.parametrize("option", ["mst_enabled", "vlan_stats_per_port"])
def test_ports_leave_a_bridge_for_what_it_changes_without_their_vlans(desk: Desk, option: str) -> None:
    desk.wants(BRIDGE % ("", VLANS))
    desk.engine.apply()
    desk.wants(BRIDGE % (f", {option}: true", VLANS))
    text = present.text(desk.engine.diff())
    assert f"# p leaves br0 for its `{option}` to change" in text
    assert "up" not in text  # neither goes down
    desk.engine.apply()
    assert ("p", 5) in desk.kernel.state.of("bridge_vlan")
    assert not desk.engine.diff().steps


def test_port_that_no_file_mentions_stays_in_its_bridge(desk: Desk) -> None:
    desk.wants(BRIDGE % ("", ""))
    desk.engine.apply()
    desk.kernel.state.add(Object("link", ("other",), {"kind": "dummy", "group": 0, "master": "br0"}))
    desk.wants(BRIDGE % (", mst_enabled: true", ""))
    with pytest.raises(ConfigError, match="`mst_enabled` of 'br0' cannot change while 'other' is its port"):
        desk.engine.diff()
