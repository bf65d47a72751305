# SPDX-License-Identifier: GPL-2.0-or-later
"""Which field of an entry comes first, for ranges are made of that: the one in which most entries differ."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from netgroupd.model.value import Value

_Fields = Mapping[str, Value]
_LEADING = {  # MACs are no decimal numbers
    "fdb": ("dev", "dst", "vlan", "src_vni"),
    "mdb": ("group", "vid"),
    "neighbour": ("dev", "ip"),
    "route": ("to", "table"),
}


def led(cls: str, entries: Sequence[_Fields]) -> Iterator[dict[str, Value]]:
    """The entries of a class, each beginning with the field by which it is one of the most; in their order."""
    names = _LEADING.get(cls, ())
    alike = Counter(_without(name, names, fields) for fields in entries for name in names if name in fields)
    for fields in entries:
        found = [name for name in names if name in fields]
        first = max(found, key=lambda name: alike[_without(name, names, fields)], default="")
        yield {first: fields[first], **fields} if first else {**fields}


def _without(name: str, names: tuple[str, ...], fields: _Fields) -> tuple[object, ...]:
    """What entries that differ in one field have in common."""
    return (name, *(fields.get(other) for other in names if other != name), *fields)
