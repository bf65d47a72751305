# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast groups of bridge ports: where they are written, and what the kernel would not take."""

import pytest

from tests.config.reading import attrs, desired, keys, told

PORTS = "  p1: {kind: dummy, master: br, up: on}\n  p2: {kind: dummy, master: br, up: on}\n  d: {kind: dummy}\n"


def said(entry: str, bridge: str = "") -> str:
    """One entry, from column 6 of line 6 on, of a bridge with two ports."""
    return f"links:\n  br: {{kind: bridge, up: on{bridge}}}\n{PORTS}mdb: [{{{entry}}}]\n"


def test_groups_are_written_under_their_bridge_or_in_a_section() -> None:
    text = (
        "links:\n  br: {kind: bridge, up: on, ports: 'p[1-2]', mdb: [{port: 'p[1-2]', group: '239.1.1.[1-2]'}]}\n"
        "  p[1-2]: {kind: dummy}\nmdb:\n- {dev: br, port: br, group: '01-00-00-00-00-0A', vid: 0}\n"
    )
    found = desired(text)
    assert keys(found, "mdb") == [
        ("br", "br", "01:00:00:00:00:0a", 0, None),
        *(("br", port, f"239.1.1.{last}", 0, None) for port in ("p1", "p2") for last in (1, 2)),
    ]


def test_bridges_of_a_range_have_groups_of_their_own() -> None:
    text = (
        "links:\n  br[v=5-6]: {kind: bridge, up: on, vlan_filtering: on, ports: 'p{v}',\n"
        "    mdb: [{port: 'p{v}', group: '{239.1.1.0+v}', vid: '[v, 7]'}]}\n  p[5-6]: {kind: dummy}\n"
    ).replace("'[v, 7]'", "'[6-7]'")
    assert keys(desired(text), "mdb") == [
        (f"br{number}", f"p{number}", f"239.1.1.{number}", vid, None) for number in (5, 6) for vid in (6, 7)
    ]


def test_senders_are_a_set_and_can_be_taken_away() -> None:
    speaks = ", mcast_igmp_version: 3"
    listing = said("dev: br, port: p1, group: 239.1.1.1, source_list: [10.0.0.2, 10.0.0.1, 10.0.0.2]", speaks)
    assert attrs(desired(listing), "mdb", "br", "p1", "239.1.1.1", 0, None) == {"source_list": ("10.0.0.1", "10.0.0.2")}
    none = said("dev: br, port: p1, group: 239.1.1.1, source_list: null", speaks)
    assert attrs(desired(none), "mdb", "br", "p1", "239.1.1.1", 0, None) == {"source_list": None}


