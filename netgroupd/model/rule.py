# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy routing rules, under ``ip rule``'s names.

A rule is told apart by its preference and everything that it selects by; it
cannot be changed, only replaced.
"""

import re
from collections.abc import Mapping

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.family import OF_IP
from netgroupd.model.route import REALM, TABLE, TOS
from netgroupd.model.state import Attrs, Key
from netgroupd.model.value import FLAG, NAME, NETWORK, U32, Type, Value, number, several, string, word

ACTIONS = {"lookup": 1, "goto": 2, "nop": 3, "blackhole": 6, "unreachable": 7, "prohibit": 8}
PROTOCOLS = {
    "icmp": 1,
    "igmp": 2,
    "tcp": 6,
    "udp": 17,
    "gre": 47,
    "esp": 50,
    "ah": 51,
    "icmpv6": 58,
    "l2tp": 115,
    "sctp": 132,
    "udplite": 136,
}

_NAMED = word(8, PROTOCOLS)
_PROTOCOL = number(8, 1)  # 0 is any


def _parse_protocol(raw: object) -> Value:
    try:
        return _NAMED.parse(raw)
    except ValueError:
        pass
    try:
        return _PROTOCOL.parse(raw)
    except ValueError:
        raise ValueError(f"expected {_NAMED.expected}, or a number") from None


IPPROTO = _NAMED._replace(
    expected=f"{_NAMED.expected}, or a number",
    parse=_parse_protocol,
    schema={"anyOf": [_NAMED.schema, _PROTOCOL.schema]},
)

_MARK = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)(?:/(0[xX][0-9a-fA-F]+|[0-9]+))?")
_ALL = 0xFFFFFFFF


def split_mark(text: str) -> tuple[int, int]:
    """A mark and its mask; without one every bit counts."""
    mark, _, mask = text.partition("/")
    return int(mark, 0), int(mask, 0) if mask else _ALL


def mark_text(mark: int, mask: int) -> str:
    """A mark as ``ip`` prints it: 0x1, or 0x1/0xff where not every bit counts."""
    return hex(mark) if mask == _ALL else f"{hex(mark)}/{hex(mask)}"


def _parse_mark(raw: object) -> Value:
    if isinstance(raw, bool) or not (found := _MARK.fullmatch(str(raw))):
        raise ValueError("expected a mark like 0x1 or 0x1/0xff")
    mark, mask = (int(part, 16 if part[:2].lower() == "0x" else 10) for part in (found[1], found[2] or hex(_ALL)))
    if max(mark, mask) > _ALL or mark & ~mask:
        raise ValueError("expected a mark of 32 bits, and no bit in it that the mask leaves out")
    if not mask:
        raise ValueError("expected a mask with a bit in it: without any it selects by nothing")
    return mark_text(mark, mask)


MARK = Type("a mark like 0x1 or 0x1/0xff", _parse_mark, {"type": ["string", "integer"]})


def span(bits: int, low: int = 0) -> Type:
    """A number or a span of numbers like 80-90, as the text that ``ip`` prints."""
    end = number(bits, low)
    expected = f"a number or a span like {low + 1}-{low + 9}"

    def parse(raw: object) -> Value:
        first, dash, last = str(raw).partition("-")
        try:
            bounds = end.parse(first.strip()), end.parse((last if dash else first).strip())
        except ValueError:
            raise ValueError(f"expected {expected}") from None
        assert isinstance(bounds[0], int)
        assert isinstance(bounds[1], int)
        if bounds[0] > bounds[1]:
            raise ValueError(f"expected {expected}: {raw} ends before it begins")
        return span_text(bounds[0], bounds[1])

    return Type(expected, parse, {"type": ["string", "integer"]})


def span_text(first: int, last: int) -> str:
    """The canonical text of a span."""
    return str(first) if first == last else f"{first}-{last}"


def split_span(text: str) -> tuple[int, int]:
    """The first and last number of a span."""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


BY_KERNEL: Mapping[str, Mapping[int, int]] = {
    "inet": {0: 255, 32766: 254, 32767: 253},
    "inet6": {0: 255, 32766: 254},
}
"""The tables that the kernel's own rules look in, by preference."""

MISSING = "missing"
"""The mark of one of these that somebody has taken away; no file can ask for that."""

