# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of VLANs of bridges: where they are written, and what the kernel would refuse or have no use for."""

import pytest

from tests.config.reading import attrs, desired, keys, told

LEARNS = "vlan_filtering: on, mcast_vlan_snooping: on"


def said(options: str, bridge: str = LEARNS, more: str = "", port: str = "") -> str:
    """What is said of VLANs, from column 18 of line 3 on, of a bridge that is in VLAN 10 and has a port in VLAN 20."""
    return (
        f"links:\n  br: {{kind: bridge, {bridge}, vlans: [10],\n    vlan_global: [{options}]}}\n"
        f"  p1: {{kind: dummy, master: br, vlans: [20{port}]}}\n  d: {{kind: dummy}}\n{more}"
    )


def test_ranges_are_one_object_for_each_vlan() -> None:
    text = (
        "links:\n  br[v=5-6]: {kind: bridge, vlan_filtering: on, mcast_vlan_snooping: on, vlans: '[10-12]',\n"
        "    vlan_global: [{vid: '[10-11]', mcast_querier: on}, {vid: 12, mcast_query_interval: '{v*100}'}]}\n"
    )
    found = desired(text)
    assert keys(found, "vlan_global") == [(f"br{number}", vid) for number in (5, 6) for vid in (10, 11, 12)]
    assert attrs(found, "vlan_global", "br5", 11) == {"mcast_querier": True}
    assert attrs(found, "vlan_global", "br6", 12) == {"mcast_query_interval": 600}


