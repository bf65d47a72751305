# SPDX-License-Identifier: GPL-2.0-or-later
"""Flower rules of a dump, read by where their bytes are, once one of the same layout has been read in full.

Rules of one line differ in their handles, in the values that they match and in
what their actions have counted.  All other bytes, lengths and masks among them,
say the same of every rule that has them.
"""

import struct
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from netgroupd.kernel.message import walk
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.actions_seen import changing
from netgroupd.kernel.tc.tcmsg import HEADER, OPTIONS
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value

_HANDLE = (8, 12)  # of struct tcmsg
_ACTIONS = 3
_LAYOUTS = 16  # of one length: a hook has rules of a few lines, seldom of more
_MEMO = 1 << 16

Span = tuple[int, int]


class _Base(NamedTuple):
    """What rules say that agree in all the bytes kept, and how to read the others."""

    hook: Key
    match: tuple[tuple[str, Value], ...]
    readers: tuple[tuple[str, flower.Read], ...]
    attrs: Attrs


class _Layout:
    """Where the bytes are of rules that are laid out alike."""

    def __init__(self, size: int, dropped: Iterable[Span], values: Iterable[Span]) -> None:
        cuts = sorted([(*_HANDLE, "I"), *((*span, "x") for span in dropped), *((*span, "s") for span in values)])
        forms, kinds, at = ["="], [], 0
        for start, end, kind in (*cuts, (size, size, "")):
            forms.append(f"{start - at}s")
            kinds.append("kept")
            if kind:
                forms.append("I" if kind == "I" else f"{end - start}{kind}")
                kinds += [kind] if kind != "x" else []
            at = end
        self.form = "".join(forms)
        self.cut = struct.Struct(self.form).unpack_from
        self.kept = itemgetter(*(place for place, kind in enumerate(kinds) if kind == "kept"))
        self.handle = kinds.index("I")
        self.values = tuple(place for place, kind in enumerate(kinds) if kind == "s")
        self.bases: dict[object, _Base] = {}


class Seen:
    """The layouts met in the dump of one hook."""

    def __init__(self) -> None:
        self._layouts: dict[int, list[_Layout]] = {}
        self._known = 0

    def read(self, payload: memoryview) -> Object | None:
        """The rule of a message; None if its like has not been read in full."""
        for layout in self._layouts.get(len(payload), ()):
            pieces = layout.cut(payload)
            if (base := layout.bases.get(layout.kept(pieces))) is None:
                continue
            hook, match, readers, attrs = base
            if len(readers) == 1 and not match:
                ((name, read),) = readers
                match = ((name, read(pieces[layout.values[0]])),)
            elif readers:
                got = [(name, read(pieces[at])) for (name, read), at in zip(readers, layout.values, strict=True)]
                match = tuple(sorted((*match, *got)))
            return Object("filter", (*hook, match), {**attrs, "handle": pieces[layout.handle]})
        return None

    def note(self, payload: memoryview, rule: Object) -> None:
        """Learn from a rule that was read in full."""
        start, end = next((start, end) for number, start, end in walk(payload, HEADER.size) if number == OPTIONS)
        dropped = _dropped(payload, start, end)
        if dropped is None or self._known >= _MEMO:
            return
        values = sorted(flower.values(payload, start, end))
        layout = _Layout(len(payload), dropped, [value[:2] for value in values])
        layouts = self._layouts.setdefault(len(payload), [])
        known = next((one for one in layouts if one.form == layout.form), None)
        if known is None:
            if len(layouts) >= _LAYOUTS:
                return
            layouts.append(layout)
            known = layout
        match = dict(rule.key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes
        for _, _, name, _ in values:
            del match[name]
        readers = tuple((name, read) for _, _, name, read in values)
        attrs = {name: value for name, value in rule.attrs.items() if name != "handle"}
        known.bases[known.kept(known.cut(payload))] = _Base(rule.key[:4], tuple(match.items()), readers, attrs)
        self._known += 1


def _dropped(payload: memoryview, start: int, end: int) -> list[Span] | None:
    """What differs between equal actions; None where they are laid out in another way."""
    for number, first, last in walk(payload, start, end):
        if number == _ACTIONS:
            ranges = changing(payload[first:last])
            return None if ranges is None else [(first + one, first + other) for one, other in ranges]
    return []
