# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes of IPv4, IPv6 and MPLS, under ``ip route``'s names.

What the kernel tells routes apart by is the key.  A route with several next
hops is one object with ``nexthops``, for IPv6 too, where the kernel keeps them
as separate routes.
"""

import struct
from collections.abc import Mapping

from netgroupd.model.address import SCOPES
from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.encap import ENCAP, LABEL
from netgroupd.model.family import FAMILIES
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import (
    FLAG,
    IP,
    LINK,
    U8,
    U32,
    Type,
    Value,
    number,
    prefix,
    record,
    several,
    string,
    word,
)

TYPES = {
    "unicast": 1,
    "local": 2,
    "broadcast": 3,
    "anycast": 4,
    "multicast": 5,
    "blackhole": 6,
    "unreachable": 7,
    "prohibit": 8,
    "throw": 9,
}
PREFERENCES = {"low": 3, "medium": 0, "high": 1}
MAIN_TABLE = 254
IP6_USER_METRIC = 1024
TABLES = {"default": 253, "main": MAIN_TABLE, "local": 255}
"""The tables of every host, by name: gateways are looked up in them, and rules that nobody needs to make lead there."""
TABLE_NAMES: Mapping[Value, str] = {number: name for name, number in TABLES.items()}

WAY = frozenset({"nexthops", "nhid", "via", "dev", "encap", "onlink"})
"""What says together where a route leads."""

EXPIRES = "expires"
"""The seconds that are left of a route that others made for a time; no file can say so."""

BEHIND = "behind"
"""The mark of an IPv4 route that is not used, for another one of its destination, tos and metric comes first."""

DEAD_ENDS = frozenset({"blackhole", "unreachable", "prohibit", "throw"})
"""Types of routes that lead nowhere."""

_SCOPES = {name: number for name, number in SCOPES.items() if name != "nowhere"}
_DEFAULTS = {"inet": "0.0.0.0/0", "inet6": "::/0"}

_TABLE_ID = number(32, 1)
_NETWORK = prefix(network=True)


def _parse_table(raw: object) -> Value:
    if isinstance(raw, str) and raw in TABLES:
        return TABLES[raw]
    try:
        return _TABLE_ID.parse(raw)
    except ValueError:
        raise ValueError("expected the number of a table, or main, local or default") from None


TABLE = Type(
    "the number of a table, or main, local or default",
    _parse_table,
    {"oneOf": [_TABLE_ID.schema, {"enum": list(TABLES)}]},
)


def _parse_destination(raw: object) -> Value:
    try:
        return str(LABEL.parse(raw))
    except ValueError:
        return _NETWORK.parse(raw)


DESTINATION = Type(
    "a network like 10.0.0.0/8, default, or an MPLS label", _parse_destination, {"type": ["string", "integer"]}
)

_ECN = 0x03  # the bits of that byte that are no type of service


def _parse_tos(raw: object) -> Value:
    got = U8.parse(raw)
    if not isinstance(got, int) or got & _ECN:
        raise ValueError(f"expected {TOS.expected}")
    return got


TOS = U8._replace(expected="a multiple of 4 from 0 to 252", parse=_parse_tos)

_REALM = number(16)


def _parse_realm(raw: object) -> Value:
    origin, slash, target = str(raw).rpartition("/")
    try:
        first, last = (_REALM.parse(part) for part in (origin if slash else "0", target))
    except ValueError:
        raise ValueError(f"expected {REALM.expected}") from None
    assert isinstance(first, int)
    assert isinstance(last, int)
    if not first and not last:
        raise ValueError(f"expected {REALM.expected}: 0 is none")
    return _realm_text(first << 16 | last)


def _realm_text(realms: int) -> str:
    """Realms as ``ip`` prints their numbers."""
    origin, target = divmod(realms, 1 << 16)
    return f"{origin}/{target}" if origin else str(target)


def _pack_realm(value: Value) -> bytes:
    origin, _, target = str(value).rpartition("/")
    return struct.pack("=I", int(origin or 0) << 16 | int(target))


REALM = Type(
    "the number of a realm like 5, or of two like 3/4",
    _parse_realm,
    {"type": ["string", "integer"]},
    _pack_realm,
    lambda payload: _realm_text(*struct.unpack_from("=I", payload)),
)

NEXTHOP = record(
    {
        "via": IP,
        "dev": LINK,
        "weight": number(16, 1, 256),
        "onlink": FLAG,
        "encap": ENCAP,
        "as": several(LABEL),
        "realm": REALM,
    }
)

FEATURES = {"ecn": 1, "tcp_usec_ts": 16}  # RTAX_FEATURE_*
_FEATURES = several(word(32, FEATURES), unique=True)._replace(
    pack=lambda names: struct.pack("=I", sum(FEATURES[str(name)] for name in _names(names))),
    unpack=lambda payload: tuple(name for name, bit in FEATURES.items() if struct.unpack_from("=I", payload)[0] & bit),
)


def _names(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value


# RTAX_* numbers, inside RTA_METRICS, where zero is the same as none, and what the
# kernel takes no more of than there is named here.  It holds rtt in eighths and rttvar in quarters of a millisecond.
_SET = number(32, 1)
METRICS = table(
    (
        Attr("mtu", number(32, 1, 0xFFFF - 15), "The largest packet on this path.", 2),
        Attr("window", _SET, "The largest TCP window to advertise.", 3),
        Attr("rtt", number(32, 1, (1 << 29) - 1, scale=8), "The initial round-trip time in milliseconds.", 4),
        Attr("rttvar", number(32, 1, (1 << 30) - 1, scale=4), "Its initial variance in milliseconds.", 5),
        Attr("ssthresh", _SET, "The initial slow-start threshold.", 6),
        Attr("cwnd", _SET, "The clamp of the congestion window.", 7),
        Attr("advmss", number(32, 1, 0xFFFF - 40), "The TCP segment size to advertise.", 8),
        Attr("reordering", _SET, "How much reordering to expect.", 9),
        Attr("hoplimit", number(32, 1, 255), "The hop limit of packets sent.", 10),
        Attr("initcwnd", _SET, "The initial congestion window.", 11),
        Attr("features", _FEATURES, "What TCP may use: ecn, tcp_usec_ts.", 12),
        Attr("rto_min", _SET, "The least retransmission timeout in milliseconds.", 13),
        Attr("initrwnd", _SET, "The initial receive window.", 14),
        Attr("quickack", number(32, 1, 1), "Acknowledge at once.", 15),
        Attr("congctl", string(15), "The TCP congestion control.", 16),
        Attr("fastopen_no_cookie", number(32, 1, 1), "TCP Fast Open without a cookie.", 17),
    )
)
_NOT_LOCKABLE = frozenset({"congctl", "features", "fastopen_no_cookie"})
LOCKABLE = {name: row.wire for name, row in METRICS.items() if name not in _NOT_LOCKABLE}

CLASS = Class(
    "route",
    "A route.",
    (
        Attr("family", word(8, FAMILIES), "inet, inet6 or mpls; known from the destination."),
        Attr("table", TABLE, "The routing table, 254 (main) if not mentioned."),
        Attr("to", DESTINATION, "The destination."),
        Attr("tos", TOS, "The type of service it is for."),
        Attr("metric", U32, "Of several routes the one with the lowest is used; IPv6: 1024 if not mentioned."),
    ),
    table(
        (
            Attr("type", word(8, TYPES), "What happens to the packet."),
            Attr("via", IP, "The gateway, of either IP version.", 5, nullable=True),
            Attr("dev", LINK, "The link to send on.", 4, nullable=True),
            Attr("onlink", FLAG, "Take the gateway to be on this link."),
            Attr("nexthops", several(NEXTHOP), "Several ways, used by weight.", 9, nullable=True),
            Attr("nhid", number(32, 1), "The nexthop object to use.", 30, nullable=True),
            Attr("realm", REALM, "The realm that packets go to (IPv4), for classes and counters.", 11, nullable=True),
            Attr("src", IP, "The source address to prefer.", 7, nullable=True),
            Attr("scope", word(8, _SCOPES), "How far the destination is (IPv4)."),
            Attr("pref", word(8, PREFERENCES), "Router preference (IPv6).", 20),
            Attr("encap", ENCAP, "The lightweight tunnel to send through.", 22, nullable=True),
            Attr("as", several(LABEL), "The labels that replace an MPLS destination.", 19, nullable=True),
            Attr("ttl_propagate", FLAG, "Carry the TTL over into MPLS.", 26, nullable=True),
            Attr(
                "lock",
                several(word(32, LOCKABLE), unique=True),
                "Metrics that path discovery must not change.",
                nullable=True,
            ),
            *(row._replace(nullable=True) for row in METRICS.values()),
        )
    ),
)


def as_kept(attrs: Attrs) -> Attrs:
    """``attrs`` as the kernel has them: a list of one way is that way, unless something beside it says one too."""
    ways = attrs.get("nexthops")
    if not isinstance(ways, tuple) or len(ways) != 1 or any(attrs.get(name) for name in WAY - {"nexthops"}):
        return attrs
    (way,) = ways
    assert isinstance(way, Mapping)
    beside = {name: value for name, value in attrs.items() if name not in WAY}
    return {**beside, **{name: value for name, value in way.items() if name != "weight"}}


def finds_its_link(attrs: Attrs) -> bool:
    """Whether the kernel finds the link of a gateway by itself; one that any link may have does not tell it."""
    via = str(attrs.get("via") or "")
    return bool(via) and not attrs.get("onlink") and not via.startswith("fe80:")


def family_of(destination: str) -> str:
    """The family whose routes have this destination: a label, or a network of IPv4 or IPv6."""
    if destination.isdigit():
        return "mpls"
    return "inet6" if ":" in destination else "inet"


def key(destination: str, *, family: str = "", table: int = MAIN_TABLE, tos: int = 0, metric: int | None = None) -> Key:
    """The key of the route to ``destination``; "default" needs the family, others tell it."""
    family = family or family_of(destination)
    if destination == "default":
        destination = _DEFAULTS[family]
    if family == "inet6":
        metric = metric or IP6_USER_METRIC
    return (family, table, destination, tos, metric or 0)


def source_of(obj: Object) -> str:
    """The IPv6 address that a route is told to send from; "" for what has none."""
    source = str(obj.attrs.get("src") or "") if obj.cls == "route" else ""
    return source if ":" in source else ""
