# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the classifier basic as attributes, and back."""

import struct
from collections.abc import Mapping

from netgroupd.kernel.netlink.message import attr, attributes, nest, u32, walk
from netgroupd.model.tc.ematch import (
    CMP,
    CONTAINER,
    META,
    NBYTE,
    NOT,
    U32,
    Bytes,
    Cmp,
    Condition,
    Meta,
    Single,
    Word,
    conditions_text,
    flat,
    read_conditions,
)

TREE = 2
UNKNOWN = "a condition of kind"
_TREE_HEADER, _LIST = 1, 2
_COUNT = struct.Struct("=HH")  # conditions, program
_HEADER = struct.Struct("=HHHH")  # id, kind, flags, -
_CMP = struct.Struct("=IIHBB")  # value, mask, offset, size, layer and sign
_MASKED, _PLACE = struct.Struct(">II"), struct.Struct("=iI")
_NBYTE = struct.Struct("=HH")  # offset, length and layer
_LENGTH, _LAYER_SHIFT = 0xFFF, 12
_META = struct.Struct("=HBBHBB")  # what is left and right of the sign: kind, shift, sign
_META_HEADER, _LEFT, _RIGHT = 1, 2, 3
_TEXT, _INT, _TYPE_SHIFT, _WHAT = 0, 1, 12, 0x7FF
_REFERENCE = struct.Struct("=I")
_JOINED = 3


def pack(text: str) -> bytes:
    """The attribute for conditions."""
    found = flat(read_conditions(text))
    listed = [attr(place, _pack_one(one, begins)) for place, (one, begins) in enumerate(found, 1)]
    return nest(TREE, attr(_TREE_HEADER, _COUNT.pack(len(listed), 0)), nest(_LIST, *listed))


def _pack_one(condition: Condition, begins: int) -> bytes:
    of, inverted, joined = condition
    kind, payload = (CONTAINER, _REFERENCE.pack(begins)) if begins else _payload(of)  # type: ignore[arg-type]
    return _HEADER.pack(0, kind, joined | NOT * inverted, 0) + payload


def _payload(of: Single) -> tuple[int, bytes]:
    if isinstance(of, Cmp):
        return CMP, _CMP.pack(of.value, of.mask, of.offset, of.size, of.layer | of.sign << 4)
    if isinstance(of, Bytes):
        return NBYTE, _NBYTE.pack(of.offset, len(of.value) | of.layer << _LAYER_SHIFT) + of.value
    if isinstance(of, Word):
        return U32, _MASKED.pack(of.mask, of.value) + _PLACE.pack(of.offset, 0)
    kind = (_TEXT if isinstance(of.value, str) else _INT) << _TYPE_SHIFT
    header = attr(_META_HEADER, _META.pack(kind | of.what, of.shift, of.sign, kind, 0, of.sign))
    mask = u32(_LEFT, of.mask) if of.mask else b""
    right = attr(_RIGHT, of.value.encode()) if isinstance(of.value, str) else u32(_RIGHT, of.value)
    return META, header + mask + right


def unpack(payload: memoryview) -> str:
    """The text of conditions; where one is of a kind that netgroupd does not know, only that."""
    listed = attributes(payload).get(_LIST, memoryview(b""))
    parts = []
    for _, begin, end in walk(listed):
        _, kind, flags, _ = _HEADER.unpack_from(listed, begin)
        inside = listed[begin + _HEADER.size : end]
        of = _REFERENCE.unpack_from(inside)[0] if kind == CONTAINER else _read(kind, inside)
        if of is None:
            return f"{UNKNOWN} {kind}"
        parts.append((of, flags))
    return conditions_text(_sequence(parts, 0)) if parts else ""


def _sequence(parts: list[tuple[Single | int, int]], begin: int) -> tuple[Condition, ...]:
    """The conditions from one place to the first that joins no other; references point forward."""
    found = []
    for of, flags in parts[begin:]:
        single = _sequence(parts, of) if isinstance(of, int) else of
        found.append(Condition(single, bool(flags & NOT), flags & _JOINED))
        if not flags & _JOINED:
            break
    return tuple(found)


def _read(kind: int, payload: memoryview) -> Single | None:
    if kind == CMP:
        value, mask, offset, size, rest = _CMP.unpack_from(payload)
        if size >> 4:  # in the order of the host, which no file can say
            return None
        return Cmp(size & 0xF, offset, rest & 0xF, mask, rest >> 4, value)
    if kind == NBYTE:
        offset, rest = _NBYTE.unpack_from(payload)
        length = rest & _LENGTH
        return Bytes(bytes(payload[_NBYTE.size : _NBYTE.size + length]), offset, rest >> _LAYER_SHIFT)
    if kind == U32:
        mask, value = _MASKED.unpack_from(payload)
        offset, behind = _PLACE.unpack_from(payload, _MASKED.size)
        return None if behind else Word(value & mask, mask, offset)  # nexthdr+ no file can say
    return _read_meta(attributes(payload)) if kind == META else None


def _read_meta(found: Mapping[int, memoryview]) -> Meta:
    left, shift, sign, _, _, _ = _META.unpack_from(found[_META_HEADER])
    right = bytes(found.get(_RIGHT, b""))
    told = right.decode(errors="replace") if left >> _TYPE_SHIFT == _TEXT else int.from_bytes(right, "little")
    return Meta(left & _WHAT, shift, int.from_bytes(found.get(_LEFT, b""), "little"), sign, told)