REFUSED = [
    pytest.param(said("{mcast_querier: on}"), "3:19: this vlan_global needs 'vid'", id="no_vlan"),
    pytest.param(
        said("{vid: 4095}"), "3:25: vid: expected a whole number from 1 to 4094, not the text '4095'", id="vlan"
    ),
    pytest.param(
        said("{vid: 10, mcast_igmp_version: 1}"),
        "3:49: mcast_igmp_version: expected a whole number from 2 to 3, not the text '1'",
        id="version_of_igmp",
    ),
    pytest.param(
        said("{vid: 10, mcast_query_interval: 99}"),
        "3:51: mcast_query_interval: expected a whole number from 100 to 8640000, in hundredths of a second, "
        "not the text '99'",
        id="interval_that_the_kernel_would_make_another_of",
    ),
    pytest.param(
        said("{vid: 30, mcast_querier: on}"),
        "3:25: neither 'br' nor a port of it is in VLAN 30; name it under `vlans` of 'br', or of a port",
        id="vlan_that_nobody_is_in",
    ),
    pytest.param(
        said("{vid: 1, mcast_querier: on}", f"{LEARNS}, vlan_default_pvid: 0"),
        "3:25: neither 'br' nor a port of it is in VLAN 1; name it under `vlans` of 'br', or of a port",
        id="no_default_vlan",
    ),
    pytest.param(
        said("{vid: 10, mcast_querier: on}, {vid: 10, mcast_querier: off}"),
        "3:74: mcast_querier of vlan global br 10 is another elsewhere; the other is at a.yaml:3",
        id="twice",
    ),
    pytest.param(
        "links:\n  d:\n    kind: dummy\n    vlan_global: [{vid: 1, mcast_querier: on}]\n",
        "4:19: 'd' is no bridge; what holds for all ports in a VLAN is said of their bridge",
        id="no_bridge",
    ),
    pytest.param(
        said("{vid: 10, mcast_snooping: off}", more="mdb: [{dev: br, port: p1, group: 239.1.1.1, vid: 10}]\n").replace(
            "vlan_filtering", "up: on, vlan_filtering"
        ),
        "6:50: 'br' sends all multicast of VLAN 10 to all ports, and takes no group there; "
        "leave `mcast_snooping` out: a.yaml:3",
        id="group_in_a_vlan_that_learns_none",
    ),
    pytest.param(
        said("", f"{LEARNS}, mst_enabled: on", port=", {vid: 21, state: blocking}"),
        "4:62: 'br' has a state for each spanning tree, and takes no state for VLAN 21 of 'p1'; "
        "say it of a tree, under `mst` of 'p1', or leave out mst_enabled of 'br'",
        id="state_of_a_vlan_where_trees_have_some",
    ),
    pytest.param(
        said("", "vlan_filtering: on, mcast_vlan_snooping: off", port=", {vid: 21, mcast_max_groups: 9}"),
        "4:73: 'br' does not learn multicast for each VLAN, and takes no number of groups for VLAN 21 of 'p1'; "
        "set mcast_vlan_snooping of 'br'",
        id="number_of_groups_where_none_are_learned_for_each_vlan",
    ),
    pytest.param(
        said("{vid: 21, mcast_snooping: off}", port=", {vid: 21, mcast_max_groups: 9}"),
        "4:73: 'br' sends all multicast of VLAN 21 to all ports, and takes no number of groups for VLAN 21 of 'p1'; "
        "leave `mcast_snooping` out: a.yaml:3",
        id="number_of_groups_in_a_vlan_that_learns_none",
    ),
    *(
        pytest.param(
            said("", f"{LEARNS}, vlans: [{{vid: 9, {option}}}]").replace("vlans: [10],\n", "\n"),
            f"2:{86 + len(option.partition(':')[0])}: {why}",
            id=f"{option.partition(':')[0]}_of_a_bridge",
        )
        for option, why in (
            (
                "neigh_suppress: on",
                "'br' is a bridge, and only its ports have 'neigh_suppress' in a VLAN; say it of a port",
            ),
            ("tunnel_id: 7", "'br' is a bridge, and only its ports have 'tunnel_id' in a VLAN; say it of a port"),
            (
                "mcast_max_groups: 7",
                "'br' is a bridge, and only its ports have 'mcast_max_groups' in a VLAN; say it of a port",
            ),
            ("mcast_router: 3", "'br' is a bridge, and takes 0, 1 or 2"),
        )
    ),
    *(
        pytest.param(
            f"links:\n  br: {{kind: bridge, vlan_filtering: on}}\n"
            f"  p1: {{kind: dummy, master: br, {port}vlans: [{{vid: 20, tunnel_id: 7}}]}}\n",
            f"3:{62 + len(port)}: 'p1' maps no VLANs to tunnels, and takes none for VLAN 20; "
            "say of it port: {vlan_tunnel: true}",
            id=f"tunnel_of_a_port_with_{port or 'nothing'}",
        )
        for port in ("", "port: {vlan_tunnel: off}, ")
    ),
]
DOUBTFUL = [
    pytest.param(
        "links:\n  br: {kind: bridge, mcast_vlan_snooping: on}\n",
        "2:22: warning: 'br' is to learn multicast for each VLAN, and does not tell VLANs apart; "
        "the kernel refuses that: set vlan_filtering of 'br'",
        id="bridge_that_knows_no_vlans",
    ),
    pytest.param(
        said("{vid: 10, mcast_querier: on}", "vlan_filtering: on"),
        "3:19: warning: 'br' learns multicast for all VLANs together; set mcast_vlan_snooping of 'br'",
        id="bridge_that_learns_for_all_vlans",
    ),
    pytest.param(
        said("{vid: 10, mcast_querier: on}", f"{LEARNS}, mcast_snooping: off"),
        "3:19: warning: 'br' sends all multicast to all ports: its 'mcast_snooping' is off; leave `mcast_snooping` out",
        id="bridge_that_learns_nothing",
    ),
    pytest.param(
        said("{vid: '[1,10]', mcast_snooping: off, mcast_querier: on}"),
        "3:71: warning: 'br' sends all multicast of VLAN 1 to all ports, and has no use for 'mcast_querier'; "
        "leave one of them out",
        id="vlan_that_learns_nothing",
    ),
    pytest.param(
        said("", f"{LEARNS}, stp: on", port=", {vid: 21, state: blocking}"),
        "4:62: warning: 'br' speaks the spanning tree protocol, and takes no state for VLAN 21 of 'p1'; "
        "the kernel refuses that, unless a daemon speaks it instead",
        id="state_of_a_vlan_where_the_bridge_speaks_stp",
    ),
    pytest.param(
        said("", "vlan_filtering: on", port=", {vid: 21, mcast_max_groups: 9}"),
        "4:73: warning: no file has 'br' learn multicast for each VLAN; else it takes no number of groups for one; "
        "the kernel refuses that: set mcast_vlan_snooping of 'br'",
        id="number_of_groups_where_nothing_says_how_they_are_learned",
    ),
    pytest.param(
        said("", port=", {vid: 21, mcast_router: 3}"),
        "4:69: warning: 'p1' has it for some minutes, and is then asked again: the kernel makes it 1; 2 is for good",
        id="router_for_some_minutes",
    ),
]
TAKEN = [
    pytest.param(said("{vid: '[1,10,20]', mcast_querier: on}"), id="vlans_of_the_bridge_or_a_port"),
    pytest.param(said("{vid: 5, mcast_querier: on}", f"{LEARNS}, vlan_default_pvid: 5"), id="default_vlan"),
    pytest.param(said("{vid: 10, mcast_snooping: off}"), id="vlan_that_learns_nothing"),
    pytest.param("links: {br9: {vlan_global: [{vid: 7, mcast_querier: on}]}}\n", id="bridge_of_somebody_else"),
    pytest.param(said("", port=", {vid: 21, state: blocking}"), id="state_of_a_vlan"),
    pytest.param(
        said("", port=", {vid: 21, mcast_max_groups: 9, mcast_router: 2}"), id="multicast_of_a_port_in_a_vlan"
    ),
    pytest.param(said("").replace("[10],", "[{vid: 10, mcast_router: 2}],"), id="multicast_of_a_bridge_in_a_vlan"),
    pytest.param("links: {br9: {vlans: [{vid: 7, mcast_max_groups: 4}]}}\n", id="limit_of_somebody_elses_port"),
]


def test_nothing_is_said_of_vlans_of_a_bridge_without_filtering_twice() -> None:
    lacking = told(said("{vid: 10, mcast_querier: on}", "vlan_filtering: off"))
    assert [line for line in lacking if ":3:" in line] == [
        "a.yaml:3:19: warning: 'br' learns multicast for all VLANs together; "
        "set vlan_filtering and mcast_vlan_snooping of 'br'"
    ]


def test_number_of_groups_needs_a_bridge_that_knows_vlans() -> None:
    assert [
        line for line in told(said("", "vlan_filtering: off", port=", {vid: 21, mcast_max_groups: 9}")) if "21" in line
    ][:1] == [
        "a.yaml:4:73: 'br' does not learn multicast for each VLAN, and takes no number of groups for VLAN 21 of 'p1'; "
        "set vlan_filtering of 'br'"
    ]


@pytest.mark.parametrize(("text", "want"), [*REFUSED, *DOUBTFUL])
def test_what_the_kernel_refuses_or_does_not_look_at_is_told_before(text: str, want: str) -> None:
    assert told(text) == [f"a.yaml:{want}"]


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_kernel_takes_is_taken(text: str) -> None:
    assert told(text, known=("br9",)) == []
