# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bridge changes only while no port of it has a VLAN, and what follows from its VLANs, on a real kernel."""

import pytest

from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, there_and_back, told

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


_TAGGED = "links: {br: {kind: bridge, vlan_filtering: true, vlan_protocol: %s%s}}"


def _group() -> str:
    return told("ip", "-d", "link", "show", "br").partition("group_address ")[2].split()[0]


@pytest.mark.parametrize("after", ["links: {br: {kind: dummy}}", _TAGGED % ("802.1q", "")], ids=["gone", "tagged"])
def test_group_of_a_bridge_goes_with_its_tag_after_it_was_put_back(kernel: Stumbling, after: str) -> None:
    provider = state_of(_TAGGED % ("802.1ad", ""))
    become(kernel, provider)
    there_and_back(kernel, state_of(after), _group, refused=True)
    become(kernel, state_of(_TAGGED % ("802.1q", "")))
    assert _group() == "01:80:c2:00:00:00"
    there_and_back(kernel, provider, _group, refused=True)
    become(kernel, provider)
    assert _group() == "01:80:c2:00:00:08"


def test_group_of_a_bridge_that_nobody_chose_for_its_tag_comes_back(kernel: Stumbling) -> None:
    become(kernel, state_of(_TAGGED % ("802.1ad", ", group_address: '01:80:c2:00:00:00'")))
    there_and_back(kernel, state_of("links: {br: {kind: dummy}}"), refused=True)
    become(kernel, state_of(_TAGGED % ("802.1q", "")))
    become(kernel, state_of(_TAGGED % ("802.1ad", ", group_address: '01:80:c2:00:00:08'")), at_once=False)
    assert _group() == "01:80:c2:00:00:08"
