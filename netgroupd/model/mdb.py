# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast groups that ports of bridges are in for good, under ``bridge mdb``'s names."""

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.state import Attrs, Key
from netgroupd.model.value import IP, LINK, MAC, Type, Value, ip_bytes, ip_text, is_multicast, number, several, word

# The kernel numbers them the other way round than IGMP does.
MODES = {"exclude": 0, "include": 1}
MOST_SOURCES = 31
"""Of one entry; the kernel refuses more."""

_EXPECTED = "a multicast group: an IPv4 or IPv6 address, or a MAC address like 01:00:00:00:00:05"
_ANOTHER = "another group than 224.0.0.0/24 and ff02::1, which the kernel sends to all ports"
_TO_ALL_PORTS = b"\xe0\x00\x00", bytes.fromhex("ff02") + bytes(13) + b"\x01"


def _parse_group(raw: object) -> Value:
    text = str(raw)
    try:
        payload = ip_bytes(text)
    except ValueError:
        return _parse_mac(text)
    if not is_multicast(payload):
        raise ValueError(f"expected {_EXPECTED}")
    if payload.startswith(_TO_ALL_PORTS):
        raise ValueError(f"expected {_ANOTHER}")
    return ip_text(payload)


def _parse_mac(text: str) -> Value:
    try:
        mac = str(MAC.parse(text))
    except ValueError:
        raise ValueError(f"expected {_EXPECTED}") from None
    if not int(mac[:2], 16) & 1:
        raise ValueError(f"expected {_EXPECTED}, whose first byte is odd")
    return mac


def family_of(group: Value) -> int:
    """4 or 6, or 0 for the MAC address of what is not IP."""
    try:
        return 4 if len(ip_bytes(str(group))) == 4 else 6
    except ValueError:
        return 0


def group_bytes(group: Value) -> bytes:
    """A group as the kernel holds it."""
    text = str(group)
    return ip_bytes(text) if family_of(text) else bytes.fromhex(text.replace(":", ""))


def is_of_host(key: Key) -> bool:
    """Whether it is the bridge itself that is in the group."""
    return key[0] == key[1]


def senders(attrs: Attrs) -> tuple[Value, ...]:
    """The senders that an entry lists."""
    listed = attrs.get("source_list") or ()
    assert isinstance(listed, tuple)
    return listed


GROUP = Type(_EXPECTED, _parse_group, {"type": "string"})

CLASS = Class(
    "mdb",
    "A multicast group that a port of a bridge is in for good.",
    (
        Attr("link", LINK, "The bridge."),
        Attr("port", LINK, "The port, or the bridge for itself."),
        Attr("group", GROUP, "The group; a MAC address is for what is not IP."),
        Attr("vid", number(16, 0, 4094), "The VLAN it is for, 0 for none: a bridge with `vlan_filtering` needs one."),
        Attr("src", IP, "The sender it is for, of a group of IP; any if not mentioned.", nullable=True),
    ),
    table(
        (
            Attr("filter_mode", word(8, MODES), "Whether it is for all senders but those listed, or for these.", 3),
            Attr(
                "source_list",
                several(IP, ordered=False),
                f"Senders, up to {MOST_SOURCES}; for these and `filter_mode` the bridge speaks IGMPv3, or MLDv2.",
                2,
                nullable=True,
            ),
        )
    ),
)