_GROUP = number(32, 0, _ALL - 1)  # the number above says that there is none
_SELECTORS = (
    Attr("not", FLAG, "Apply to what the rest does not match.", change=Change.RECREATE),
    Attr("from", NETWORK, "The source network.", 2, Change.RECREATE),
    Attr("to", NETWORK, "The destination network.", 1, Change.RECREATE),
    Attr("iif", NAME, "The link that the packet came in by; lo for what is sent from here.", 3, Change.RECREATE),
    Attr("oif", NAME, "The link that a socket is bound to.", 17, Change.RECREATE),
    Attr("fwmark", MARK, "The mark of the packet.", 10, Change.RECREATE),
    Attr("tos", TOS, "The type of service; of IPv4 at most 28.", change=Change.RECREATE),
    Attr("dscp", number(8, 0, 63), "The DSCP, 0 too (Linux 6.12).", 25, Change.RECREATE),
    Attr("ipproto", IPPROTO, "The protocol, by name or number.", 22, Change.RECREATE),
    Attr("sport", span(16, 1), "The source port.", 23, Change.RECREATE),
    Attr("dport", span(16, 1), "The destination port.", 24, Change.RECREATE),
    Attr("uidrange", span(32), "The users whose packets it is for.", 20, Change.RECREATE),
    Attr("tun_id", number(64, 1), "The id of the tunnel that the packet came by.", 12, Change.RECREATE),
    Attr("l3mdev", FLAG, "Only packets of a VRF; without another action they use its table.", 19, Change.RECREATE),
)
SELECTORS = frozenset(row.name for row in _SELECTORS)
_NETWORKS = ("from", "to")
TELLING_APART = frozenset({"action", "lookup", "suppress_prefixlength", "suppress_ifgroup"})
"""What the kernel takes two rules beside each other for that select the same."""

WAY = TELLING_APART | {"goto"}
"""What says together where a rule leads."""

CLASS = Class(
    "rule",
    "A rule that chooses the routing table.",
    (
        Attr("family", word(8, OF_IP), "inet or inet6."),
        Attr("pref", U32, "Its place among the rules; lower ones come first, and of the same the first in the files."),
        Attr("selectors", several(string()), "The names and values that it selects by."),
    ),
    table(
        (
            *_SELECTORS,
            Attr("action", word(8, ACTIONS), "What it does, lookup if not mentioned.", change=Change.RECREATE),
            Attr("lookup", TABLE, "The table to look in.", 15, Change.RECREATE),
            Attr("goto", U32, "The preference of the rule to go on with.", 4, Change.RECREATE),
            Attr("realms", REALM, "The realms of what it matches (IPv4).", 11, Change.RECREATE),
            Attr(
                "suppress_prefixlength", number(32, 0, 128), "Ignore routes this short or shorter.", 14, Change.RECREATE
            ),
            Attr("suppress_ifgroup", _GROUP, "Ignore routes by links of this group.", 13, Change.RECREATE),
        )
    ),
)


def key(family: str, pref: int, attrs: Mapping[str, Value]) -> Key:
    """The key of the rule with ``attrs``; a selector that is off or says nothing is none."""
    selected = ((name, attrs[name]) for name in sorted(SELECTORS & attrs.keys()))
    return (family, pref, tuple((name, value) for name, value in selected if _selects(name, value)))


def action_of(attrs: Attrs) -> str:
    """What a rule does, which need not be said."""
    return str(attrs.get("action") or ("goto" if "goto" in attrs else "lookup"))


def stands_beside(attrs: Attrs) -> bool:
    """Whether the kernel takes a rule beside one that differs from it in ``attrs``."""
    return not TELLING_APART.isdisjoint(attrs)


def without_whole(attrs: Attrs) -> Attrs:
    """``attrs`` without networks that are everything: the kernel does not tell them, for it selects by nothing."""
    whole = [name for name in _NETWORKS if name in attrs and not _selects(name, attrs[name])]
    return {name: value for name, value in attrs.items() if name not in whole} if whole else attrs


def _selects(name: str, value: Value) -> bool:
    """Whether a selector narrows anything: the whole network and tos 0 do not."""
    if name in _NETWORKS:
        return value not in (None, "default", "0.0.0.0/0", "::/0")
    return value is not None and value is not False and not (name == "tos" and value == 0)
