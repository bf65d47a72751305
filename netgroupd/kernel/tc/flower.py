# SPDX-License-Identifier: GPL-2.0-or-later
"""Matches of the flower classifier as attributes, and back.

The same few values come back in thousands of rules, so both ways remember what
they have worked out.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, repeat
from socket import AF_INET, inet_aton, inet_ntoa, inet_pton
from typing import NamedTuple

from netgroupd.kernel.netlink.message import attr, walk
from netgroupd.kernel.tc import flower_nests
from netgroupd.model.rule import PROTOCOLS, span_text, split_span
from netgroupd.model.tc.flower import KEYS, SPAN_NUMBERS, FlowerKey, Wire, mask_of
from netgroupd.model.tc.masked import MASKED_IP, halves, kept
from netgroupd.model.value import Value

ETH_TYPE = 8
_MEMO = 1 << 16
_ALL = b"\xff" * 16
_BE16 = struct.Struct(">H")
_IPV4 = int(AF_INET)

_BY_NUMBER: dict[int, tuple[FlowerKey, Wire]] = {
    wire.value: (key, wire) for key in KEYS.values() for wire in key.variants.values()
}
_SPANS = {numbers[0]: (name, numbers[1]) for name, numbers in SPAN_NUMBERS.items()}

NUMBERS = frozenset(
    {ETH_TYPE, *flower_nests.NUMBERS}
    | {number for _, wire in _BY_NUMBER.values() for number in wire}
    | {number for numbers in SPAN_NUMBERS.values() for number in numbers}
)
"""The attributes that are read."""

Match = tuple[tuple[str, Value], ...]
_Piece = bytes | list[bytes]
_NONE: Sequence[Value] = (None,)
Read = Callable[[bytes], Value]


class Alike(NamedTuple):
    """Of many matches what is the same at the beginning of all of them, what each has then, and what is behind that."""

    before: bytes
    differing: list[bytes]
    behind: bytes
    one_mask: bool
    """Whether they all have the same."""


def _transport(match: Match) -> int:
    """The number of ``ip_proto``, which decides what ports and types are."""
    for name, value in match:
        if name == "ip_proto":
            return value if isinstance(value, int) else PROTOCOLS[str(value)]
    return 0


def _pack_value(key: FlowerKey, value: Value, transport: int) -> bytes:
    name = key.name
    if name in SPAN_NUMBERS and "-" in str(value):
        first, last = split_span(str(value))
        low, high = SPAN_NUMBERS[name]
        return attr(low, _BE16.pack(first)) + attr(high, _BE16.pack(last))
    if key.type.pack is None:
        return flower_nests.pack(name, value)
    packed = key.type.pack(value)
    variants = key.variants
    wire = variants.get(0) or variants.get(transport) or variants.get(len(packed) // 2) or next(iter(variants.values()))
    if not wire.mask:
        return attr(wire.value, packed)
    value_half, mask_half = halves(packed)
    return attr(wire.value, value_half) + attr(wire.mask, mask_half)


def _is_same(values: Sequence[Value]) -> bool:
    return values[0] == values[-1] and values.count(values[0]) == len(values)


def _columns(matches: Sequence[Match]) -> dict[str, list[Value]] | None:
    """By name the values of matches that have the same names in the same order; None of others."""
    width = len(matches[0])
    if width == 1:
        return _column(matches)
    pairs = list(chain.from_iterable(matches))
    if len(pairs) != width * len(matches):
        return None
    said: dict[str, list[Value]] = {}
    for place in range(width):
        column = pairs[place::width]
        name = column[0][0]
        # No match has a name twice, so with one name in each column none is longer or shorter than the first.
        said[name] = [value for other, value in column if other == name]
        if len(said[name]) < len(column):
            return None
    return said


def _column(matches: Sequence[Match]) -> dict[str, list[Value]] | None:
    """The same where the first has one name alone, as most that come by the thousand."""
    name = matches[0][0][0]
    try:
        values = [value for ((other, value),) in matches if other == name]
    except ValueError:
        return None
    return {name: values} if len(values) == len(matches) else None


def _of_one_mask(name: str, values: Sequence[Value]) -> bool:
    return {*map(type, values)} == {int} or len({mask_of(name, value) for value in values}) == 1


def _merged(pieces: Sequence[_Piece], count: int, *, one_mask: bool) -> Alike:
    """Put together what is the same in all, and what differs with what is between."""
    places = [place for place, piece in enumerate(pieces) if isinstance(piece, list)]
    first, last = (places[0], places[-1] + 1) if places else (len(pieces), len(pieces))
    before, behind = (b"".join(some) for some in (pieces[:first], pieces[last:]))  # type: ignore[arg-type]  # no lists
    if last - first == 1:
        return Alike(before, pieces[first], behind, one_mask)  # type: ignore[arg-type]  # the list
    middle = [piece if isinstance(piece, list) else repeat(piece) for piece in pieces[first:last]]
    differing = list(map(b"".join, zip(*middle, strict=False))) if middle else [b""] * count
    return Alike(before, differing, behind, one_mask)


class _Packer:
    """Remembers values that come again; whole IPv4 addresses seldom do, and have a shorter way."""

    def __init__(self) -> None:
        self._memo: dict[tuple[str, Value, int], bytes] = {}
        self._ipv4 = {
            name: (attr(key.variants[4].value, bytes(4))[:4], attr(key.variants[4].mask, _ALL[:4]))
            for name, key in KEYS.items()
            if 4 in key.variants
        }

    def pack(self, match: Match) -> bytes:
        if len(match) == 1:
            return self._one(*match[0], 0)
        transport = _transport(match)
        return b"".join([self._one(name, value, transport) for name, value in match])

    def alike(self, matches: Sequence[Match]) -> Alike | None:
        """Matches of the same names and lengths, looked at by columns; None where they are not."""
        said = _columns(matches)
        if said is None or not _is_same(said.get("ip_proto", _NONE)):
            return None  # it decides what ports are
        transport = _transport(matches[0])
        pieces: list[_Piece] = []
        one_mask = True
        for name, values in said.items():
            if _is_same(values):
                pieces.append(self._one(name, values[0], transport))
            elif whole := self._whole_ipv4(name, values):
                pieces += whole
            else:
                differing = [self._one(name, value, transport) for value in values]
                if len(set(map(len, differing))) > 1:
                    return None
                pieces.append(differing)
                one_mask = one_mask and _of_one_mask(name, values)
        return _merged(pieces, len(matches), one_mask=one_mask)

    def _whole_ipv4(self, name: str, values: list[Value]) -> Sequence[_Piece]:
        """What IPv4 addresses without masks are; nothing if one is another."""
        if around := self._ipv4.get(name):
            with suppress(OSError):
                return around[0], [*map(inet_pton, repeat(_IPV4), values)], around[1]  # type: ignore[arg-type]
        return ()

    def _one(self, name: str, value: Value, transport: int) -> bytes:
        if around := self._ipv4.get(name):
            try:
                return around[0] + inet_aton(value) + around[1]  # type: ignore[arg-type]  # the type of its row: a text
            except OSError:  # it has a mask, or is of IPv6
                pass
        memo, known = self._memo, (name, value, transport)
        if (got := memo.get(known)) is None:
            got = _pack_value(KEYS[name], value, transport)
            if len(memo) > _MEMO:
                memo.clear()
            memo[known] = got
        return got


_packer = _Packer()
pack, alike = _packer.pack, _packer.alike


def unpack(found: Mapping[int, memoryview]) -> dict[str, Value]:
    """What a rule matches, out of the attributes of its options."""
    match: dict[str, Value] = {}
    for number, payload in found.items():
        if number in _SPANS:
            name, last = _SPANS[number]
            match[name] = span_text(int.from_bytes(payload, "big"), int.from_bytes(found[last], "big"))
            continue
        if (known := _BY_NUMBER.get(number)) is None:
            continue
        key, wire = known
        assert key.type.unpack is not None, key.name
        value = bytes(payload)
        if wire.mask:
            mask = bytes(found[wire.mask]) if wire.mask in found else _ALL[: len(value)]
            value = kept(value, mask) + mask
        match[key.name] = key.type.unpack(value)
    return match | flower_nests.unpack(found)


def values(payload: memoryview, start: int, end: int) -> Iterator[tuple[int, int, str, Read]]:
    """Where the values are that a rule matches, of what, and how to read others of the same mask."""
    spans = {number: (first, last) for number, first, last in walk(payload, start, end)}
    for number, (first, last) in spans.items():
        if known := _BY_NUMBER.get(number):
            key, wire = known
            mask = b""
            if wire.mask:
                mask = bytes(payload[slice(*spans[wire.mask])]) if wire.mask in spans else _ALL[: last - first]
            yield first, last, key.name, _reader(key, mask)


def _reader(key: FlowerKey, mask: bytes) -> Read:
    if key.type is MASKED_IP and mask == _ALL[:4]:
        return inet_ntoa
    unpack_ = key.type.unpack
    assert unpack_ is not None, key.name
    return lru_cache(_MEMO)(lambda value: unpack_(kept(value, mask) + mask if mask else value))


def options(match: Match, protocol: int) -> bytes:
    """The attributes for a rule of one protocol; 3, all of them, is said by saying none."""
    packed = pack(match)
    return packed if protocol == 3 else attr(ETH_TYPE, _BE16.pack(protocol)) + packed
