# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries of bridges and VXLANs, under ``bridge fdb``'s names."""

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.state import Attrs, Key
from netgroupd.model.value import FLAG, IP, LINK, MAC, NO_MAC, number, word

VNI = number(32, 0, (1 << 24) - 1)
# Learnt entries come and go by themselves, so they are nobody's to configure.
STATES = {"permanent": 0x80, "static": 0x42}
TABLES = {"self": 0x02, "master": 0x04}
WITH_TABLES = frozenset({"bridge", "vxlan"})
"""The kinds of links that forward; any other receives for the MACs that it has entries of."""

CLASS = Class(
    "fdb",
    "A forwarding entry.",
    (
        Attr("link", LINK, "The link to send by."),
        Attr("mac", MAC, "The address to forward."),
        Attr("vlan", number(16, 0, 4094), "The VLAN it is for, 0 for none."),
        Attr("where", word(8, TABLES), "In the link's own table (self) or in its bridge's (master)."),
        Attr("src_vni", VNI, "The VNI it is for, of a VXLAN in metadata mode.", 11, nullable=True),
    ),
    table(
        (
            Attr(
                "state",
                word(16, STATES),
                "permanent (of a bridge: its own address), or static, as in a bridge if not mentioned.",
            ),
            Attr(
                "dst",
                IP,
                "The tunnel's other end; a group address and 00:00:00:00:00:00 can have several.",
                1,
                nullable=True,
            ),
            Attr("vni", VNI, "The VNI to send with.", 7, nullable=True),
            Attr("port", number(16, 1, order=">"), "The UDP port to send to.", 6, nullable=True),
            Attr("via", LINK, "The link to send tunnel packets by.", 8, nullable=True),
            Attr("nhid", number(32, 1), "The nexthop object to send to.", 13),
            Attr("sticky", FLAG, "It does not move to another port."),
        )
    ),
)


def has_several(mac: str) -> bool:
    """Whether an address has as many entries as receivers: then ``dst`` is in the key, otherwise an attribute."""
    return mac == NO_MAC or bool(int(mac[:2], 16) & 1)


def hinders(key: Key, have: Attrs, attrs: Attrs) -> str:
    """Which of ``attrs`` cannot change in place: one receiver of several, or one for a nexthop object."""
    if key[4] is not None:
        return next((name for name in ("vni", "port", "via") if name in attrs), "")
    changed = (name for name in ("dst", "nhid") if name in attrs)
    return next((name for name in changed if (have.get(name) is None) != (attrs[name] is None)), "")
