# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual functions of a network card (SR-IOV): how many there are, and what the card does for each.

A function has its settings as long as there is it: they are neither made nor deleted.
A driver goes from one number of functions to another only by way of none at all.
"""

from collections.abc import Mapping

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.value import LINK, MAC, NO_MAC, U32, Type, Value, flag, number, string, word

MOST = 0xFFFF
"""The most functions that PCI has numbers for."""

_FLAG = flag(32)
_GUID_SHAPE = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}"


def _has_none(have: Value, want: Value) -> bool:
    return not have or not want


def _guid() -> Type:
    shape = string(23, _GUID_SHAPE, "eight bytes like 00:11:22:33:44:55:66:77")
    return shape._replace(parse=lambda raw: str(shape.parse(raw)).lower(), pack=None, unpack=None)


COUNT = Class(
    "sriov",
    "How many virtual functions a network card has.",
    (Attr("link", LINK, "The card."),),
    table((Attr("num_vfs", number(16, 0, MOST), "The number of its functions.", in_place=_has_none),)),
)

CLASS = Class(
    "vf",
    "A virtual function of a network card, as the card itself is told of it.",
    (
        Attr("link", LINK, "The card."),
        Attr("vf", number(16, 0, MOST - 1), "The number of the function, from 0."),
    ),
    table(
        (
            Attr("mac", MAC, "Its MAC address; with 00:00:00:00:00:00 it is free to choose."),
            Attr("vlan", number(16, 0, 4095), "The VLAN that it is in without knowing, 0 for none."),
            Attr("qos", number(8, 0, 7), "The priority in the tag of that VLAN."),
            Attr("proto", word(16, {"802.1q": 0x8100, "802.1ad": 0x88A8}, order=">"), "The kind of that tag."),
            Attr("min_tx_rate", U32, "What it may send at least, in Mbit/s."),
            Attr("max_tx_rate", U32, "What it may send at most, in Mbit/s, 0 for any rate."),
            Attr("spoofchk", _FLAG, "Drop what it sends from other addresses than its own.", 4),
            Attr("state", word(32, {"auto": 0, "enable": 1, "disable": 2}), "Its carrier: the card's, or always.", 5),
            Attr("query_rss", _FLAG, "Let it ask how the card spreads packets to queues.", 7),
            Attr("trust", _FLAG, "Let it do what changes more than itself, as to receive all packets.", 9),
            Attr("node_guid", _guid(), "Its node GUID, of InfiniBand.", 10),
            Attr("port_guid", _guid(), "Its port GUID, of InfiniBand.", 11),
        )
    ),
)

USUAL: Mapping[str, Value] = {
    "mac": NO_MAC,
    "vlan": 0,
    "qos": 0,
    "proto": "802.1q",
    "min_tx_rate": 0,
    "max_tx_rate": 0,
    "state": "auto",
    "query_rss": False,
    "trust": False,
}
"""What a new function has of any driver; whether it is checked for spoofing differs between them."""
