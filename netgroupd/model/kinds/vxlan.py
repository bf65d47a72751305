# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet over UDP: VXLAN and Geneve, and anything over UDP: bareudp."""

import re

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import LABEL, PRESENCE, TOS, TTL, Kind, same_family, stays
from netgroupd.model.value import FLAG, IP, LINK, PORT, U16, U32, Type, Value, number, word

_FIXED = Change.RECREATE
_VNI = number(32, 0, (1 << 24) - 1)
_DF = word(8, {"unset": 0, "set": 1, "inherit": 2})
_LABEL_POLICY = word(32, {"fixed": 0, "inherit": 1})
_ETHERTYPE = word(16, {"ipv4": 0x0800, "ipv6": 0x86DD, "mpls_uc": 0x8847, "mpls_mc": 0x8848}, order=">")
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")


def _parse_range(raw: object) -> Value:
    found = _RANGE.fullmatch(str(raw))
    if not found or not int(found[1]) <= int(found[2]) <= 65535:
        raise ValueError("expected ports like 32768-61000")
    return f"{int(found[1])}-{int(found[2])}"


def _pack_range(value: Value) -> bytes:
    low, _, high = str(value).partition("-")
    return int(low).to_bytes(2, "big") + int(high).to_bytes(2, "big")


def _unpack_range(payload: bytes) -> Value:
    return f"{int.from_bytes(payload[:2], 'big')}-{int.from_bytes(payload[2:4], 'big')}"


_SET_ONLY = PRESENCE._replace(unpack=FLAG.unpack)
_PORTS = Type("ports like 32768-61000", _parse_range, {"type": "string"}, _pack_range, _unpack_range)

VXLAN = Kind(
    "vxlan",
    "Ethernet over UDP by VXLAN; one link serves every network when it is external.",
    table(
        (
            Attr("id", _VNI, "The network's id (VNI).", 1, _FIXED),
            Attr("remote", IP, "The other end, or a multicast group.", in_place=same_family, nullable=True),
            Attr("local", IP, "The address it sends from.", in_place=same_family, nullable=True),
            Attr("dev", LINK, "The link it sends through.", 3, in_place=stays, nullable=True),
            Attr("ttl", TTL, "The TTL of what it sends, 0 for the system's.", 5),
            Attr("tos", TOS, "The TOS of what it sends.", 6),
            Attr("learning", FLAG, "Learn addresses.", 7),
            Attr("ageing", number(32, 1), "Seconds that an address is remembered.", 8),
            Attr("maxaddr", U32, "The most addresses, 0 for any number.", 9, _FIXED),
            Attr("srcport", _PORTS, "The ports it sends from.", 10, _FIXED),
            Attr("proxy", FLAG, "Answer ARP for others.", 11, _FIXED),
            Attr("rsc", FLAG, "Route instead of switching where it can.", 12, _FIXED),
            Attr("l2miss", FLAG, "Tell of unknown MAC addresses.", 13, _FIXED),
            Attr("l3miss", FLAG, "Tell of unknown IP addresses.", 14, _FIXED),
            Attr("dstport", number(16, 1, order=">"), "The port it sends to and listens on.", 15, _FIXED),
            Attr("udpcsum", FLAG, "Send UDP checksums over IPv4.", 18, _FIXED),
            Attr("udp6zerocsumtx", FLAG, "Send no UDP checksums over IPv6.", 19, _FIXED),
            Attr("udp6zerocsumrx", FLAG, "Take packets without UDP checksums over IPv6.", 20, _FIXED),
            Attr("remcsumtx", FLAG, "Send remote checksums.", 21, _FIXED),
            Attr("remcsumrx", FLAG, "Take remote checksums.", 22, _FIXED),
            Attr("gbp", PRESENCE, "Carry the group policy extension.", 23, _FIXED),
            Attr("remcsum_nopartial", PRESENCE, "No partial remote checksums.", 24, _FIXED),
            Attr("external", FLAG, "The route, fdb entry or filter says where to (metadata mode).", 25, _FIXED),
            Attr("label", LABEL, "The IPv6 flow label.", 26),
            Attr("label_policy", _LABEL_POLICY, "Whether the flow label is `label`, or that of what is inside.", 32),
            Attr("gpe", PRESENCE, "The generic protocol extension.", 27, _FIXED),
            Attr("ttl_inherit", _SET_ONLY, "Take the TTL from what is inside.", 28, _FIXED),
            Attr("df", _DF, "The don't fragment bit.", 29),
            Attr("vnifilter", FLAG, "Take only the networks listed for it.", 30, _FIXED),
            Attr("localbypass", FLAG, "Hand over directly what is for this host.", 31),
        )
    ),
)

GENEVE = Kind(
    "geneve",
    "Ethernet over UDP by Geneve.",
    table(
        (
            Attr("id", _VNI, "The network's id (VNI).", 1, _FIXED),
            Attr("remote", IP, "The other end.", in_place=same_family),
            Attr("ttl", TTL, "The TTL of what it sends, 0 for the system's.", 3),
            Attr("tos", TOS, "The TOS of what it sends.", 4),
            Attr("dstport", PORT, "The port it sends to and listens on.", 5, _FIXED),
            Attr("external", PRESENCE, "The route or filter says where to (metadata mode).", 6, _FIXED),
            Attr("udpcsum", FLAG, "Send UDP checksums over IPv4.", 8, _FIXED),
            Attr("udp6zerocsumtx", FLAG, "Send no UDP checksums over IPv6.", 9, _FIXED),
            Attr("udp6zerocsumrx", FLAG, "Take packets without UDP checksums over IPv6.", 10, _FIXED),
            Attr("label", LABEL, "The IPv6 flow label.", 11),
            Attr("ttl_inherit", FLAG, "Take the TTL from what is inside."),
            Attr("df", _DF, "The don't fragment bit.", 13),
            Attr("inner_proto_inherit", PRESENCE, "Take the protocol from what is inside.", 14, _FIXED),
        )
    ),
)

BAREUDP = Kind(
    "bareudp",
    "Packets of one protocol over UDP.",
    table(
        (
            Attr("dstport", PORT, "The port it sends to and listens on.", 1, _FIXED),
            Attr("ethertype", _ETHERTYPE, "The protocol inside.", 2, _FIXED),
            Attr("srcportmin", U16, "The lowest port it sends from.", 3, _FIXED),
            Attr("multiproto", PRESENCE, "IPv6 beside IPv4, or MPLS multicast beside unicast.", 4, _FIXED),
        )
    ),
    required=frozenset({"dstport", "ethertype"}),
)
