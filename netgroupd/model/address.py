# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses of links, under ``ip address``'s names.

The key holds what the kernel tells addresses apart by.  With a peer the prefix
length belongs to the peer, as in ``ip address add 10.0.0.1 peer 10.0.0.2/24``,
and is still written behind the address: 10.0.0.1/24 with the peer 10.0.0.2.
"""

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.state import Attrs, Key
from netgroupd.model.value import ADDRESS, FLAG, IP, IP4, LINK, U32, Type, Value, number, string, word

SCOPES = {"global": 0, "site": 200, "link": 253, "host": 254, "nowhere": 255}
FOREVER = 0xFFFFFFFF
LEAST_MTU = {"inet": 68, "inet6": 1280}
"""With an MTU of less a link does not speak the protocol at all, and nothing of it comes back by itself."""


def plain_address(key: Key) -> str:
    """The address of such a key, without the length of its prefix."""
    return str(key[1]).partition("/")[0]


_SECONDS = number(32, 0, FOREVER - 1)


def _parse_lifetime(raw: object) -> Value:
    if raw == "forever":
        return "forever"
    try:
        return _SECONDS.parse(raw)
    except ValueError:
        raise ValueError('expected a number of seconds or "forever"') from None


LIFETIME = Type('a number of seconds or "forever"', _parse_lifetime, {"oneOf": [_SECONDS.schema, {"const": "forever"}]})

CLASS = Class(
    "address",
    "An IPv4 or IPv6 address of a link.",
    (
        Attr("link", LINK, "The link that has it."),
        Attr("address", ADDRESS, "The address with its prefix length."),
        Attr("peer", IP, "The address at the other end, or none.", nullable=True),
    ),
    table(
        (
            Attr("broadcast", IP4, "The broadcast address (IPv4).", 4, Change.RECREATE, nullable=True),
            Attr("label", string(15), "The label of `ifconfig` (IPv4); the link's name if none.", 3, Change.RECREATE),
            Attr("scope", word(8, SCOPES), "How far it is valid.", change=Change.RECREATE),
            Attr("valid_lft", LIFETIME, "Seconds until it is removed."),
            Attr(
                "preferred_lft",
                LIFETIME,
                "Seconds until it is deprecated; IPv4 knows no end of this without one of `valid_lft`.",
            ),
            # IPv6 takes 0 to say nothing.
            Attr("metric", U32, "The metric of its prefix route.", 9, in_place=lambda _, metric: metric != 0),
            Attr("noprefixroute", FLAG, "No route for its prefix; for IPv4 a change makes the address anew."),
            Attr("nodad", FLAG, "Use it without looking for duplicates (IPv6)."),
            Attr("home", FLAG, "A Mobile IPv6 home address."),
            Attr("mngtmpaddr", FLAG, "Make temporary addresses from it (IPv6)."),
            Attr("autojoin", FLAG, "Join the multicast group of this address.", change=Change.RECREATE),
        )
    ),
)


def hinders(key: Key, attrs: Attrs) -> str:
    """Which of ``attrs`` cannot change in place: the kernel changes this flag of an address of IPv6 only."""
    return "noprefixroute" if "noprefixroute" in attrs and ":" not in str(key[1]) else ""


def subnet_of(key: Key) -> str:
    """10.1.2.3/24 as a text that all addresses of that network share, which is the peer's if there is one (IPv4)."""
    local, _, length = str(key[1]).partition("/")
    parts = [int(part) for part in str(key[2] or local).split(".")]
    number = (parts[0] << 24) | (parts[1] << 16) | (parts[2] << 8) | parts[3]
    return f"{number >> (32 - int(length))}/{length}"
