# SPDX-License-Identifier: GPL-2.0-or-later
"""Spanning trees of bridges: where they are written, and what the kernel would refuse or leave shut."""

import pytest

from tests.config.reading import attrs, desired, keys, told

KEEPS = "vlan_filtering: on, mst_enabled: on"


def said(states: str, options: str = "{vid: 10, msti: 3}", bridge: str = KEEPS, more: str = "") -> str:
    """What is said of a bridge and, from column 11 of line 6 on, of the states of its port in trees."""
    return (
        f"links:\n  br: {{kind: bridge, {bridge},\n    vlan_global: [{options}]}}\n"
        f"  p1: {{kind: dummy, master: br, vlans: [10, 11],\n    mst: [\n          {states}]}}\n{more}"
    )


def test_ranges_are_one_object_for_each_tree() -> None:
    found = desired(
        said("{msti: '[3-5]', state: blocking}", "{vid: 10, msti: 3}, {vid: 11, msti: 4}, {vid: 1, msti: 5}")
    )
    assert keys(found, "mst") == [("p1", 3), ("p1", 4), ("p1", 5)]
    assert attrs(found, "mst", "p1", 4) == {"state": "blocking"}
    assert attrs(found, "vlan_global", "br", 11) == {"msti": 4}


OPEN = "{msti: 3, state: forwarding}"
CASES = [
    pytest.param(said("{msti: 3}"), "6:11: this mst needs 'state'", id="no_state"),
    pytest.param(
        said("{msti: 0, state: blocking}"),
        "6:18: msti: expected a whole number from 1 to 4094, not the text '0'",
        id="common_tree",
    ),
    pytest.param(
        said(OPEN.replace("forwarding", "open")),
        "6:28: state: expected one of disabled, listening, learning, forwarding, blocking, not the text 'open'",
        id="word",
    ),
    pytest.param(
        said(OPEN, bridge="vlan_filtering: on", options="{vid: 10}"),
        "6:11: 'br' keeps one spanning tree state for all VLANs, and takes none of 'p1' for tree 3; "
        "set mst_enabled of 'br'",
        id="bridge_without_trees",
    ),
    pytest.param(
        said("", bridge="vlan_filtering: on, mst_enabled: off"),
        "3:35: 'br' keeps one spanning tree state for all VLANs, and VLAN 10 would be shut; set mst_enabled of 'br'",
        id="vlan_in_a_tree_of_a_bridge_without",
    ),
    pytest.param(
        said(f"{OPEN}, {{msti: 4, state: blocking}}"),
        "6:48: no VLAN of 'p1' is in spanning tree 4, and it has no state there; "
        "put one into it, under `vlan_global` of 'br'",
        id="tree_without_vlans",
    ),
    pytest.param(
        said(OPEN, more="  p9: {master: br, vlans: [11], mst: [{msti: 3, state: blocking}]}\n"),
        "7:46: no VLAN of 'p9' is in spanning tree 3, and it has no state there; "
        "put one into it, under `vlan_global` of 'br'",
        id="hardware_without_vlans_in_the_tree",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, mst: [{msti: 3, state: blocking}]}\n",
        "2:26: 'd' is no port of a bridge; its ports have states in spanning trees, and nothing else has",
        id="no_port",
    ),
    pytest.param(
        said(OPEN, more="  p2: {kind: dummy, master: br, vlans: [10]}\n"),
        "3:35: warning: 'p2' is shut in spanning tree 3 from the moment on that VLAN 10 is in it; "
        "say its state under `mst` of 'p2'",
        id="port_that_was_forgotten",
    ),
    pytest.param(
        said(OPEN, more="  p[2-4]: {kind: dummy, master: br, vlans: [10]}\n"),
        "3:35: warning: 'p2' and 2 more are shut in spanning tree 3 from the moment on that VLAN 10 is in it; "
        "say their states under `mst` of each",
        id="ports_that_were_forgotten",
    ),
]
TAKEN = [
    pytest.param(said(OPEN), id="state_in_the_tree_of_a_vlan"),
    pytest.param(said("", more="  p2: {kind: dummy, master: br, vlans: [10]}\n"), id="states_that_a_daemon_tells"),
    pytest.param(said(OPEN, "{vid: 1, msti: 3}"), id="tree_of_the_default_vlan"),
    pytest.param(said("", "{vid: 10, msti: 0}", "vlan_filtering: on"), id="common_tree_of_any_bridge"),
    pytest.param(said("", bridge=f"{KEEPS}, mcast_snooping: off"), id="tree_where_no_multicast_is_learned"),
    pytest.param(
        "links: {br9: {vlan_global: [{vid: 7, msti: 2}]}, p9: {mst: [{msti: 2, state: learning}]}}\n", id="theirs"
    ),
    pytest.param(
        "links:\n  br9: {kind: bridge}\n  p1: {kind: dummy, master: br9, mst: [{msti: 2, state: learning}]}\n",
        id="bridge_that_was_there_before",
    ),
]


@pytest.mark.parametrize(("text", "want"), CASES)
def test_what_the_kernel_refuses_or_shuts_is_told_before(text: str, want: str) -> None:
    assert told(text, known=("p9",)) == [f"a.yaml:{want}"]


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_kernel_takes_is_taken(text: str) -> None:
    assert told(text, known=("br9", "p9")) == []
