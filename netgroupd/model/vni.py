# SPDX-License-Identifier: GPL-2.0-or-later
"""The networks that a VXLAN with ``vnifilter`` takes, under ``bridge vni``'s names."""

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.value import IP, LINK, number

CLASS = Class(
    "vni",
    "A network that a VXLAN with vnifilter takes.",
    (
        Attr("link", LINK, "The VXLAN."),
        Attr("vni", number(32, 1, (1 << 24) - 1), "The network's id."),
    ),
    table(
        (
            # The kernel floods to an earlier one too, until the network goes.
            Attr(
                "remote",
                IP,
                "Where it floods to: the other end, or a multicast group; the VXLAN's own if not mentioned.",
                3,
                Change.RECREATE,
                nullable=True,
            ),
        )
    ),
)
