# SPDX-License-Identifier: GPL-2.0-or-later
"""What is only warned of, and what is said nothing of."""

import pytest

from tests.config.reading import told

DOUBTFUL = [
    pytest.param(
        "links:\n  br: {kind: bridge, vlans: [5]}\n",
        "2:30: warning: 'br' does not tell VLANs apart; set vlan_filtering of 'br'",
        id="vlans_of_a_bridge_without_filtering",
    ),
    pytest.param(
        "groups:\n  a: {members: b}\n",
        "2:7: warning: group 'b' is not described; it is made, and has no attributes",
        id="member_that_nobody_describes",
    ),
    pytest.param(
        "vrfs:\n  a: {table: 254}\n",
        "2:7: warning: VRF 'a' has table 254, which is the table main of the host",
        id="vrf_of_the_main_table",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [10.0.0.0/24]}\n",
        "2:20: warning: 10.0.0.0/24 is the network address of its network",
        id="network_address",
    ),
    pytest.param(
        "links:\n  swp1: {master: br, addresses: [10.0.0.1/24]}\n  br: {kind: bridge}\n",
        "2:34: warning: 'swp1' has an address and is a port of the bridge 'br'; "
        "packets to it arrive at 'br': put it there",
        id="address_on_a_port",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, nhid: 5}\n",
        "2:26: warning: no file describes nexthop 5",
        id="nexthop_of_somebody_else",
    ),
]


@pytest.mark.parametrize(("text", "want"), DOUBTFUL)
def test_doubtful_thing_is_only_warned_of(text: str, want: str) -> None:
    assert told(text) == [f"a.yaml:{want}"]


FINE = [
    pytest.param(
        "links:\n  a: {kind: vlan, link: lo, id: 5}\n  b: {kind: vlan, link: lo, id: 5, protocol: 802.1ad}\n",
        id="one_id_in_two_protocols",
    ),
    pytest.param(
        "vrfs:\n  a: {table: 7, addresses: [10.0.0.1/32]}\n  b: {table: 8, addresses: [10.0.0.1/32]}\n",
        id="an_address_in_each_vrf",
    ),
    pytest.param(
        "links:\n  d[1-2]: {kind: dummy, addresses: ['fe80::1/64']}\n",
        id="a_link_local_address_on_each_link",
    ),
    pytest.param("links:\n  lo: {addresses: [10.0.0.0/31, 10.0.0.4/32]}\n", id="point_to_point_has_no_network_address"),
    pytest.param("links:\n  br: {kind: bridge, ports: d}\n  d: {kind: dummy, master: br}\n", id="said_on_both_sides"),
    pytest.param(
        "routes:\n- {to: default, dev: lo}\n- {to: default, dev: lo, family: inet6}\n",
        id="a_default_of_each_family",
    ),
    pytest.param("links: ~\nroutes:\n", id="empty_sections"),
]


@pytest.mark.parametrize("text", FINE)
def test_nothing_is_said_of(text: str) -> None:
    assert told(text) == []
