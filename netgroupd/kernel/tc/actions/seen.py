# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions of a dump, worked out once for all rules that have the same.

Two rules with the same actions differ in index, times and statistics, unless they
share them.  What is left without those is compared as it is, byte by byte.
"""

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attributes, walk
from netgroupd.kernel.tc.actions.codec import FORMS, held, unpack_actions
from netgroupd.model.value import Value

_KIND, _OPTIONS, _STATS = 1, 2, 4
_INDEX = 4  # how many bytes every action's structure begins with it
_LAYOUTS = 16  # rules have a few sets of actions, seldom more
_MEMO = 1 << 16
_FEW = 1 << 8

_Ranges = tuple[tuple[int, int], ...]


def changing(payload: memoryview) -> _Ranges | None:
    """Where the bytes are that differ between equal actions; None of a kind that is laid out in another way."""
    ranges: list[tuple[int, int]] = []
    for _, first, last in walk(payload):
        kind, options = "", (0, 0)
        for number, start, end in walk(payload, first, last):
            if number == _KIND:
                kind = bytes(payload[start:end]).rstrip(b"\0").decode()
            elif number == _OPTIONS:
                options = (start, end)
            elif number == _STATS:
                ranges.append((start, end))
        form = FORMS.get(kind)
        if form is None:
            return None
        times = 2 if form.parms == 1 else 1  # the structure and the times are the first two
        inside = attributes(payload, *options)
        structure, alone = form.number_in(inside), not held(kind, inside).stands
        for number, start, end in walk(payload, *options):
            if number == structure:
                ranges += [(start, start + _INDEX)] if alone else []
            elif number == times:
                ranges.append((start, end))
    return tuple(sorted(ranges))


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
        self._alone = 0  # so many in a row have not come before
        self._last: tuple[_Ranges, bytes] | None = None

    def read(self, payload: memoryview, names: Names) -> tuple[Value, ...]:
        """The actions in the attribute of a rule."""
        self.again = True
        layouts = self._layouts.setdefault(len(payload), [])
        told = [(known, _lasting(payload, known)) for known in layouts]
        for one in told:
            if (found := self._known.get(one)) is not None:
                self._alone = 0
                return found
        self.again = False
        actions = unpack_actions(payload, names)
        self._alone += 1
        # Where each rule has its own, only those are kept that come twice in a row.
        if self._alone <= _FEW or not layouts or self._last in told:
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
