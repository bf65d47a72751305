# SPDX-License-Identifier: GPL-2.0-or-later
"""Matches of the flower classifier as attributes, and back.

The same few values come back in thousands of rules, so both ways remember what
they have worked out.
"""

import struct
from collections.abc import Iterable, Mapping
from socket import inet_aton

from netgroupd.kernel.message import attr
from netgroupd.model.rule import PROTOCOLS, span_text, split_span
from netgroupd.model.tc.flower import KEYS, SPAN_NUMBERS, FlowerKey, Wire
from netgroupd.model.tc.masked import halves
from netgroupd.model.value import Value

ETH_TYPE = 8
_MEMO = 1 << 16
_ALL = b"\xff" * 16
_IPV4 = struct.Struct("=HH4sHH4s")
_BE16 = struct.Struct(">H")

_BY_NUMBER: dict[int, tuple[FlowerKey, Wire]] = {
    wire.value: (key, wire) for key in KEYS.values() for wire in key.variants.values()
}
_SPANS = {numbers[0]: (name, numbers[1]) for name, numbers in SPAN_NUMBERS.items()}

Match = Iterable[tuple[str, Value]]


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
    assert key.type.pack is not None, name
    packed = key.type.pack(value)
    variants = key.variants
    wire = variants.get(0) or variants.get(transport) or variants.get(len(packed) // 2) or next(iter(variants.values()))
    if not wire.mask:
        return attr(wire.value, packed)
    value_half, mask_half = halves(packed)
    return attr(wire.value, value_half) + attr(wire.mask, mask_half)


class _Packer:
    """Remembers values that come again; whole IPv4 addresses seldom do, and have a shorter way."""

    def __init__(self) -> None:
        self._memo: dict[tuple[str, Value, int], bytes] = {}
        self._ipv4 = {
            name: (KEYS[name].variants.get(4) or KEYS[name].variants[0])
            for name in ("src_ip", "dst_ip", "enc_src_ip", "enc_dst_ip")
        }

    def pack(self, match: Match) -> bytes:
        match = tuple(match)
        transport = _transport(match) if len(match) > 1 else 0
        return b"".join([self._one(name, value, transport) for name, value in match])

    def _one(self, name: str, value: Value, transport: int) -> bytes:
        if name in self._ipv4 and isinstance(value, str) and "/" not in value and ":" not in value:
            wire = self._ipv4[name]
            return _IPV4.pack(8, wire.value, inet_aton(value), 8, wire.mask, b"\xff\xff\xff\xff")
        memo, known = self._memo, (name, value, transport)
        if (got := memo.get(known)) is None:
            got = _pack_value(KEYS[name], value, transport)
            if len(memo) > _MEMO:
                memo.clear()
            memo[known] = got
        return got


pack = _Packer().pack


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
            value += bytes(found[wire.mask]) if wire.mask in found else _ALL[: len(value)]
        match[key.name] = key.type.unpack(value)
    return match


def options(match: Match, protocol: int) -> bytes:
    """The attributes for a rule of one protocol; 3, all of them, is said by saying none."""
    packed = pack(match)
    return packed if protocol == 3 else attr(ETH_TYPE, _BE16.pack(protocol)) + packed
