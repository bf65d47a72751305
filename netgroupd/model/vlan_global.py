# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bridge does in one of its VLANs, for all of its ports: the options of ``bridge vlan global``.

A VLAN has them from the moment on that the bridge or one of its ports is in it, and the
kernel forgets them when the last of these leaves: they are neither made nor deleted.
Times are in hundredths of a second, as with the bridge's own.
"""

from collections.abc import Mapping

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.kinds.bridge import BETWEEN_QUERIES, INTERVAL
from netgroupd.model.value import FLAG, LINK, U32, Value, number

TREE = "msti"
"""The spanning tree that a VLAN is in."""

CLASS = Class(
    "vlan_global",
    "What a bridge does in one of its VLANs.",
    (
        Attr("link", LINK, "The bridge."),
        Attr("vid", number(16, 1, 4094), "The VLAN, which the bridge or one of its ports is in."),
    ),
    table(
        (
            Attr("mcast_snooping", FLAG, "Learn where multicast is wanted.", 3),
            Attr("mcast_igmp_version", number(8, 2, 3), "The version of IGMP.", 4),
            Attr("mcast_mld_version", number(8, 1, 2), "The version of MLD.", 5),
            Attr("mcast_last_member_count", U32, "Queries before a group is given up.", 6),
            Attr("mcast_startup_query_count", U32, "Queries after start.", 7),
            Attr("mcast_last_member_interval", INTERVAL, "Time between these queries.", 8, ticks=True),
            Attr("mcast_membership_interval", INTERVAL, "How long a member is believed.", 10, ticks=True),
            Attr("mcast_querier_interval", INTERVAL, "How long another querier is believed.", 11, ticks=True),
            Attr("mcast_query_interval", BETWEEN_QUERIES, "Time between queries.", 12, ticks=True),
            Attr("mcast_query_response_interval", INTERVAL, "How long an answer may take.", 13, ticks=True),
            Attr("mcast_startup_query_interval", BETWEEN_QUERIES, "Time between queries after start.", 14, ticks=True),
            Attr("mcast_querier", FLAG, "Ask who wants multicast.", 15),
            Attr(TREE, number(16, 0, 4094), "The spanning tree that it is in, 0 for the common one.", 18),
        )
    ),
)

USUAL: Mapping[str, Value] = {
    "mcast_snooping": True,
    "mcast_igmp_version": 2,
    "mcast_mld_version": 1,
    "mcast_last_member_count": 2,
    "mcast_startup_query_count": 2,
    "mcast_last_member_interval": 100,
    "mcast_membership_interval": 26000,
    "mcast_querier_interval": 25500,
    "mcast_query_interval": 12500,
    "mcast_query_response_interval": 1000,
    "mcast_startup_query_interval": 3125,
    "mcast_querier": False,
    TREE: 0,
}
"""What a VLAN has that is new to its bridge, whatever the bridge itself has."""
