# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the model as attributes of link messages: which number, which payload.

Most rows say it all themselves.  What the kernel holds in another way (several
rows in one number, lists, maps) has a ``Wire`` of its own in ``wire_special``.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr as pack_attr
from netgroupd.kernel.netlink.message import u32
from netgroupd.model.attr import Attr, Change
from netgroupd.model.state import NOTHING, Attrs
from netgroupd.model.value import IP4, IP6, U32, Value, ip_bytes, ip_text

_MEMO = 1 << 14


class Wire(NamedTuple):
    """One attribute of the kernel and the rows that it holds.

    ``pack`` makes the whole attribute out of what is asked for; its second
    argument is all that the link will have, for attributes that cannot be
    changed in part.  ``own``: it differs from link to link, so reading it is not
    worth remembering, and ``value`` reads it.  ``refers``: it is the number of a
    link.  ``written``: it is the one to write where several are read as one row.
    """

    number: int
    names: tuple[str, ...]
    pack: Callable[[Attrs, Attrs, Names], bytes]
    unpack: Callable[[bytes], Mapping[str, Value]]
    own: bool = False
    value: Callable[[bytes], Value] | None = None
    refers: bool = False
    written: bool = True


def simple(row: Attr, *, own: bool = False) -> Wire:
    """A row that is one attribute of one type."""
    pack, unpack = row.type.pack, row.type.unpack
    assert pack is not None, row.name
    assert unpack is not None, row.name
    name, number = row.name, row.wire
    memo: dict[Value, bytes] = {}

    def to_bytes(wanted: Attrs, _all: Attrs, _names: Names) -> bytes:
        value = wanted[name]
        # A dictionary takes True for 1: both are the same bytes here.
        if (got := memo.get(value)) is None:
            got = pack_attr(number, pack(value) if value is not None else b"")
            if len(memo) > _MEMO:
                memo.clear()
            memo[value] = got
        return got

    return Wire(number, (name,), to_bytes, lambda payload: {name: unpack(payload)}, own, unpack)


def reference(row: Attr) -> Wire:
    """A row that names another link; the kernel has its number, 0 for none."""
    name, number = row.name, row.wire

    def to_bytes(wanted: Attrs, _all: Attrs, names: Names) -> bytes:
        value = wanted[name]
        return u32(number, 0 if value is None else names.index(str(value)))

    def from_bytes(payload: bytes) -> Mapping[str, Value]:
        return {name: int.from_bytes(payload[:4], sys.byteorder)}

    return Wire(number, (name,), to_bytes, from_bytes, own=True, refers=True)


def nullable_address(row: Attr, size: int) -> Wire:
    """An address, of which the zero address means that there is none."""
    name, number = row.name, row.wire

    def to_bytes(wanted: Attrs, _all: Attrs, _names: Names) -> bytes:
        value = wanted[name]
        return pack_attr(number, bytes(size) if value is None else ip_bytes(str(value)))

    return Wire(number, (name,), to_bytes, lambda payload: {name: or_none(payload)}, True, or_none)


def or_none(payload: bytes) -> Value:
    """An address, or None for the zero address."""
    return ip_text(payload) if any(payload) else None


def presence(row: Attr) -> Wire:
    """A row that is true where the kernel has the attribute at all."""
    name, number, unpack = row.name, row.wire, row.type.unpack
    assert unpack is not None, name
    return Wire(
        number,
        (name,),
        lambda wanted, _all, _names: pack_attr(number, b"") if wanted[name] else b"",
        lambda payload: {name: unpack(payload)},
    )


def _number(row: Attr) -> Attr:
    # Expansion has turned the names of groups into their numbers.
    return row._replace(type=row.type._replace(pack=U32.pack, unpack=U32.unpack))


def plain(rows: Iterable[Attr]) -> list[Wire]:
    """The wires of all rows that need no other."""
    return [_wire(row) for row in rows if row.wire and (row.type.ref or row.type.unpack)]


def _wire(row: Attr) -> Wire:
    if row.type.ref == "link":
        return reference(row)
    if row.type.ref == "group":
        return simple(_number(row))
    if row.type.pack is None:
        return presence(row)
    if row.nullable and row.type in (IP4, IP6):
        return nullable_address(row, 4 if row.type is IP4 else 16)
    return simple(row, own=row.change is Change.RECREATE)


class Wires:
    """The attributes of one nest, by number for reading and by row for writing.

    A later one of a number takes the place of an earlier.  A row may take several
    attributes, as a key takes a flag that says there is one.
    """

    def __init__(self, wires: Iterable[Wire], absent: Attrs = NOTHING, restless: frozenset[int] = frozenset()) -> None:
        self.by_number = {wire.number: wire for wire in wires}
        self.by_name: dict[str, tuple[Wire, ...]] = {}
        self.absent = absent
        """What rows are when the kernel does not report them."""
        self.restless = restless
        """The attributes that no row is in and that change all the time."""
        for wire in self.by_number.values():
            for name in wire.names if wire.written else ():
                self.by_name[name] = (*self.by_name.get(name, ()), wire)

    def needed(self, names: Iterable[str]) -> tuple[Wire, ...]:
        """The attributes that the rows ``names`` take, each once and in order; the others are not ours."""
        found = {wire for name in names for wire in self.by_name.get(name, ())}
        return tuple(sorted(found, key=lambda wire: wire.number))


def absent(rows: Iterable[Attr]) -> Attrs:
    """What rows are when they are not reported: a flag is off, a list is empty."""
    found: dict[str, Value] = {}
    for row in rows:
        if row.silent:
            continue
        if row.type.schema.get("type") == "boolean":
            found[row.name] = False
        elif "oneOf" in row.type.schema and row.type.pack is None:
            found[row.name] = ()
    return found
