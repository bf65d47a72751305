# SPDX-License-Identifier: GPL-2.0-or-later
"""The last reading of some links, and the messages of the same dumps -> the reading as it is now.

Only a message that says something else is read.  Where links came, went or have
other names there is no answer, and all must be read anew: any of them may refer
to those.
"""

import struct

from netgroupd.kernel.links_read import Reader
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.seen import Notes, Reading


class Again:
    """Takes the messages as they come, each in its turn."""

    def __init__(self, last: Reading) -> None:
        self._last = last
        self._place = 0
        self._changed: list[tuple[int, bytes]] = []

    def skim(self, packet: memoryview) -> int:
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
        self._changed.append((self._place, bytes(message)))
        self._place += 1

    def reading(self, names: Names, *, whole: bool) -> Reading | None:
        """What there is now, when all have come; ``whole``: there are no other links."""
        last = self._last
        if self._place != len(last.links):
            return None
        notes = Notes.empty()
        known = last.names()
        reader = Reader(names, rows=last.rows, notes=notes, known=known)
        found = [(place, reader.read(0, memoryview(message))) for place, message in self._changed]
        if reader.by_index != known:
            return None
        reader.finish(whole=whole)
        if any(_name(names, index) != name for index, name in last.beyond.items()):
            return None
        if not found:
            return last
        links, forms, marks = list(last.links), list(last.notes.forms), last.notes.marks[:]
        for (place, link), form, mark in zip(found, *notes, strict=True):
            assert link is not None
            if link.key != links[place].key:
                return None
            links[place], forms[place], marks[place] = link, form, mark
        return last._replace(links=links, notes=Notes(forms, marks), beyond={**last.beyond, **reader.beyond})


def _name(names: Names, index: int) -> str:
    try:
        return names.name(index)
    except UnknownLinkError:
        return ""
