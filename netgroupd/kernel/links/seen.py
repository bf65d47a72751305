# SPDX-License-Identifier: GPL-2.0-or-later
"""What was read of links last, so that a link whose message says what it said is not read again.

Whether it does is seen by a number of 64 bits, made of all bytes of the message but
those of counters and timers, which move all the time and are never read.  The
number is Python's hash of these bytes, with a key that each process chooses anew:
one change in 2**64 goes unseen, and nobody outside can choose which.
"""

import struct
from array import array
from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from netgroupd.model.state import Object

_KEY, _NAME = attrgetter("key"), itemgetter(0)
_HEADER = struct.Struct("=I12x")


class Notes(NamedTuple):
    """Of each message, with its header, what takes out of it that which counts, and the number of that."""

    forms: list[struct.Struct]
    marks: "array[int]"

    @classmethod
    def empty(cls) -> "Notes":
        """Before anything is read."""
        return cls([], array("q"))

    def add(self, form: struct.Struct, of_body: struct.Struct, message: memoryview) -> None:
        """Note the body of the next message; ``of_body`` is the form without the header, of which the length counts."""
        self.forms.append(form)
        self.marks.append(hash((form.size, *of_body.unpack(message))))

    def has(self, place: int, message: memoryview) -> bool:
        """Whether a body says what the message at ``place`` said."""
        form = self.forms[place]
        size = _HEADER.size + len(message)
        return form.size == size and hash(form.unpack(_HEADER.pack(size) + message)) == self.marks[place]


class Reading(NamedTuple):
    """The links that some dumps brought, in their order, each with its index and the note of its message.

    ``beyond`` are the names of other links that they refer to, by index, "" where there is none.
    """

    asked: tuple[bytes, ...]
    rows: frozenset[str]
    links: Sequence[Object]
    indices: "array[int]"
    notes: Notes
    beyond: Mapping[int, str]

    def names(self) -> dict[int, str]:
        """The names of the links, by index."""
        return dict(zip(self.indices, map(_NAME, map(_KEY, self.links)), strict=True))  # at every look, at C speed


class Seen:
    """The last reading of the links of one network namespace, if there was one."""

    def __init__(self) -> None:
        self.last: Reading | None = None
