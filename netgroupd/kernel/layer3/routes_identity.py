# SPDX-License-Identifier: GPL-2.0-or-later
"""What tells a route apart, into a message and out of one."""

import struct
from collections.abc import Iterable, Mapping

from netgroupd.kernel.layer3.encap import pack_labels, unpack_labels
from netgroupd.kernel.netlink.message import attr, attributes, u32
from netgroupd.model.family import FAMILIES, FAMILY_NAMES, INET6, MPLS
from netgroupd.model.owner import BY_KERNEL, PROTO
from netgroupd.model.state import Key
from netgroupd.model.value import Value, ip_text, split_prefix

RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26
HEADER = struct.Struct("=BBBBBBBBI")  # family, dst and src length, tos, table, protocol, scope, type, flags
LENGTH, PROTOCOL = 1, 5  # where in the header they are
DST, _SRC, PRIORITY, TABLE = 1, 2, 6, 15
_LABEL = 20  # bits
_TYPE, _UNICAST = 7, 1
_BY_WAY_OF = (5, 9, 18)  # RTA_GATEWAY, _MULTIPATH, _VIA
_OF_ADDRESSES = {"inet": 0, "inet6": 256}


def key_of(payload: memoryview, found: Mapping[int, memoryview] | None = None) -> Key:
    """The key of the route of a message; ``found`` are its attributes, where they are read already."""
    found = attributes(payload, HEADER.size) if found is None else found
    family, length, origin, tos, table, *_ = HEADER.unpack_from(payload)
    number = int.from_bytes(found[TABLE], "little") if TABLE in found else table
    metric = int.from_bytes(found.get(PRIORITY, b""), "little")
    destination = _destination(family, length, found)
    if origin:  # an IPv6 route for what comes from there is another route
        destination += f" from {ip_text(bytes(found[_SRC]))}/{origin}"
    return (FAMILY_NAMES[family], number, destination, tos, metric)


def is_in_the_kernels_name(payload: memoryview, key: Key) -> bool:
    """Whether a program has made it as the kernel's: by way of a gateway, or to a network with a metric of its own."""
    if payload[PROTOCOL] != BY_KERNEL or payload[_TYPE] != _UNICAST:
        return False
    if has_a_gateway(attributes(payload, HEADER.size)):
        return True
    return key[4] != _OF_ADDRESSES.get(str(key[0]), key[4]) and not str(key[2]).startswith("fe80:")


def has_a_gateway(found: Mapping[int, memoryview]) -> bool:
    """Whether a route leads by one, or several ways; the kernel makes none of these by itself."""
    return not found.keys().isdisjoint(_BY_WAY_OF)


def lengths_of(keys: Iterable[Key]) -> frozenset[int]:
    """The prefix lengths of routes, by which most of a million others are told from them without reading more."""
    lengths = (str(key[2]).partition(" ")[0].partition("/")[2] for key in keys)
    return frozenset(int(length) if length else _LABEL for length in lengths)


def _destination(family: int, length: int, found: Mapping[int, memoryview]) -> str:
    if family == MPLS:
        return str(unpack_labels(bytes(found[DST]))[0])
    whole = bytes(found[DST]) if DST in found else bytes(16 if family == INET6 else 4)
    return f"{ip_text(whole)}/{length}"


def identity(key: Key, scope: int, kind: int, flags: int, proto: Value = PROTO) -> bytes:
    """What tells the route apart; a table past 255 has an attribute, for the header has no room."""
    family, table, destination, tos, metric = key
    assert isinstance(table, int)
    assert isinstance(tos, int)
    assert isinstance(metric, int)
    low = table if table < 256 else 0
    number = FAMILIES[str(family)]
    if family == "mpls":
        return HEADER.pack(number, _LABEL, 0, 0, low, proto, 0, kind, 0) + attr(
            DST, pack_labels((int(str(destination)),))
        )
    whole, length = split_prefix(str(destination))
    header = HEADER.pack(number, length, 0, tos, low, proto, scope, kind, flags)
    return header + attr(DST, whole) + u32(TABLE, table) + (u32(PRIORITY, metric) if metric else b"")
