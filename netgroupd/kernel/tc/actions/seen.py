# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions of a dump, worked out once for all rules that have the same.

Two rules with the same actions differ in index, times and statistics, unless they
share them.  What is left without those is compared as it is, byte by byte.  Where each
rule has its own, what differs besides is cut out of them all at once, where it was in the first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import walk
from netgroupd.kernel.tc.actions.codec import held, structure, unpack_actions, unpack_fields, unpack_of_any
from netgroupd.model.value import Value

_KIND, _OPTIONS, _STATS, _COOKIE = 1, 2, 4, 6
_INDEX = 4  # how many bytes every action's structure begins with it
_COUNTS = 8  # how many of it say by how many it is held
_LAYOUTS = 16  # rules have a few sets of actions, seldom more
_MEMO = 1 << 16
_FEW = 1 << 8

_Ranges = tuple[tuple[int, int], ...]
Read: TypeAlias = Callable[[Sequence[bytes]], Mapping[str, Value]]


class _Part(NamedTuple):
    """An attribute of an action, or of its options: its number, and where what it holds is."""

    number: int
    start: int
    end: int


def _parts(payload: memoryview, first: int, last: int) -> tuple[str, list[_Part], list[_Part]]:
    """The kind of the action between two places, its attributes, and those of its options."""
    parts = [_Part(*part) for part in walk(payload, first, last)]
    kind = next(
        (bytes(payload[start:end]).rstrip(b"\0").decode() for number, start, end in parts if number == _KIND), ""
    )
    inside = (walk(payload, start, end) for number, start, end in parts if number == _OPTIONS)
    return kind, parts, [_Part(*part) for each in inside for part in each]


def changing(payload: memoryview) -> _Ranges | None:
    """Where the bytes are that differ between equal actions; None of a kind that is laid out in another way."""
    ranges: list[tuple[int, int]] = []
    for _, first, last in walk(payload):
        kind, parts, inside = _parts(payload, first, last)
        options = {number: payload[start:end] for number, start, end in inside}
        form = structure(kind, options)
        if form is None:
            return None
        alone = not held(kind, options).stands
        ranges += [(start, end) for number, start, end in parts if number == _STATS]
        ranges += [(start, start + _INDEX) for number, start, _ in inside if number == form.number and alone]
        ranges += [(start, end) for number, start, end in inside if number == form.times]
    return tuple(sorted(ranges))


class Own(NamedTuple):
    """Where the bytes are in which an action differs from those of other rules that are laid out alike, and how to
    read it out of these."""

    spans: _Ranges
    read: Read


def own(payload: memoryview, names: Names) -> list[Own]:
    """The actions of a rule like whose others have theirs each for itself; none of those that stand by themselves."""
    return (
        [*_own(payload, names)] if changing(payload) and not any(map(_stands, unpack_actions(payload, names))) else []
    )


def _stands(action: Value) -> bool:
    return isinstance(action, Mapping) and action.keys() == {"kind"}


def _own(payload: memoryview, names: Names) -> Iterator[Own]:
    for _, first, last in walk(payload):
        kind, parts, inside = _parts(payload, first, last)
        form = structure(kind, {number: payload[start:end] for number, start, end in inside})
        assert form
        within = next(part for part in inside if part.number == form.number)
        counts = within.start + form.counts
        said = [part for part in inside if part.number not in (form.number, form.times)]
        cookies = [part[1:] for part in parts if part.number == _COOKIE]
        spans = [
            (within.start + _INDEX, counts),
            (counts + _COUNTS, within.end),
            *(part[1:] for part in said),
            *cookies,
        ]
        told = unpack_of_any({number: payload[start:end] for number, start, end in parts if number != _COOKIE})
        numbers = (form.number, *(part.number for part in said))
        yield Own(tuple(spans), _reader(kind, numbers, bytes(payload[counts : counts + _COUNTS]), told, names))


def _reader(kind: str, numbers: Sequence[int], counts: bytes, told: Mapping[str, Value], names: Names) -> Read:
    """What reads an action out of what it has for itself; several in a row that say the same are one."""
    last: tuple[Sequence[bytes], Mapping[str, Value]] = ((), {})

    def read(pieces: Sequence[bytes]) -> Mapping[str, Value]:
        nonlocal last
        if pieces != last[0]:
            before, behind, *more = pieces
            whole = bytes(_INDEX) + before + counts + behind
            inside = {number: memoryview(one) for number, one in zip(numbers, (whole, *more), strict=False)}
            cookie = {"cookie": more[-1].hex()} if len(more) == len(numbers) else {}
            last = pieces, {**unpack_fields(kind, inside, names), **cookie, **told}
        return last[1]

    return read


def _lasting(payload: memoryview, ranges: _Ranges) -> bytes:
    """What is left without the bytes that differ."""
    parts, at = [], 0
    for start, end in ranges:
        parts.append(payload[at:start])
        at = end
    parts.append(payload[at:])
    return b"".join(parts)


class Remembered:
    """The actions met in one dump."""

    def __init__(self) -> None:
        self.again = True
        """Whether those that were read last had come before."""
        self._layouts: dict[int, list[_Ranges]] = {}
        self._known: dict[tuple[_Ranges, bytes], tuple[Value, ...]] = {}
        self.alone = 0
        """So many in a row have not come before."""
        self._last: tuple[_Ranges, bytes] | None = None

    def read(self, payload: memoryview, names: Names) -> tuple[Value, ...]:
        """The actions in the attribute of a rule."""
        self.again = True
        layouts = self._layouts.setdefault(len(payload), [])
        told = [(known, _lasting(payload, known)) for known in layouts]
        for one in told:
            if (found := self._known.get(one)) is not None:
                self.alone = 0
                return found
        self.again = False
        actions = unpack_actions(payload, names)
        self.alone += 1
        # Where each rule has its own, only those are kept that come twice in a row.
        if self.alone <= _FEW or not layouts or self._last in told:
            self._keep(payload, layouts, actions)
        self._last = told[0] if told else None
        return actions

    def _keep(self, payload: memoryview, layouts: list[_Ranges], actions: tuple[Value, ...]) -> None:
        ranges = changing(payload)
        if ranges is not None and (ranges in layouts or len(layouts) < _LAYOUTS):
            if ranges not in layouts:
                layouts.append(ranges)
            if len(self._known) >= _MEMO:
                self._known.clear()
            self._known[ranges, _lasting(payload, ranges)] = actions
