# SPDX-License-Identifier: GPL-2.0-or-later
"""Neighbours: link-layer addresses of IP addresses, and addresses answered for (proxy)."""

import re

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.value import FLAG, IP, LINK, Type, Value, ip_bytes, ip_text, word

# Learnt states come and go by themselves; the kernel module reports all of
# them as "reachable", or a second apply would never be empty.
STATES = {"permanent": 0x80, "noarp": 0x40, "reachable": 0x02}

_HEX = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){0,31}")


def _parse_link_address(raw: object) -> Value:
    text = str(raw).lower().replace("-", ":")
    if _HEX.fullmatch(text):
        return text
    try:
        return ip_text(ip_bytes(str(raw)))
    except ValueError:
        raise ValueError(
            "expected a link-layer address like 02:00:00:00:00:01, or the IP address of a tunnel"
        ) from None


def pack_link_address(value: Value) -> bytes:
    text = str(value)
    return bytes.fromhex(text.replace(":", "")) if _HEX.fullmatch(text) else ip_bytes(text)


LINK_ADDRESS = Type(
    "a link-layer address like 02:00:00:00:00:01, or the IP address of a tunnel",
    _parse_link_address,
    {"type": "string"},
    pack_link_address,
    lambda payload: ip_text(payload) if len(payload) in (4, 16) else bytes(payload).hex(":"),
)

CLASS = Class(
    "neighbour",
    "A neighbour of a link.",
    (
        Attr("link", LINK, "The link that it is reached by."),
        Attr("ip", IP, "Its IP address."),
        Attr("proxy", FLAG, "Answer for it instead of sending to it."),
    ),
    table(
        (
            Attr("lladdr", LINK_ADDRESS, "Its link-layer address.", 2, nullable=True),
            Attr("state", word(16, STATES), "How it is kept: permanent, noarp, or reachable until it ages."),
            Attr("router", FLAG, "It is a router (IPv6)."),
            Attr("extern_learn", FLAG, "Learnt by a control plane: it does not age."),
            Attr("managed", FLAG, "The kernel keeps it resolved."),
        )
    ),
)
