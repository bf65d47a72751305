# SPDX-License-Identifier: GPL-2.0-or-later
"""What a parsed document is made of: scalars, sequences and mappings that know where they stand.

A scalar stays the text that was written, until the row of the attribute that it
is for says what it means: so ``no``, ``022`` and ``1e3`` need no rule here.  A
place is one number, the document, line and column packed together, because
every scalar of a large file has one.
"""

from typing import NamedTuple, TypeAlias

COLUMN_BITS = 20
LINE_BITS = 32
LONGEST_LINE = (1 << COLUMN_BITS) - 1
NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Scalar(NamedTuple):
    """A piece of text; a ``plain`` one has no quotes and may stand for null."""

    text: str
    at: int
    plain: bool = True

    @property
    def null(self) -> bool:
        """Whether it says that there is to be nothing."""
        return self.plain and self.text in NULLS


class Sequence(NamedTuple):
    """A list."""

    items: "list[Node]"
    at: int


class Entry(NamedTuple):
    """One key's place and value."""

    at: int
    value: "Node"


class Mapping(NamedTuple):
    """Keys, which are texts, and their values in the order of writing."""

    entries: dict[str, Entry]
    at: int


Node: TypeAlias = Scalar | Sequence | Mapping


def pack(document: int, line: int, column: int) -> int:
    """Make one number of a place; lines and columns count from 1."""
    return ((document << LINE_BITS | line) << COLUMN_BITS) | min(column, LONGEST_LINE)


def further(at: int, columns: int) -> int:
    """A place further right in the same line; beyond the columns that there are numbers for, the last of them."""
    return at + min(columns, LONGEST_LINE - (at & LONGEST_LINE))


def unpack(at: int) -> tuple[int, int, int]:
    """Take a place apart: document, line, column."""
    line = at >> COLUMN_BITS
    return line >> LINE_BITS, line & ((1 << LINE_BITS) - 1), at & LONGEST_LINE


def kind_of(node: Node) -> str:
    """What the operator would call it."""
    if isinstance(node, Scalar):
        return "nothing" if node.null else f"the text {node.text!r}"
    return "a list" if isinstance(node, Sequence) else "a mapping"
