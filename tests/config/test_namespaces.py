# SPDX-License-Identifier: GPL-2.0-or-later
"""What links of other network namespaces cannot have to do with those of this one, and what is made along with them."""

import pytest

from tests.config.reading import desired, told

AWAY = (
    "belongs to the network namespace 'blue'; describe it in files of its own, and apply them with "
    "`netgroupctl --netns blue --config DIRECTORY`"
)
MISTAKES = [
    pytest.param(
        "links:\n  d: {kind: dummy, netns: /run/netns/blue}\n",
        "2:27: netns: expected the name of a network namespace, as `ip netns` lists it, up to 63 characters, not the "
        "text '/run/netns/blue'",
        id="network_namespace_that_is_a_path",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, netns: blue}\n  d: {kind: dummy, master: br}\n",
        "3:20: 'master' of 'd', which lives in this network namespace, cannot be 'br'; that is in the network "
        "namespace 'blue'",
        id="master_in_another_network_namespace",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy}\n  x: {kind: gre, local: 192.0.2.1, remote: 192.0.2.2, dev: d, netns: blue}\n",
        "3:55: 'dev' of 'x', which lives in the network namespace 'blue', cannot be 'd'; that is in this network "
        "namespace",
        id="tunnel_through_a_link_of_another_network_namespace",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, netns: blue}\nroutes:\n  - {to: 10.0.0.0/8, dev: d}\n",
        f"4:27: the route to 10.0.0.0/8 {AWAY}",
        id="route_in_another_network_namespace",
    ),
    pytest.param(
        "vrfs:\n  red: {table: 9, netns: blue}\nroutes:\n  - {to: 10.0.0.0/8, type: blackhole, vrf: red}\n",
        f"4:44: the table of VRF 'red' {AWAY}",
        id="vrf_of_another_network_namespace",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, netns: blue}\nrules:\n  - {pref: 9, iif: d, lookup: 7}\n",
        f"4:20: rule inet 9 iif d {AWAY}",
        id="rule_about_a_link_of_another_network_namespace",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, netns: blue}\nnexthops:\n  5: {dev: d}\n",
        f"4:12: nexthop 5 {AWAY}",
        id="nexthop_in_another_network_namespace",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, netns: blue}\ntc:\n  d: {qdiscs: [{kind: fq}]}\n",
        f"4:16: qdisc d root {AWAY}",
        id="qdisc_in_another_network_namespace",
    ),
    pytest.param(
        "links:\n  lo: {netns: blue}\n",
        "2:8: every network namespace has its own 'lo'; leave it here",
        id="loopback_in_another_network_namespace",
    ),
]


@pytest.mark.parametrize(("text", "want"), MISTAKES)
def test_what_cannot_reach_over_is_told_with_its_place(text: str, want: str) -> None:
    assert [each for each in told(text) if ": warning: " not in each] == [f"a.yaml:{want}"]


def places(text: str) -> dict[str, object]:
    """Where every link is to live."""
    return {link.name: link.attrs.get("netns") for link in desired(text).state.of("link").values()}


def test_vlan_that_is_made_as_a_port_lives_with_its_bridge() -> None:
    made = places("links:\n  br: {kind: bridge, netns: blue, ports: eth0.7}\n  eth0: {}\n")
    assert made == {"br": "blue", "eth0": None, "eth0.7": "blue"}


def test_other_end_of_a_cable_stays_here() -> None:
    assert places("links:\n  v0: {kind: veth, peer: v1, netns: blue}\n") == {"v0": "blue", "v1": None}


def test_namespaces_have_tables_and_addresses_of_their_own() -> None:
    text = """
vrfs: {red: {table: 9}, green: {table: 9, netns: blue}}
links: {d: {kind: dummy, addresses: [10.0.0.1/24]}, e: {kind: dummy, netns: blue, addresses: [10.0.0.1/24]}}
"""
    assert len(desired(text).state.of("address")) == 2
