# SPDX-License-Identifier: GPL-2.0-or-later
"""Tunnels over IPv4 and IPv6: GRE, ERSPAN, IP in IP, and those that IPsec encrypts."""

from collections.abc import Iterable, Iterator, Mapping

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import LABEL, MARK, PRESENCE, TOS, TTL, Kind, stays
from netgroupd.model.value import (
    FLAG,
    IP4,
    IP6,
    LINK,
    PORT,
    Type,
    Value,
    ip_bytes,
    number,
    word,
)

_FIXED = Change.RECREATE
_ENCAP = word(16, {"none": 0, "fou": 1, "gue": 2})
_WORD = number(32, order=">")


def _parse_key(raw: object) -> Value:
    if isinstance(raw, str) and raw.count(".") == 3:
        return int.from_bytes(ip_bytes(raw), "big")
    return _WORD.parse(raw)


_KEY = _WORD._replace(expected="a number, or one written like an IPv4 address", parse=_parse_key)


def _encap() -> tuple[Attr, ...]:
    return (
        Attr("encap", _ENCAP, "UDP around it.", 1),
        Attr("encap_sport", PORT, "The port it sends from, 0 for any.", 3),
        Attr("encap_dport", PORT, "The port it sends to.", 4),
        Attr("encap_csum", FLAG, "UDP checksums over IPv4."),
        Attr("encap_csum6", FLAG, "UDP checksums over IPv6."),
        Attr("encap_remcsum", FLAG, "Remote checksums."),
    )


def _renumbered(rows: Iterable[Attr], by: int) -> tuple[Attr, ...]:
    return tuple(row._replace(wire=row.wire + by) if row.wire else row for row in rows)


def _ends(address: Type, local: int, remote: int) -> tuple[Attr, ...]:
    return (
        Attr("local", address, "The address it sends from.", local, nullable=True),
        Attr("remote", address, "The other end.", remote, in_place=stays, nullable=True),
    )


def _v6(limit: int) -> tuple[Attr, ...]:
    return (
        Attr("encaplimit", number(8), "How many tunnels may be inside one another.", limit),
        Attr("ignore_encaplimit", FLAG, "Do not say how many."),
        Attr("tclass", number(8), "The traffic class of what it sends."),
        Attr("tclass_inherit", FLAG, "Take the traffic class from what is inside."),
        Attr("flowlabel", LABEL, "The flow label of what it sends."),
        Attr("flowlabel_inherit", FLAG, "Take the flow label from what is inside."),
        Attr("dscp_inherit", FLAG, "Take the DSCP over to what is inside."),
        Attr("fwmark_inherit", FLAG, "Take the mark from what is inside."),
        Attr("allow_localremote", FLAG, "The other end may be this host."),
    )


_COUNTED = (
    Attr("icsum", FLAG, "Want checksums."),
    Attr("ocsum", FLAG, "Send checksums."),
    Attr("iseq", FLAG, "Want sequence numbers."),
    Attr("oseq", FLAG, "Send sequence numbers."),
)

_GRE = (
    Attr("dev", LINK, "The link it sends through.", 1, nullable=True),
    Attr("ikey", _KEY, "The key wanted.", 4, nullable=True),
    Attr("okey", _KEY, "The key sent.", 5, nullable=True),
    Attr("ttl", TTL, "The TTL of what it sends.", 8),
    *_renumbered(_encap(), 13),
    Attr("external", PRESENCE, "The route or filter says where to (metadata mode).", 18, _FIXED),
    Attr("fwmark", MARK, "The mark of what it sends.", 20),
)

_GRE4 = (
    *_GRE,
    *_ends(IP4, 6, 7),
    Attr("tos", TOS, "The TOS of what it sends.", 9),
    Attr("pmtudisc", FLAG, "Discover the MTU of the path.", 10),
    Attr("ignore_df", FLAG, "Ignore the don't fragment bit inside.", 19),
)

_GRE6 = (*_GRE, *_ends(IP6, 6, 7), *_v6(11))


def _keyed(rows: Iterable[Attr]) -> tuple[Attr, ...]:
    # The key is ERSPAN's session: there always is one.
    return tuple(row._replace(nullable=False) if row.name in ("ikey", "okey") else row for row in rows)


_ERSPAN = (
    Attr("erspan_ver", number(8, 0, 2), "The version of ERSPAN.", 22, _FIXED),
    Attr("erspan_index", number(32, 0, (1 << 20) - 1), "The port that is mirrored, in version 1.", 21),
    Attr("erspan_dir", word(8, {"ingress": 0, "egress": 1}), "Which way is mirrored, in version 2.", 23),
    Attr("erspan_hwid", number(16, 0, 63), "The hardware's id, in version 2.", 24),
)

_IP = (
    Attr("dev", LINK, "The link it sends through.", 1, nullable=True),
    Attr("ttl", TTL, "The TTL of what it sends.", 4),
    *_renumbered(_encap(), 14),
    Attr("fwmark", MARK, "The mark of what it sends.", 20),
)

_EXTERNAL = Attr("external", PRESENCE, "The route or filter says where to (metadata mode).", 19, _FIXED)

