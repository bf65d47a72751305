# SPDX-License-Identifier: GPL-2.0-or-later
"""The actions that rewrite addresses: nat, without state, and ct, with connection tracking."""

import struct
from collections.abc import Mapping
from operator import or_

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr, text, u8, u16
from netgroupd.model.rule import IPPROTO
from netgroupd.model.tc.action import FIELDS
from netgroupd.model.tc.helper import FAMILIES, Helper, read_helper
from netgroupd.model.tc.masked import halves, kept
from netgroupd.model.tc.nat import Range, read_range
from netgroupd.model.value import Value, ip_bytes, ip_text, split_prefix

Fields = Mapping[str, Value]

_NAT = struct.Struct("=4s4s4sI")  # old, new, mask, flags
_EGRESS = 1

_CT_ACTION, _ZONE, _MARK, _MARK_MASK, _LABELS, _LABELS_MASK = 3, 4, 5, 6, 7, 8
_ADDRESSES = {4: (9, 10), 16: (11, 12)}
_PORTS = (13, 14)
_CT_FLAGS = {"commit": 1, "force": 2, "clear": 4, "nat": 8}
_NAT_SIDES = {"nat_src": 16, "nat_dst": 32}
_HELPER, _HELPER_FAMILY, _HELPER_PROTOCOL = 16, 17, 18
_FAMILY_NAMES = {number: name for name, number in FAMILIES.items()}
_BE16 = struct.Struct(">H")


def pack_nat(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    """The structure of a rewriting without state."""
    old, length = split_prefix(str(fields["old"]))
    mask = ((0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF).to_bytes(4, "big")
    return _NAT.pack(old, ip_bytes(str(fields["new"])), mask, _EGRESS if fields["direction"] == "egress" else 0), b""


def unpack_nat(rest: bytes, _found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    """The fields of a rewriting without state."""
    old, new, mask, flags = _NAT.unpack_from(rest)
    length = int.from_bytes(mask, "big").bit_count()
    direction = "egress" if flags & _EGRESS else "ingress"
    return {"direction": direction, "old": f"{ip_text(old)}/{length}", "new": ip_text(new)}


def _pack_range(said: str) -> bytes:
    addresses, ports = read_range(said)
    parts = [*zip(_ADDRESSES[len(addresses[0])], addresses, strict=True)]
    parts += zip(_PORTS, map(_BE16.pack, ports), strict=False)
    return b"".join(attr(number, payload) for number, payload in parts)


def _read_range(found: Mapping[int, memoryview]) -> str:
    for numbers in _ADDRESSES.values():
        if numbers[0] in found:
            low, high = (bytes(found[number]) for number in numbers)
            ports = tuple(int.from_bytes(found[number], "big") for number in _PORTS if number in found)
            return str(Range((low, high), ports))
    return ""


def _pack_helper(said: str) -> bytes:
    helper = read_helper(said)
    assert IPPROTO.pack
    protocol = IPPROTO.pack(helper.protocol)
    return text(_HELPER, helper.name) + u8(_HELPER_FAMILY, FAMILIES[helper.family]) + attr(_HELPER_PROTOCOL, protocol)


def _read_helper(found: Mapping[int, memoryview]) -> str:
    """The kernel tells of each helper all three; one that is of any family has none of these."""
    assert IPPROTO.unpack
    family = _FAMILY_NAMES.get(found[_HELPER_FAMILY][0], "any")
    protocol = IPPROTO.unpack(bytes(found[_HELPER_PROTOCOL]))
    return str(Helper(family, protocol, bytes(found[_HELPER]).rstrip(b"\0").decode()))


def pack_ct(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    """The attributes of connection tracking."""
    bits = sum(bit for name, bit in _CT_FLAGS.items() if fields.get(name))
    more = b""
    for name, bit in _NAT_SIDES.items():
        if name in fields:
            bits |= bit | _CT_FLAGS["nat"]
            more += _pack_range(str(fields[name]))
    for name, numbers in (("mark", (_MARK, _MARK_MASK)), ("label", (_LABELS, _LABELS_MASK))):
        pack = FIELDS["ct"][name].pack
        if name in fields and pack:
            value, mask = halves(pack(fields[name]))
            more += attr(numbers[0], value) + attr(numbers[1], mask)
    zone = fields.get("zone")
    more += u16(_ZONE, zone) if isinstance(zone, int) else b""
    if "helper" in fields:
        more += _pack_helper(str(fields["helper"]))
    return b"", u16(_CT_ACTION, bits) + more


def unpack_ct(_rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    """The fields of connection tracking."""
    bits = int.from_bytes(found.get(_CT_ACTION, b""), "little")
    fields: dict[str, Value] = {name: bool(bits & bit) for name, bit in _CT_FLAGS.items()}
    fields |= {name: _read_range(found) for name, bit in _NAT_SIDES.items() if bits & bit}
    if _ZONE in found:
        fields["zone"] = int.from_bytes(found[_ZONE], "little")
    for name, numbers in (("mark", (_MARK, _MARK_MASK)), ("label", (_LABELS, _LABELS_MASK))):
        unpack = FIELDS["ct"][name].unpack
        if numbers[0] in found and unpack:
            value, mask = (bytes(found[number]) for number in numbers)
            # What a mark has beside its mask is set too.
            mask = bytes(map(or_, value, mask)) if name == "mark" else mask
            fields[name] = unpack(kept(value, mask) + mask)
    if _HELPER in found:
        fields["helper"] = _read_helper(found)
    return fields
