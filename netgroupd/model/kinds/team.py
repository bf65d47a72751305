# SPDX-License-Identifier: GPL-2.0-or-later
"""Teams and their ports."""

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.value import FLAG, S32, U32, word

# The kernel knows them by name; the numbers are only places in this list.
_MODES = {"broadcast": 0, "roundrobin": 1, "random": 2, "activebackup": 3, "loadbalance": 4}

TEAM = Kind(
    "team",
    "Several links as one, directed by a program.",
    table(
        (
            Attr(
                "mode",
                word(8, _MODES),
                "How its ports share the work.",
                change=Change.VACANT,
                nullable=True,
                in_place=lambda _before, after: after is not None,
            ),
            Attr("notify_peers_count", U32, "Notifications after a change of port."),
            Attr("notify_peers_interval", U32, "Milliseconds between them."),
            Attr("mcast_rejoin_count", U32, "Multicast reports after a change of port."),
            Attr("mcast_rejoin_interval", U32, "Milliseconds between them."),
        )
    ),
    table(
        (
            Attr("team_enabled", FLAG, "Use it."),
            Attr("team_priority", S32, "The higher, the sooner it is used."),
            Attr("team_queue_id", U32, "The transmit queue that leads to it."),
        )
    ),
    master=True,
)
