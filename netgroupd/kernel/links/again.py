# SPDX-License-Identifier: GPL-2.0-or-later
"""The last reading of some links, and the messages of the same dumps -> the reading as it is now.

Only a message that says something else is read, or that is of a link that has come.
The kernel tells links in the order of their numbers, which shows what has gone.  Where
it does not, or where a link has another name, there is no answer, and all must be
read anew: any of them may refer to that one.
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Sequence

from netgroupd.kernel.links.read import Reader
from netgroupd.kernel.links.seen import Notes, Reading
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import Object

# These can be of a link that is no more, and nothing tells of it; a lower link takes those above it along.
_LOOSE = frozenset(
    prefix + row.name
    for kind in KINDS.values()
    for prefix, rows in (("", kind.attrs), ("port.", kind.port))
    for row in rows.values()
    if row.type.ref == "link" and row.name != "peer"
)


class Again:
    """Takes the messages as they come, each in its turn."""

    def __init__(self, last: Reading) -> None:
        self._last = last
        self._place = 0
        self._start = 0  # of the links up to that place that said what they said
        self._parts: list[range | bytes] = []  # such links by their places, and messages that were not passed over
        self._gone: list[range] = []
        self._taken = -1  # the index of the last one
        self._lost = False

    def skim(self, packet: memoryview, _found: object = None) -> int:
        """Pass over the messages that say what they said; the place of the first other one."""
        (forms, marks), place, start = self._last.notes, self._place, 0
        try:
            while hash(forms[place].unpack_from(packet, start)) == marks[place]:
                start += forms[place].size
                place += 1
        except (IndexError, struct.error):  # no more are expected, or in this packet
            pass
        self._place = place
        return start

    def take(self, _kind: int, message: memoryview) -> None:
        """Take the body of a message that was not passed over."""
        index, indices = _index(message), self._last.indices
        if self._start == len(indices) and index > self._taken:  # behind all that was there
            self._taken = index
            self._parts.append(bytes(message))
            return
        if not self._is_next(index):
            latest = self._last.indices[self._place - 1] if self._place else -1
            self._lost |= index <= max(latest, self._taken)
            self._skip(bisect_left(self._last.indices, index, self._place))
        self._taken = index
        expected = self._is_next(index)
        if not (expected and self._last.notes.has(self._place, message)):
            self._end_run()
            self._start = self._place + expected
            self._parts.append(bytes(message))
        self._place += expected

    def _is_next(self, index: int) -> bool:
        indices = self._last.indices
        return self._place < len(indices) and indices[self._place] == index

    def _skip(self, place: int) -> None:
        """Go on at a later place: the links before it have gone."""
        if place > self._place:
            self._end_run()
            self._gone.append(range(self._place, place))
            self._place = self._start = place

    def _end_run(self) -> None:
        if self._start < self._place:
            self._parts.append(range(self._start, self._place))

    def reading(self, names: Names, *, whole: bool) -> Reading | None:
        """What there is now, when all have come; ``whole``: there are no other links."""
        last = self._last
        self._skip(len(last.links))
        self._end_run()
        if self._lost or (self._gone and last.rows & _LOOSE):
            return None
        known = last.names()
        for run in self._gone:
            for index in last.indices[run.start : run.stop]:
                del known[index]
        notes = Notes.empty()
        reader = Reader(names, rows=last.rows, notes=notes, known=known)
        found: list[tuple[int, Object]] = []
        for part in self._parts:
            if isinstance(part, bytes):
                index, link = _index(part), reader.read(0, memoryview(part))
                assert link is not None
                name = link.name
                if known.get(index, name) != name:
                    return None
                found.append((index, link))
        reader.finish(whole=whole)
        if any(_name(names, index) != name for index, name in last.beyond.items()):
            return None
        if not found and not self._gone:
            return last
        return self._joined(found, notes)._replace(beyond={**last.beyond, **reader.beyond})

    def _joined(self, found: Sequence[tuple[int, Object]], notes: Notes) -> Reading:
        """What stays and what was read, in the order in which all came."""
        last, read = self._last, zip(found, *notes, strict=True)
        links: list[Object] = []
        indices, (forms, marks) = array("i"), Notes.empty()
        for part in self._parts:
            if isinstance(part, range):
                run = slice(part.start, part.stop)
                links += last.links[run]
                indices += last.indices[run]
                forms += last.notes.forms[run]
                marks += last.notes.marks[run]
                continue
            (index, link), form, mark = next(read)
            links.append(link)
            indices.append(index)
            forms.append(form)
            marks.append(mark)
        return last._replace(links=links, indices=indices, notes=Notes(forms, marks))


def _index(message: bytes | memoryview) -> int:
    return int.from_bytes(message[4:8], "little")  # of struct ifinfomsg


def _name(names: Names, index: int) -> str:
    try:
        return names.name(index)
    except UnknownLinkError:
        return ""
