# SPDX-License-Identifier: GPL-2.0-or-later
"""Lightweight tunnels as attributes of routes and nexthops, and back."""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr, attributes, nest, u16
from netgroupd.model.encap import FIELDS, SEG6_ACTIONS, SEG6_MODES, plain
from netgroupd.model.value import Value, ip_bytes, ip_text

_NUMBERS = {"mpls": 1, "ip": 2, "ip6": 4, "seg6": 5, "seg6local": 7}
_KINDS = {number: kind for kind, number in _NUMBERS.items()}
_Record = Mapping[str, Value]

_TUNNEL_FLAGS = {"csum": 0x01, "key": 0x04, "seq": 0x08}
_FLAGS = 6
_SRH = struct.Struct("=BBBBBBH")  # next header, length, type, segments left, last, flags, tag
_SRH_TYPE = 4
_MODE = 4  # so many bytes, and then the header


def pack_labels(labels: Value) -> bytes:
    """A stack of MPLS labels, the last of which says that it is."""
    assert isinstance(labels, tuple)
    numbers = [label for label in labels if isinstance(label, int)]
    last = len(numbers) - 1
    return b"".join(struct.pack(">I", label << 12 | (place == last) << 8) for place, label in enumerate(numbers))


def unpack_labels(payload: bytes) -> tuple[int, ...]:
    """The labels of a stack."""
    return tuple(label >> 12 for (label,) in struct.iter_unpack(">I", payload))


def _tunnel(hops: str, traffic: str) -> dict[str, tuple[int, str]]:
    return {"id": (1, ">Q"), "dst": (2, ""), "src": (3, ""), hops: (4, "=B"), traffic: (5, "=B")}


_TUNNELS = {"ip": _tunnel("ttl", "tos"), "ip6": _tunnel("hoplimit", "tc")}


def _pack_tunnel(record: _Record, _names: Names) -> bytes:
    parts = []
    for name, (number, code) in _TUNNELS[str(record["type"])].items():
        if name in record:
            parts.append(attr(number, struct.pack(code, record[name]) if code else ip_bytes(str(record[name]))))
    flags = sum(bit for name, bit in _TUNNEL_FLAGS.items() if record.get(name))
    return b"".join(parts) + (attr(_FLAGS, struct.pack(">H", flags)) if flags else b"")


