# SPDX-License-Identifier: GPL-2.0-or-later
"""Bridges and their ports.  Times are in hundredths of a second, as ``ip`` has them."""

from collections.abc import Mapping

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.kinds.vlan import PROTOCOL
from netgroupd.model.value import FLAG, LINK, MAC, U16, U32, Type, Value, flag, number

_TICKS = "hundredths of a second"
INTERVAL = number(64, 0, 0x7FFFFFFF, unit=_TICKS)
BETWEEN_QUERIES = number(64, 100, 8_640_000, unit=_TICKS)  # the kernel takes the nearest of these for any other

_VACANT = Change.VACANT  # of any VLAN of a port: each is given the one of untagged frames when it comes


def _groups(barred: int) -> Type:
    """A bit for each link-local group, but for those that no bridge forwards: spanning tree, pause frames, LACP."""
    expected = f"{U16.expected}, without the bits {barred:#06x}"

    def parse(raw: object) -> Value:
        got = U16.parse(raw)
        if not isinstance(got, int) or got & barred:
            raise ValueError(f"expected {expected}")
        return got

    return U16._replace(expected=expected, parse=parse)


_BRIDGE = table(
    (
        Attr("forward_delay", number(32, 0, 3000, unit=_TICKS), "How long a port listens, then learns.", 1, ticks=True),
        Attr("hello_time", number(32, 100, 1000, unit=_TICKS), "How often the root says hello.", 2, ticks=True),
        Attr("max_age", number(32, 600, 4000, unit=_TICKS), "How long a hello is believed.", 3, ticks=True),
        Attr(
            "ageing_time",
            number(32, 0, 0x7FFFFFFF // 10, unit=_TICKS),
            "How long an address is remembered.",
            4,
            ticks=True,
        ),
        Attr("stp_state", flag(32), "Speak the spanning tree protocol.", 5),
        Attr("priority", U16, "The lower, the sooner it is the root.", 6),
        Attr("vlan_filtering", FLAG, "Keep VLANs apart.", 7),
        Attr("vlan_protocol", PROTOCOL, "The protocol of its VLANs.", 8),
        Attr("group_fwd_mask", _groups(0x0007), "Which link-local groups are forwarded.", 9),
        Attr("group_address", MAC, "The spanning tree group.", 20),
        Attr("mcast_router", number(8, 0, 2), "Whether it is taken for a multicast router.", 22),
        Attr("mcast_snooping", FLAG, "Learn where multicast is wanted.", 23),
        Attr("mcast_query_use_ifaddr", FLAG, "Query from its own address.", 24),
        Attr("mcast_querier", FLAG, "Ask who wants multicast.", 25),
        Attr("mcast_hash_max", number(32, 1, 1 << 30), "The most multicast groups.", 27),
        Attr("mcast_last_member_count", U32, "Queries before a group is given up.", 28),
        Attr("mcast_startup_query_count", U32, "Queries after start.", 29),
        Attr("mcast_last_member_interval", INTERVAL, "Time between these queries.", 30, ticks=True),
        Attr("mcast_membership_interval", INTERVAL, "How long a member is believed.", 31, ticks=True),
        Attr("mcast_querier_interval", INTERVAL, "How long another querier is believed.", 32, ticks=True),
        Attr("mcast_query_interval", BETWEEN_QUERIES, "Time between queries.", 33, ticks=True),
        Attr("mcast_query_response_interval", INTERVAL, "How long an answer may take.", 34, ticks=True),
        Attr("mcast_startup_query_interval", BETWEEN_QUERIES, "Time between queries after start.", 35, ticks=True),
        Attr("nf_call_iptables", FLAG, "Show IPv4 frames to iptables.", 36),
        Attr("nf_call_ip6tables", FLAG, "Show IPv6 frames to ip6tables.", 37),
        Attr("nf_call_arptables", FLAG, "Show ARP frames to arptables.", 38),
        Attr("vlan_default_pvid", number(16, 0, 4094), "The VLAN of untagged frames of new ports.", 39),
        Attr("vlan_stats_enabled", FLAG, "Count for each VLAN.", 41),
        Attr("mcast_stats_enabled", FLAG, "Count multicast.", 42),
        Attr("mcast_igmp_version", number(8, 2, 3), "The version of IGMP.", 43),
        Attr("mcast_mld_version", number(8, 1, 2), "The version of MLD.", 44),
        Attr("vlan_stats_per_port", FLAG, "Count for each VLAN of each port.", 45, _VACANT),
        Attr("no_linklocal_learn", FLAG, "Do not learn from link-local frames."),
        Attr("mcast_vlan_snooping", FLAG, "Learn multicast for each VLAN."),
        Attr("mst_enabled", FLAG, "Keep states of ports for each tree that VLANs are put into.", change=_VACANT),
        Attr("fdb_max_learned", U32, "The most addresses it learns, 0 for any number.", 49),
    )
)

_PORT = table(
    (
        Attr("priority", number(16, 0, 63), "The lower, the sooner it forwards.", 2),
        Attr("cost", number(32, 1, 65535), "What the path through it costs.", 3),
        Attr("hairpin", FLAG, "Send frames back where they came from.", 4),
        Attr("guard", FLAG, "Shut it when it hears spanning tree messages.", 5),
        Attr("root_block", FLAG, "Never let it lead to the root.", 6),
        Attr("fastleave", FLAG, "Forget a multicast group at the first leave.", 7),
        Attr("learning", FLAG, "Learn addresses.", 8),
        Attr("flood", FLAG, "Send it frames for unknown addresses.", 9),
        Attr("proxy_arp", FLAG, "Answer for others.", 10),
        Attr("proxy_arp_wifi", FLAG, "Answer for others, as 802.11 wants it.", 12),
        Attr("mcast_router", number(8, 0, 3), "Whether a multicast router is behind it.", 25),
        Attr("mcast_flood", FLAG, "Send it multicast that nobody asked for.", 27),
        Attr("mcast_to_unicast", FLAG, "Turn multicast into unicast.", 28),
        Attr("vlan_tunnel", FLAG, "Map VLANs to tunnels.", 29),
        Attr("bcast_flood", FLAG, "Send it broadcast.", 30),
        Attr("group_fwd_mask", _groups(0x0002), "Which link-local groups are forwarded.", 31),
        Attr("neigh_suppress", FLAG, "Answer neighbour requests instead of flooding them.", 32),
        Attr("isolated", FLAG, "Keep it apart from other isolated ports.", 33),
        Attr("backup_port", LINK, "Where its frames go while it has no carrier.", 34, nullable=True),
        Attr("mcast_eht_hosts_limit", number(32, 1), "The most hosts tracked for each group.", 37),
        Attr("locked", FLAG, "Take frames only from known addresses.", 39),
        Attr("mab", FLAG, "Remember locked addresses for a daemon to judge.", 40),
        Attr("mcast_max_groups", U32, "The most multicast groups, 0 for any number.", 42),
        Attr("neigh_vlan_suppress", FLAG, "Suppress neighbour requests for each VLAN.", 43),
        Attr("backup_nhid", U32, "The nexthop of frames that go to the backup port.", 44),
    )
)

BRIDGE = Kind("bridge", "A bridge, VLAN-aware or not.", _BRIDGE, _PORT, master=True)
_OF_CUSTOMERS, _OF_PROVIDERS = "01:80:c2:00:00:00", "01:80:c2:00:00:08"


def is_of_provider(bridge: Mapping[str, Value]) -> bool:
    """Whether a bridge keeps VLANs of providers apart, and is by itself in their spanning tree group."""
    return bridge.get("vlan_filtering") is True and bridge.get("vlan_protocol") == "802.1ad"


def has_group_by_itself(bridge: Mapping[str, Value]) -> bool:
    """Whether a bridge is in the spanning tree group that goes with how it keeps VLANs apart."""
    return bridge.get("group_address") == (_OF_PROVIDERS if is_of_provider(bridge) else _OF_CUSTOMERS)