_IP4 = (
    *_IP,
    *_ends(IP4, 2, 3),
    Attr("tos", TOS, "The TOS of what it sends.", 5),
    Attr("pmtudisc", FLAG, "Discover the MTU of the path.", 10),
)

_IPIP_MODE = word(8, {"ipip": 4, "mplsip": 137, "any": 0})
_SIT_MODE = word(8, {"ip6ip": 41, "ipip": 4, "mplsip": 137, "any": 0})
_IP6_MODE = word(8, {"ip6ip6": 41, "ipip6": 4, "any": 0})
_MODE_DOC = "What is inside."

_SIT = (
    *_IP4,
    Attr("mode", _SIT_MODE, _MODE_DOC, 9, _FIXED),
    Attr("isatap", FLAG, "ISATAP.", change=_FIXED),
    Attr("6rd_prefix", IP6, "The 6rd prefix.", 11),
    Attr("6rd_relay_prefix", IP4, "The part of the IPv4 address that 6rd leaves out.", 12),
    Attr("6rd_prefixlen", number(16, 0, 128), "The length of the 6rd prefix.", 13),
    Attr("6rd_relay_prefixlen", number(16, 0, 32), "The length of that part.", 14),
)

_VTI = (
    Attr("dev", LINK, "The link it sends through.", 1, nullable=True),
    Attr("ikey", _KEY, "The mark of what comes in.", 2),
    Attr("okey", _KEY, "The mark of what goes out.", 3),
    Attr("fwmark", MARK, "The mark of what it sends.", 6),
)

_XFRM = (
    Attr("dev", LINK, "The link it sends through.", 1, _FIXED, nullable=True),
    Attr("if_id", number(32, 1), "The id that policies and states refer to.", 2),
    Attr("external", PRESENCE, "The route or filter says the id (metadata mode).", 3, _FIXED),
)

_ROWS = {
    "gre": ("IP in GRE over IPv4.", (*_GRE4, *_COUNTED)),
    "gretap": ("Ethernet in GRE over IPv4.", (*_GRE4, *_COUNTED)),
    "erspan": ("Mirrored Ethernet in GRE over IPv4.", (*_keyed(_GRE4), *_ERSPAN)),
    "ip6gre": ("IP in GRE over IPv6.", (*_GRE6, *_COUNTED)),
    "ip6gretap": ("Ethernet in GRE over IPv6.", (*_GRE6, *_COUNTED)),
    "ip6erspan": ("Mirrored Ethernet in GRE over IPv6.", (*_keyed(_GRE6), *_ERSPAN)),
    "ipip": ("IPv4 in IPv4.", (*_IP4, _EXTERNAL, Attr("mode", _IPIP_MODE, _MODE_DOC, 9, _FIXED))),
    "sit": ("IPv6 in IPv4.", _SIT),
    "ip6tnl": (
        "IP in IPv6.",
        (*_IP, *_ends(IP6, 2, 3), *_v6(6), _EXTERNAL, Attr("mode", _IP6_MODE, _MODE_DOC, 9)),
    ),
    "vti": ("What IPsec encrypts over IPv4.", (*_VTI, *_ends(IP4, 4, 5))),
    "vti6": ("What IPsec encrypts over IPv6.", (*_VTI, *_ends(IP6, 4, 5))),
    "xfrm": ("What IPsec encrypts, by policies and states with its id.", _XFRM),
}

TUNNELS = tuple(Kind(name, doc, table(rows)) for name, (doc, rows) in _ROWS.items())

_MOST_OF_6RD = 64
_LENGTHS_OF_6RD = {"6rd_prefix": "6rd_prefixlen", "6rd_relay_prefix": "6rd_relay_prefixlen"}
NO_6RD: Mapping[str, Value] = dict.fromkeys(_LENGTHS_OF_6RD.values(), 0)
ALL_OF_6RD = frozenset((*_LENGTHS_OF_6RD, *NO_6RD))


def wrong_6rd(name: str, attrs: Mapping[str, Value]) -> Iterator[tuple[str, str, str]]:
    """What does not go together of 6rd: the attribute, what is wrong with it, and what would be right."""
    for field, length in _LENGTHS_OF_6RD.items():
        bits, prefix = attrs.get(length), attrs.get(field)
        if isinstance(bits, int) and prefix is not None and _behind(str(prefix), bits):
            yield field, f"{field} {prefix} of {name!r} has bits behind its {length} of {bits}", ""
    prefixed, left_out = map(attrs.get, NO_6RD)
    if isinstance(prefixed, int) and isinstance(left_out, int) and prefixed + 32 - left_out > _MOST_OF_6RD:
        told = f"6rd of {name!r} would take {prefixed} bits of the prefix, and {32 - left_out} of IPv4"
        yield "6rd_prefixlen", told, f"at most {_MOST_OF_6RD} together"


def _behind(prefix: str, bits: int) -> bool:
    address = ip_bytes(prefix)
    return bool(int.from_bytes(address, "big") & ((1 << max(0, len(address) * 8 - bits)) - 1))