def _unpack_tunnel(kind: str, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    record: dict[str, Value] = {}
    for name, (number, code) in _TUNNELS[kind].items():
        if number in found:
            record[name] = struct.unpack(code, found[number])[0] if code else ip_text(bytes(found[number]))
    flags = int.from_bytes(found.get(_FLAGS, b""), "big")
    return record | {name: bool(flags & bit) for name, bit in _TUNNEL_FLAGS.items()}


def _pack_mpls(record: _Record, _names: Names) -> bytes:
    ttl = record.get("ttl")
    return attr(1, pack_labels(record["labels"])) + (attr(2, bytes((ttl,))) if isinstance(ttl, int) else b"")


def _unpack_mpls(_kind: str, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    record: dict[str, Value] = {"labels": unpack_labels(bytes(found[1]))}
    return record | ({"ttl": found[2][0]} if 2 in found else {})


def _header(segments: Value, *, inline: bool) -> bytes:
    """A segment routing header; inline, a place is kept for the packet's own destination."""
    assert isinstance(segments, tuple)
    path = [ip_bytes(str(segment)) for segment in segments] + [bytes(16)] * inline
    last = len(path) - 1
    return _SRH.pack(0, 2 * len(path), _SRH_TYPE, last, last, 0, 0) + b"".join(reversed(path))


def _segments(header: bytes, *, inline: bool) -> tuple[str, ...]:
    last = _SRH.unpack_from(header)[4]
    path = [ip_text(header[8 + 16 * place : 24 + 16 * place]) for place in range(last, -1, -1)]
    return tuple(path[:-1] if inline else path)


def _pack_seg6(record: _Record, _names: Names) -> bytes:
    mode = SEG6_MODES[str(record.get("mode", "encap"))]
    return attr(1, struct.pack("=i", mode) + _header(record["segs"], inline=mode == 0))


def _unpack_seg6(_kind: str, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    (mode,) = struct.unpack_from("=i", found[1])
    words = {number: word for word, number in SEG6_MODES.items()}
    return {"mode": words.get(mode, mode), "segs": _segments(bytes(found[1][_MODE:]), inline=mode == 0)}


class _Local(NamedTuple):
    """One attribute of a seg6local action."""

    number: int
    pack: Callable[[Value, Names], bytes]
    unpack: Callable[[bytes, Names], Value]


def _u32(value: Value, _names: Names) -> bytes:
    assert isinstance(value, int)
    return struct.pack("=I", value)


_NUMBER = (_u32, lambda payload, _names: int.from_bytes(payload, "little"))
_ADDRESS = (lambda value, _names: ip_bytes(str(value)), lambda payload, _names: ip_text(payload))
_LINK = (
    lambda value, names: struct.pack("=I", names.index(str(value))),
    lambda payload, names: names.name(int.from_bytes(payload, "little")),
)
_LOCALS = {
    "table": _Local(3, *_NUMBER),
    "nh4": _Local(4, *_ADDRESS),
    "nh6": _Local(5, *_ADDRESS),
    "iif": _Local(6, *_LINK),
    "oif": _Local(7, *_LINK),
    "vrftable": _Local(9, *_NUMBER),
}
_INLINE_ACTION = "End.B6"


def _pack_seg6local(record: _Record, names: Names) -> bytes:
    action = str(record["action"])
    parts = [attr(1, struct.pack("=I", SEG6_ACTIONS[action]))]
    if "segs" in record:
        parts.append(attr(2, _header(record["segs"], inline=action == _INLINE_ACTION)))
    parts += [attr(row.number, row.pack(record[name], names)) for name, row in _LOCALS.items() if name in record]
    return b"".join(parts)


def _unpack_seg6local(_kind: str, found: Mapping[int, memoryview], names: Names) -> dict[str, Value]:
    words = {number: word for word, number in SEG6_ACTIONS.items()}
    number = int.from_bytes(found[1], "little")
    action = words.get(number, number)
    record: dict[str, Value] = {"action": action}
    if 2 in found:
        record["segs"] = _segments(bytes(found[2]), inline=action == _INLINE_ACTION)
    for name, row in _LOCALS.items():
        if row.number in found:
            record[name] = row.unpack(bytes(found[row.number]), names)
    return record


_PACK: dict[str, Callable[[_Record, Names], bytes]] = {
    "ip": _pack_tunnel,
    "ip6": _pack_tunnel,
    "mpls": _pack_mpls,
    "seg6": _pack_seg6,
    "seg6local": _pack_seg6local,
}
_UNPACK: dict[str, Callable[[str, Mapping[int, memoryview], Names], dict[str, Value]]] = {
    "ip": _unpack_tunnel,
    "ip6": _unpack_tunnel,
    "mpls": _unpack_mpls,
    "seg6": _unpack_seg6,
    "seg6local": _unpack_seg6local,
}
_PAD = 7
_ATTRS: dict[str, frozenset[int]] = {
    **{kind: frozenset({_FLAGS, _PAD, *(number for number, _ in rows.values())}) for kind, rows in _TUNNELS.items()},
    "mpls": frozenset({1, 2}),
    "seg6": frozenset({1}),
    "seg6local": frozenset({1, 2, *(row.number for row in _LOCALS.values())}),
}
assert _PACK.keys() == _UNPACK.keys() == FIELDS.keys()


def pack_encap(record: Value, type_number: int, number: int, names: Names) -> bytes:
    """The two attributes that say what kind of tunnel it is and which."""
    assert isinstance(record, Mapping)
    kind = str(record["type"])
    return u16(type_number, _NUMBERS[kind]) + nest(number, _PACK[kind](record, names))


def says_all(kind_payload: memoryview, payload: memoryview) -> bool:
    """Whether the record of a tunnel has all that there is of it."""
    kind, found = _KINDS.get(int.from_bytes(kind_payload[:2], "little")), attributes(payload)
    if kind is None or not found.keys() <= _ATTRS[kind]:
        return False
    header = {"seg6": found.get(1, b"")[_MODE:], "seg6local": found.get(2, b"")}.get(kind)
    return not header or _is_bare(header)


def _is_bare(header: bytes | memoryview) -> bool:
    """Whether a segment routing header is its segments: no HMAC behind them, no flags, no tag."""
    _, length, _, _, last, flags, tag = _SRH.unpack_from(header)
    return length == 2 * (last + 1) and not flags and not tag


def unpack_encap(kind_payload: memoryview, payload: memoryview, names: Names) -> Value:
    """The record of a tunnel; None where it is of a kind that netgroupd does not know."""
    kind = _KINDS.get(int.from_bytes(kind_payload[:2], "little"))
    if kind is None:
        return None
    return plain({"type": kind, **_UNPACK[kind](kind, attributes(payload), names)})