SPEAKS = ", mcast_igmp_version: 3, mcast_mld_version: 2"
P1 = "dev: br, port: p1, group: 239.1.1.1"
GROUP = "a multicast group: an IPv4 or IPv6 address, or a MAC address like 01:00:00:00:00:05"
ANOTHER = "expected another group than 224.0.0.0/24 and ff02::1, which the kernel sends to all ports"
TOO_MANY = ", ".join(f"10.0.0.{last}" for last in range(1, 33))
REFUSED = [
    pytest.param(
        said("dev: br, port: p1, group: 10.0.0.1"),
        f"6:34: group: expected {GROUP}, not the text '10.0.0.1'",
        id="no_group",
    ),
    pytest.param(
        said("dev: br, port: p1, group: '02:00:00:00:00:01'"),
        f"6:34: group: expected {GROUP}, whose first byte is odd, not the text '02:00:00:00:00:01'",
        id="mac_of_a_host",
    ),
    pytest.param(
        said("dev: br, port: p1, group: 224.0.0.5"),
        f"6:34: group: {ANOTHER}, not the text '224.0.0.5'",
        id="group_of_a_link",
    ),
    pytest.param(
        said("dev: br, port: p1, group: 'ff02::1'"),
        f"6:34: group: {ANOTHER}, not the text 'ff02::1'",
        id="all_nodes",
    ),
    pytest.param(said("dev: br, group: 239.1.1.1"), "6:7: this mdb needs 'port'", id="no_port"),
    pytest.param(
        said("dev: br, port: p7, group: 239.1.1.1"),
        "6:23: there is no link 'p7', for mdb br p7 239.1.1.1; name it under `links`",
        id="port_that_is_not_there",
    ),
    pytest.param(
        said("dev: d, port: p1, group: 239.1.1.1"),
        "6:13: 'd' is no bridge; a port's groups are written under `mdb` of its bridge, with `port`",
        id="no_bridge",
    ),
    pytest.param(
        said("dev: br, port: d, group: 239.1.1.1"),
        "6:23: 'd' is no port of the bridge 'br'; name it in `ports` of 'br'",
        id="port_of_no_bridge",
    ),
    pytest.param(
        said("dev: br, port: br, group: 239.1.1.1"),
        "6:23: 'br' itself cannot be in 239.1.1.1 for good: the kernel forgets that after some minutes; "
        "name a port of it, or give it the address of the group under `addresses`, with `autojoin: true`",
        id="bridge_itself",
    ),
    pytest.param(
        said("dev: br, port: p1, group: '01:00:00:00:00:05', src: 10.0.0.1"),
        "6:60: 01:00:00:00:00:05 is no group of IP, and has no 'src'",
        id="sender_of_a_mac",
    ),
    pytest.param(
        said(f"{P1}, src: '2001:db8::1'", SPEAKS),
        "6:50: 239.1.1.1 is a group of IPv4, and 2001:db8::1 is not of that",
        id="sender_of_another_protocol",
    ),
    pytest.param(
        said(f"{P1}, src: 239.1.1.2", SPEAKS), "6:50: 239.1.1.2 is a group, and cannot be a sender", id="sender"
    ),
    pytest.param(
        said(f"{P1}, source_list: ['ff05::1']", SPEAKS),
        "6:58: 239.1.1.1 is a group of IPv4, and ff05::1 is not of that",
        id="listed_sender",
    ),
    pytest.param(
        said(f"{P1}, src: 10.0.0.1, filter_mode: exclude", SPEAKS),
        "6:73: an entry for the sender 10.0.0.1 has no 'filter_mode'; leave one of them out",
        id="mode_for_one_sender",
    ),
    pytest.param(
        said(f"{P1}, filter_mode: include", SPEAKS),
        "6:58: an entry that includes no sender is for none; list some in `source_list`",
        id="no_sender",
    ),
    pytest.param(
        said(f"{P1}, source_list: [{TOO_MANY}]", SPEAKS),
        "6:58: these are 32 senders; the kernel takes 31",
        id="too_many_senders",
    ),
    pytest.param(
        said(f"{P1}, source_list: 10.0.0.1"),
        "6:58: 'br' looks at no senders of 239.1.1.1; set mcast_igmp_version of 'br' to 3",
        id="igmp_without_senders",
    ),
    pytest.param(
        said("dev: br, port: p1, group: 'ff05::5', filter_mode: exclude"),
        "6:58: 'br' looks at no senders of ff05::5; set mcast_mld_version of 'br' to 2",
        id="mld_without_senders",
    ),
    pytest.param(
        said(P1, ", mcast_snooping: off"),
        "6:34: 'br' sends all multicast to all ports, and takes no group: its 'mcast_snooping' is off; "
        "leave `mcast_snooping` out",
        id="no_snooping",
    ),
    pytest.param(
        said(P1, ", vlan_filtering: on"),
        "6:7: 'br' tells VLANs apart, and 239.1.1.1 is in none; say in which: vid: 1",
        id="no_vlan",
    ),
    pytest.param(
        said(f"{P1}, vid: 7", ", vlan_filtering: on, mcast_vlan_snooping: on"),
        "6:50: 'br' learns multicast for each VLAN, and is not in VLAN 7 itself; name it under `vlans` of 'br'",
        id="vlan_that_the_bridge_is_not_in",
    ),
    pytest.param(
        said(f"{P1}, source_list: 10.0.0.1}}, {{{P1}, src: 10.0.0.1", SPEAKS),
        "6:58: 10.0.0.1 has an entry of its own for 239.1.1.1 on 'p1'; leave it out here, or there: a.yaml:6",
        id="sender_that_is_listed",
    ),
    pytest.param(
        said("dev: br, port: 'p[1-2]', group: '239.1.1.[1-5]'", ", mcast_hash_max: 4"),
        "6:40: 'br' would be told 5 groups, and ceases to look at any behind 4; "
        "set mcast_hash_max of 'br' to more, such as 8",
        id="too_many_groups",
    ),
]
LEARNS = "vlan_filtering: on, mcast_vlan_snooping: on"
DOUBTFUL = [
    pytest.param(
        said(P1).replace("bridge, up: on", "bridge"),
        "6:7: warning: nothing sets 'br' up, and it is told the group 239.1.1.1; the kernel refuses that",
        id="bridge_that_is_down",
    ),
    pytest.param(
        said(f"{P1}, vid: 7"),
        "6:50: warning: 'br' does not tell VLANs apart; leave `vid` out, or set vlan_filtering of 'br'",
        id="vlan_without_filtering",
    ),
    pytest.param(
        said(f"{P1}, src: 10.0.0.1"),
        "6:50: warning: 'br' looks at no senders of 239.1.1.1; set mcast_igmp_version of 'br' to 3",
        id="sender_that_nobody_looks_at",
    ),
    pytest.param(
        said(f"{P1}, vid: 1, src: 10.0.0.1", f"{SPEAKS}, {LEARNS}, vlan_global: [{{vid: 1, mcast_mld_version: 2}}]"),
        "6:58: warning: 'br' looks at no senders of 239.1.1.1 in VLAN 1; "
        "set mcast_igmp_version of VLAN 1 to 3, under `vlan_global` of 'br'",
        id="sender_that_nobody_looks_at_in_a_vlan",
    ),
]
TAKEN = [
    pytest.param(said("dev: br, port: br, group: '01:00:00:00:00:05'"), id="bridge_in_a_group_by_mac"),
    pytest.param(said(f"{P1}, vid: 1", ", vlan_filtering: on, mcast_vlan_snooping: on"), id="default_vlan"),
    pytest.param(
        said(f"{P1}, vid: 7", ", vlan_filtering: on, mcast_vlan_snooping: on, vlans: [7]"), id="vlan_of_the_bridge"
    ),
    pytest.param(
        said(f"{P1}, source_list: 10.0.0.1, filter_mode: include}}, {{{P1[:-1]}2, src: 10.0.0.1", SPEAKS),
        id="sender_of_another_group",
    ),
    pytest.param(
        said(
            f"{P1}, vid: 1, source_list: 10.0.0.1",
            f"{SPEAKS}, {LEARNS}, vlan_global: [{{vid: 1, mcast_igmp_version: 3}}]",
        ),
        id="sender_in_a_vlan_where_it_is_looked_at",
    ),
    pytest.param(said("dev: br, port: p1, group: '239.1.1.[1-4]'", ", mcast_hash_max: 4"), id="as_many_as_fit"),
    pytest.param("mdb: [{dev: br9, port: eth9, group: 239.1.1.1}]\n", id="bridge_of_somebody_else"),
]


@pytest.mark.parametrize(("text", "want"), [*REFUSED, *DOUBTFUL])
def test_what_the_kernel_does_not_take_is_told_before(text: str, want: str) -> None:
    assert told(text) == [f"a.yaml:{want}"]


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_kernel_takes_is_taken(text: str) -> None:
    assert told(text, known=("br9", "eth9")) == []
