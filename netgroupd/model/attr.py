# SPDX-License-Identifier: GPL-2.0-or-later
"""One row for each attribute that a configuration can name, and one for each class of object.

Checking, the schema, the reference manual, dumping, encoding and comparing all
read these rows: an attribute is described once, here, under ``ip``'s name.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from netgroupd.model.value import Type, Value


class Change(Enum):
    """What it takes to change an attribute of an object that exists, the hardest last."""

    IN_PLACE = "in place"
    VACANT = "while the link has no ports"
    DOWN = "while the link is down"
    EMPTY = "while the link is down and has no ports"
    RECREATE = "delete and create"


class Attr(NamedTuple):
    """What one attribute is called, accepts, means, and how the kernel knows it.

    ``wire`` is the attribute number in the nest of its class or kind; 0 where
    the kernel holds it elsewhere (a header field, a flag, a nest of its own).
    ``group``: one message can set it for a whole group.  ``nullable``: ``null``
    takes it away.  ``silent``: the kernel never reports it, so it is written at
    creation and not compared.  ``in_place``: whether the kernel can change it from
    one value to another, where that depends on the values; otherwise the object is
    deleted and created.  ``ticks``: hundredths of a second that the kernel keeps in
    ticks of its clock, so that what it reports may be one less than what it was told.
    """

    name: str
    type: Type
    doc: str
    wire: int = 0
    change: Change = Change.IN_PLACE
    group: bool = False
    nullable: bool = False
    silent: bool = False
    in_place: Callable[[Value, Value], bool] | None = None
    ticks: bool = False


class Class(NamedTuple):
    """A class of objects: which fields identify one, and which it has besides."""

    name: str
    doc: str
    key: tuple[Attr, ...]
    attrs: Mapping[str, Attr]


def table(rows: Iterable[Attr]) -> dict[str, Attr]:
    """Index ``rows`` by name; two rows of one name are a mistake in the source."""
    rows = tuple(rows)
    by_name = {row.name: row for row in rows}
    assert len(by_name) == len(rows)
    return by_name
