# SPDX-License-Identifier: GPL-2.0-or-later
"""(rule of traffic control, packet) -> whether it matches: yes, no, or that nothing here tells.

Nothing tells of programs, of marks, of the state of connections, of extended
matches but those of the header of IP, of hash tables of u32, or of whatever is not known of the packet.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import chain
from operator import eq, gt, lt

from netgroupd.engine.guard.packet import Packet
from netgroupd.model.rule import split_span
from netgroupd.model.state import Object
from netgroupd.model.tc.ematch import AND, NETWORK, Bytes, Cmp, Condition, Meta, Word, read_conditions
from netgroupd.model.tc.flower import KEYS, SPAN_NUMBERS
from netgroupd.model.tc.layers import ADDRESSES
from netgroupd.model.tc.masked import halves
from netgroupd.model.tc.u32 import read_word
from netgroupd.model.value import Value

_COMPARED = (eq, gt, lt)  # as ematches number them
_NONE = {"0.0.0.0/0": "ip", "::/0": "ipv6"}


class Fit(Enum):
    """Whether a rule matches a packet."""

    NO = 0
    MAYBE = 1
    YES = 2


def fit(rule: Object, packet: Packet, indev: str) -> Fit:
    """Whether ``rule`` matches ``packet``, which came in by ``indev``, "" where that is not known."""
    protocol = rule.attrs.get("protocol", "all")
    sure = protocol in ("all", packet.outermost)
    if not sure and packet.outermost:
        return Fit.NO
    kind, match = rule.attrs.get("kind"), rule.key[4]
    assert isinstance(match, tuple)
    if kind == "flower":
        found = _flower(dict(match), packet, indev)  # type: ignore[arg-type]  # pairs
    elif kind == "u32":
        found = _u32(dict(match), packet, indev)  # type: ignore[arg-type]  # pairs
    elif kind == "basic" and match:
        found = _basic(dict(match), packet)  # type: ignore[arg-type]  # pairs
    else:
        found = Fit.YES if kind in ("matchall", "basic") else Fit.MAYBE
    return found if sure or found is Fit.NO else Fit.MAYBE


def _all(parts: Iterable[Fit]) -> Fit:
    """Whether a rule matches of which each part must."""
    found = Fit.YES
    for part in parts:
        if part is Fit.NO:
            return Fit.NO
        if part is Fit.MAYBE:
            found = Fit.MAYBE
    return found


def _flower(match: Mapping[str, Value], packet: Packet, indev: str) -> Fit:
    return _all(_key(name, value, packet, indev) for name, value in match.items())


def _key(name: str, value: Value, packet: Packet, indev: str) -> Fit:
    """Whether one key of flower has such a value in the packet."""
    have = packet.known.get(name)
    if have is not None:
        return _YES_NO[have == value or (isinstance(value, str) and _covers(name, value, have))]
    if name == "indev" and indev:
        return _YES_NO[value == indev]
    if name in ("src_ip", "dst_ip") and value in _NONE:
        return _YES_NO[_NONE[str(value)] == packet.protocol] if packet.protocol else Fit.MAYBE
    if packet.tags:
        tagged = _of_tags(packet)
        return _YES_NO[tagged[name] == value] if name in tagged else Fit.MAYBE
    return Fit.MAYBE


_YES_NO = {True: Fit.YES, False: Fit.NO}


def _of_tags(packet: Packet) -> Mapping[str, Value]:
    """What flower reads of the tags."""
    found: dict[str, Value] = {"num_of_vlans": len(packet.tags)}
    inside = [*(protocol for protocol, _ in packet.tags[1:]), packet.protocol]
    for name, (_, number), protocol in zip(("vlan", "cvlan"), packet.tags, inside, strict=False):
        found[f"{name}_id"] = number
        if protocol:
            found[f"{name}_ethtype"] = protocol
    return found


def _covers(name: str, value: str, have: Value) -> bool:
    """Whether a span, or a value with a mask, is about what the packet has."""
    if name in SPAN_NUMBERS and "-" in value:
        first, last = split_span(value)
        return first <= int(str(have)) <= last
    pack = KEYS[name].type.pack
    if "/" not in value or pack is None or (name in ADDRESSES and (":" in value) != (":" in str(have))):
        return False
    (wanted, mask), (there, _) = halves(pack(value)), halves(pack(have))
    return all(byte & kept == want for byte, kept, want in zip(there, mask, wanted, strict=True))


def _u32(match: Mapping[str, Value], packet: Packet, indev: str) -> Fit:
    """U32 looks from the header of IP on, which is behind one tag and nobody knows where behind two."""
    if match.keys() & {"divisor", "link"}:
        return Fit.NO  # these lead to others
    words = match.get("match", ())
    assert isinstance(words, tuple)
    parts = [Fit.MAYBE] if match.keys() & {"mark", "table"} else []
    if "indev" in match:
        parts.append(_YES_NO[match["indev"] == indev] if indev else Fit.MAYBE)
    return _all(chain(parts, (_word(str(text), packet) for text in words)))


def _word(text: str, packet: Packet) -> Fit:
    word = read_word(text)
    if word.nexthdr or word.offset < 0:
        return Fit.YES if not word.mask else Fit.MAYBE
    return _masked(packet, word.offset, word.value.to_bytes(4, "big"), word.mask.to_bytes(4, "big"))


def _masked(packet: Packet, offset: int, wanted: bytes, mask: bytes) -> Fit:
    """Whether bytes of the header of IP are as ``wanted``, where ``mask`` has bits."""
    there, known = (_bytes_at(half, offset, len(mask)) for half in packet.header)
    kept, value = int.from_bytes(mask, "big"), int.from_bytes(wanted, "big")
    if len(packet.tags) > 1:
        return Fit.MAYBE if kept else Fit.YES
    if (there ^ value) & kept & known:
        return Fit.NO
    return Fit.MAYBE if kept & ~known else Fit.YES


def _bytes_at(half: bytes, offset: int, size: int) -> int:
    return int.from_bytes(half[offset : offset + size].ljust(size, b"\0"), "big")


def _basic(match: Mapping[str, Value], packet: Packet) -> Fit:
    return _conditions(read_conditions(str(match["match"])), packet)


def _conditions(conditions: tuple[Condition, ...], packet: Packet) -> Fit:
    """Each is joined with all that comes behind it."""
    found = Fit.YES
    for one in reversed(conditions):
        here = _condition(one.of, packet)
        here = Fit(Fit.YES.value - here.value) if one.inverted else here
        joined = min if one.joined == AND else max
        found = joined(here, found, key=lambda each: each.value) if one.joined else here
    return found


def _condition(of: Cmp | Word | Bytes | Meta | tuple[Condition, ...], packet: Packet) -> Fit:
    if isinstance(of, Word):
        return _masked(packet, of.offset, of.value.to_bytes(4, "big"), of.mask.to_bytes(4, "big"))
    if isinstance(of, Cmp):
        mask = of.mask or (1 << 8 * of.size) - 1
        there, known = (_bytes_at(half, of.offset, of.size) for half in packet.header)
        if of.layer != NETWORK or len(packet.tags) > 1 or mask & ~known:
            return Fit.MAYBE
        return _YES_NO[_COMPARED[of.sign](there & mask, of.value)]
    return Fit.MAYBE if isinstance(of, Bytes | Meta) else _conditions(of, packet)
