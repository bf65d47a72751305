# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of flower and u32 of a dump, read by where their bytes are, once one of the same layout has been read in full.

Rules of one line differ in their handles, in the values that they match and in
what their actions have counted.  All other bytes, lengths and masks among them,
say the same of every rule that has them, wherever it hangs.  Such rules come in a
row, which is read part by part for all of them at once.
"""

import struct
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from operator import countOf, itemgetter
from typing import Any, NamedTuple, TypeAlias

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import walk
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc import u32 as words
from netgroupd.kernel.tc.actions.seen import Read, Remembered, changing, own
from netgroupd.kernel.tc.classifiers import CLASSIFIERS
from netgroupd.kernel.tc.filters.unsaid import TWICE
from netgroupd.kernel.tc.tcmsg import HEADER, OPTIONS, Located, Place
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import differing

_SIZE = struct.Struct("=I12x")  # a message's own header
_HANDLE = (8, 12)  # of struct tcmsg, between the link and the parent
_NUMBER = 4  # bytes of each of these
_MANY, _MOST = 32, 128  # rules in a row have actions each for itself: a row of them, and what no layout has helped with
_LAYOUTS = 16  # of one length: there are rules of a few lines, seldom of more
_MEMO = 1 << 16
_ATTRS: Callable[[Any], Attrs] = itemgetter(2)  # of an object
_MADE: Callable[[tuple[Any, ...]], Object] = partial(tuple.__new__, Object)  # as its _make, without a call of Python's

Span = tuple[int, int]
_Rows: TypeAlias = Sequence[tuple[bytes | int, ...]]


class _Form(NamedTuple):
    """Of one classifier the number of its actions, where what a rule matches is, and where it counts."""

    actions: int
    values: Callable[[memoryview, int, int], Iterator[tuple[int, int, str, flower.Read]]]
    counts: Callable[[memoryview, int, int], Iterator[Span]] = lambda _payload, _start, _end: iter(())


_FORMS = {
    "flower": _Form(CLASSIFIERS["flower"].actions, flower.values),
    "u32": _Form(CLASSIFIERS["u32"].actions, words.values, words.counts),
}
KINDS = frozenset(_FORMS)
"""The classifiers whose rules are read so."""


class _Base(NamedTuple):
    """What rules say that agree in all the bytes kept, and how to read the others."""

    queue: Key  # the chain and the preference
    match: Mapping[str, Value]
    readers: Mapping[str, tuple[int, flower.Read]]
    attrs: Attrs
    own: Sequence[tuple[Sequence[int], Read]] = ()  # how to read actions that each rule has for itself

    def keys(self, hook: Located, rows: _Rows) -> Iterator[Key]:
        """The keys of rules that are cut in pieces."""
        count = len(rows)
        columns: dict[str, Iterable[tuple[str, Value]]] = {
            name: repeat((name, value), count) for name, value in self.match.items()
        }
        for name, (place, read) in self.readers.items():
            columns[name] = zip(repeat(name), map(read, map(itemgetter(place), rows)), strict=False)
        matches = zip(*(columns[name] for name in sorted(columns)), strict=True) if columns else repeat((), count)
        return zip(*map(repeat, (hook.where, hook.parent, *self.queue)), matches, strict=False)

    def actions(self, rows: _Rows) -> Iterator[tuple[Value, ...]]:
        """The actions of rules that have theirs each for itself."""
        return zip(*(map(read, map(itemgetter(*places), rows)) for places, read in self.own), strict=True)

    def are_as(self, wants: Sequence[Object | None]) -> bool:
        """Whether rules that say this are as is wanted, alike of each."""
        first = wants[0]
        if self.own or first is None or None in wants or differing(first, first._replace(attrs=self.attrs)):
            return False
        return countOf(map(_ATTRS, wants), first.attrs) == len(wants)  # of one line they are the same mapping


class _Layout:
    """Where the bytes are of rules that are laid out alike, in messages with their headers."""

    def __init__(self, size: int, dropped: Iterable[Span], values: Collection[Span]) -> None:
        cuts = sorted([(*_HANDLE, "I"), *((*span, "x") for span in dropped), *((*span, "s") for span in values)])
        forms, kinds, at = [_SIZE.format], ["kept"], 0
        for start, end, kind in (*cuts, (size, size, "")):
            forms.append(f"{start - at}s")
            kinds.append("kept")
            if kind:
                forms.append("I" if kind == "I" else f"{end - start}{kind}")
                kinds += [kind] if kind != "x" else []
            at = end
        self.form = struct.Struct("".join(forms))
        self.kept = itemgetter(*(place for place, kind in enumerate(kinds) if kind == "kept"))
        self.handle = itemgetter(kinds.index("I"))
        places = (place for place, kind in enumerate(kinds) if kind == "s")
        self.values = dict(zip(sorted(values), places, strict=True))
        self._bases: dict[object, _Base] = {}

    def learn(self, payload: memoryview, base: _Base) -> None:
        """Take what a message without its header says."""
        whole = _SIZE.pack(_SIZE.size + len(payload)) + payload
        self._bases[_apart(self.kept(self.form.unpack(whole)))[1]] = base

    def rows(self, packet: memoryview, place: Place) -> tuple[_Base | None, _Rows]:
        """The messages at the beginning of a packet that are alike, cut in pieces, and what they say; of one place."""
        rows = [*self.form.iter_unpack(packet[: len(packet) // self.form.size * self.form.size])]
        told = [*map(self.kept, rows)]
        there, said = _apart(told[0]) if told else (None, None)
        if there != place or (base := self._bases.get(said)) is None:
            return None, ()
        if told.count(told[0]) < len(told):
            del rows[next(place for place, kept in enumerate(told) if kept != told[0]) :]
        return base, rows


def _apart(kept: tuple[Any, ...]) -> tuple[Place, tuple[Any, ...]]:
    """Where a rule hangs, which is on both sides of its handle, and what else is kept of it."""
    size, before, behind, *rest = kept
    link, parent = before[-_NUMBER:], behind[:_NUMBER]
    place = Place(int.from_bytes(link, sys.byteorder), int.from_bytes(parent, sys.byteorder))
    return place, (size, before[:-_NUMBER], behind[_NUMBER:], *rest)


class Seen:
    """The layouts met in the dumps of some hooks.

    Rules that are ``expected`` lend their keys to those that are there; without
    ``handles`` many in a row that are as expected have the same attributes.
    """

    def __init__(self, expected: Mapping[Key, Object], *, handles: bool) -> None:
        self.actions = Remembered()
        self._expected = expected
        self._handles = handles
        self._layouts: dict[int, list[_Layout]] = {}
        self._known = 0
        self._likely = 32  # so many that follow each other are cut at once

    def skim(self, packet: memoryview, found: list[Object], hook: Located) -> int:
        """Read the messages that a packet begins with, as far as their like has been read in full; where they end."""
        start = 0
        while start + _SIZE.size <= len(packet):
            (size,) = _SIZE.unpack_from(packet, start)
            some = packet[start : start + size * self._likely]
            alike = ((layout, *layout.rows(some, hook.place)) for layout in self._layouts.get(size, ()))
            layout, base, rows = next((one for one in alike if one[1]), (None, None, ()))
            if layout is None or base is None:
                break
            found += self._rules(layout, base, rows, hook)
            start += size * len(rows)
            self._likely = 2 * len(rows)
        return start

    def _rules(self, layout: _Layout, base: _Base, rows: _Rows, hook: Located) -> Iterable[Object]:
        found = [*base.keys(hook, rows)]
        wants = [*map(self._expected.get, found)]
        keys = [want[1] if want else key for want, key in zip(wants, found, strict=True)]
        attrs: Iterable[Attrs] = repeat(base.attrs)
        if self._handles or base.attrs["kind"] in TWICE or not base.are_as(wants):
            attrs = [{**base.attrs, "handle": handle} for handle in map(layout.handle, rows)]
        if base.own:
            attrs = [{**each, "actions": own} for each, own in zip(attrs, base.actions(rows), strict=True)]
        return map(_MADE, zip(repeat("filter"), keys, attrs, repeat(None), strict=False))

    def note(self, payload: memoryview, rule: Object, names: Names) -> None:
        """Learn from a rule that was read in full; where each has actions of its own, from the first of many."""
        alone = bool(rule.attrs["actions"]) and not self.actions.again
        if alone and not _MANY <= self.actions.alone < _MOST:
            return
        form = _FORMS[str(rule.attrs["kind"])]
        start, end = next((start, end) for number, start, end in walk(payload, HEADER.size) if number == OPTIONS)
        actions = next((span for number, *span in walk(payload, start, end) if number == form.actions), [end, end])
        dropped = changing(payload[slice(*actions)])
        apart = own(payload[slice(*actions)], names) if alone else []
        if dropped is None or alone > bool(apart):
            return
        if self._known >= _MEMO:
            self._layouts.clear()
            self._known = 0
        values = sorted(form.values(payload, start, end))
        counted = [*_moved(dropped, actions[0]), *form.counts(payload, start, end)]
        spans = [_moved(one.spans, actions[0]) for one in apart]
        layout = _Layout(len(payload), counted, [*(value[:2] for value in values), *chain(*spans)])
        known = self._same(layout, last=alone)
        match: dict[str, Value] = dict(rule.key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes
        readers = {name: (known.values[first, last], read) for first, last, name, read in values}
        for name in readers:
            del match[name]
        attrs = {name: value for name, value in rule.attrs.items() if name != "handle"}
        places = [[known.values[span] for span in each] for each in spans]
        reads = [*zip(places, (one.read for one in apart), strict=True)]
        known.learn(payload, _Base(rule.key[2:4], match, readers, attrs, reads))
        self._known += 1

    def _same(self, layout: _Layout, *, last: bool) -> _Layout:
        """The layout like ``layout`` that is known, or this one from here on: asked first, or ``last``."""
        layouts = self._layouts.setdefault(layout.form.size, [])
        if known := next((one for one in layouts if one.form.format == layout.form.format), None):
            return known
        del layouts[_LAYOUTS - 1 :]
        layouts.insert(len(layouts) if last else 0, layout)
        return layout


def _moved(spans: Iterable[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]
