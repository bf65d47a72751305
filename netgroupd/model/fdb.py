# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries of bridges and VXLANs, under ``bridge fdb``'s names."""

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.value import FLAG, IP, LINK, MAC, PORT, U32, number, word

VNI = number(32, 0, (1 << 24) - 1)
# Learnt entries come and go by themselves, so they are nobody's to configure.
STATES = {"permanent": 0x80, "static": 0x42}
TABLES = {"self": 0x02, "master": 0x04}

CLASS = Class(
    "fdb",
    "A forwarding entry.",
    (
        Attr("link", LINK, "The link to send by."),
        Attr("mac", MAC, "The address to forward."),
        Attr("vlan", number(16, 0, 4094), "The VLAN it is for, 0 for none."),
        Attr("where", word(8, TABLES), "In the link's own table (self) or in its bridge's (master)."),
        Attr("dst", IP, "The tunnel's other end; an address can have several.", nullable=True),
        Attr("src_vni", VNI, "The VNI it is for, of a VXLAN in metadata mode.", 11, nullable=True),
    ),
    table(
        (
            Attr(
                "state",
                word(16, STATES),
                "permanent (of a bridge: its own address), or static, as in a bridge if not mentioned.",
            ),
            Attr("vni", VNI, "The VNI to send with.", 7, Change.RECREATE),
            Attr("port", PORT, "The UDP port to send to.", 6, Change.RECREATE),
            Attr("via", LINK, "The link to send tunnel packets by.", 8, Change.RECREATE),
            Attr("nhid", U32, "The nexthop object to send to.", 13),
            Attr("sticky", FLAG, "It does not move to another port."),
        )
    ),
)
