# SPDX-License-Identifier: GPL-2.0-or-later
"""RTM_NEWLINK messages to link objects, fast: no attribute is looked at twice.

What links have in common is remembered with the layout of their messages, and
only what differs from link to link is read.  What one dump has taught serves
those after it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import call
from types import MappingProxyType
from typing import Any

from netgroupd.kernel.links.layout import MEMO, Layout, Shape
from netgroupd.kernel.links.seen import Notes
from netgroupd.kernel.names import Names
from netgroupd.model.state import Object
from netgroupd.model.value import Value

_new = tuple.__new__  # without the checks of the arguments' names, for this is done for every link there is


class _Learnt:
    """The layouts that messages had until now, by the rows that were read of them and by length; not for ever more."""

    def __init__(self) -> None:
        self._layouts: dict[frozenset[str] | None, dict[int, list[Layout]]] = {}
        self._count = 0

    def of(self, rows: frozenset[str] | None) -> dict[int, list[Layout]]:
        """Those of which ``rows`` were read."""
        return self._layouts.setdefault(rows, {})

    def makes_room(self) -> bool:
        """Count one more; forget everything when there are too many."""
        self._count += 1
        if full := self._count > MEMO:
            self._layouts.clear()
            self._count = 0
        return full


_learnt = _Learnt()


class Reader:
    """Makes link objects of messages.

    ``wants`` decides by name and group whether a link is read at all, and ``rows``
    are what is read of it, if not all.  ``notes`` are taken of each message, and ``known``
    are the names of links by index that need not come.  ``finish`` hands over the
    names of all.
    """

    def __init__(
        self,
        names: Names,
        wants: Callable[[str, int], bool] | None = None,
        rows: frozenset[str] | None = None,
        *,
        notes: Notes | None = None,
        known: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self._names = names
        self._before = names.by_index
        self._wants = wants
        self._rows = rows
        self._notes = notes
        self.by_index = dict(known)
        """The names of the links, by index."""
        self.beyond: dict[int, str] = {}
        """Those of links that these refer to, and that are not among them; "" where there is none."""
        self._layouts: dict[int, list[Layout]] = {}
        self._unnamed: list[tuple[dict[str, Value], str]] = []

    def read(self, _kind: int, message: memoryview) -> Object | None:
        """Read the body of one RTM_NEWLINK."""
        for layout in self._layouts.get(len(message)) or self._known(len(message)):
            if (shared := layout.known.get(b"".join(layout.shared.unpack_from(message)))) is not None:  # its key
                break
        else:
            layout, shared = self._learn(message)
        index, padded, *values = layout.own.unpack_from(message)
        if 0 in (written := padded.rstrip(b"\0")):  # a shorter name, with an attribute more behind it
            layout, shared = self._learn(message)
            index, padded, *values = layout.own.unpack_from(message)
            written = padded.rstrip(b"\0")
        name = written.decode("utf-8", "surrogateescape")
        if (before := self._before.get(index)) == name:
            name = before  # of the same link: one string for all that is held of it
        self.by_index[index] = name
        if self._notes is not None:
            self._notes.add(layout.form, layout.body, message)
        # A message that has the name alone has no group.
        if self._wants and not self._wants(name, shared.get("group", 0)):  # type: ignore[arg-type]
            return None
        attrs = shared.copy()
        try:
            attrs.update(zip(layout.rows, map(call, layout.reads, values)))  # noqa: B905  # to ask for it takes longer
        except KeyError:  # a link that has not come yet, or none
            self._update(attrs, layout, values)
        return _new(Object, ("link", (name,), attrs, None))

    def _update(self, attrs: dict[str, Value], layout: Layout, values: Sequence[Any]) -> None:
        """Say of a link what is its own; links that are not known are named later."""
        for row, read, value in zip(layout.rows, layout.reads, values, strict=True):
            try:
                attrs[row] = read(value)
            except KeyError:
                attrs[row] = value
                self._unnamed.append((attrs, row))

    def _known(self, size: int) -> list[Layout]:
        """The layouts of messages of one length that any dump has had."""
        known = self._layouts[size] = [each.naming(self.by_index) for each in _learnt.of(self._rows).get(size, ())]
        return known

    def _learn(self, message: memoryview) -> tuple[Layout, dict[str, Value]]:
        shape = Shape(message, self._rows)
        layout = shape.layout()
        if _learnt.makes_room():
            self._layouts.clear()
        layouts = _learnt.of(self._rows).setdefault(len(message), [])
        for known in layouts:
            if known.signature == layout.signature:
                layout = known
                break
        else:
            layouts.insert(0, layout)
        self._layouts.pop(len(message), None)
        # With a place for what differs: a copy that grows is laid out anew.
        shared = {**shape.shared, **dict.fromkeys(layout.rows)}
        layout.known[layout.key(message)] = shared
        return layout.naming(self.by_index), shared

    def finish(self, *, whole: bool = False) -> None:
        """Name the links that were referred to before they came themselves; ``whole``: there are no others."""
        if whole:
            self._names.clear()
        self._names.note_all(self.by_index)
        self._names.whole |= whole
        for attrs, row in self._unnamed:
            index, name = attrs[row], ""
            assert isinstance(index, int)
            with suppress(LookupError):
                name = self._names.name(index) if index else ""
            if name:
                attrs[row] = name  # in its place, for a capture tells what there is in the order in which it is read
            else:
                del attrs[row]
            if index and index not in self.by_index:
                self.beyond[index] = name
        self._unnamed.clear()
