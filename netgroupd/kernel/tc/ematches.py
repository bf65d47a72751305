# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the classifier basic as attributes, and back."""

import struct

from netgroupd.kernel.message import attr, attributes, nest, walk
from netgroupd.model.tc.ematch import CMP, NOT, U32, Cmp, Condition, Word, conditions_text, read_conditions

TREE = 2
_TREE_HEADER, _LIST = 1, 2
_COUNT = struct.Struct("=HH")  # conditions, program
_HEADER = struct.Struct("=HHHH")  # id, kind, flags, -
_CMP = struct.Struct("=IIHBB")  # value, mask, offset, size, layer and sign
_MASKED, _PLACE = struct.Struct(">II"), struct.Struct("=iI")
_JOINED = 3


def pack(text: str) -> bytes:
    """The attribute for conditions."""
    found = read_conditions(text)
    listed = [attr(place, _pack_one(one)) for place, one in enumerate(found, 1)]
    return nest(TREE, attr(_TREE_HEADER, _COUNT.pack(len(found), 0)), nest(_LIST, *listed))


def _pack_one(condition: Condition) -> bytes:
    of, inverted, joined = condition
    if isinstance(of, Cmp):
        kind, payload = CMP, _CMP.pack(of.value, of.mask, of.offset, of.size, of.layer | of.sign << 4)
    else:
        kind, payload = U32, _MASKED.pack(of.mask, of.value) + _PLACE.pack(of.offset, 0)
    return _HEADER.pack(0, kind, joined | NOT * inverted, 0) + payload


def unpack(payload: memoryview) -> str:
    """The text of conditions; where one is of a kind that netgroupd does not know, only that."""
    listed = attributes(payload).get(_LIST, memoryview(b""))
    found = []
    for _, begin, _ in walk(listed):
        _, kind, flags, _ = _HEADER.unpack_from(listed, begin)
        start = begin + _HEADER.size
        if kind == CMP:
            value, mask, offset, size, rest = _CMP.unpack_from(listed, start)
            of: Cmp | Word = Cmp(size & 0xF, offset, rest & 0xF, mask, rest >> 4, value)
        elif kind == U32:
            mask, value = _MASKED.unpack_from(listed, start)
            of = Word(value, mask, _PLACE.unpack_from(listed, start + _MASKED.size)[0])
        else:
            return f"a condition of kind {kind}"
        found.append(Condition(of, bool(flags & NOT), flags & _JOINED))
    return conditions_text(found)
