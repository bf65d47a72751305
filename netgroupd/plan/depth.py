# SPDX-License-Identifier: GPL-2.0-or-later
"""How many links are below a link, named by it or above it as masters: what must exist before it.

And which of them are best made side by side.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.state import Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Step

_BELOW = ("link", "master")
# Ports are above the bond that names one of them, and the ends of a pair come together.
_NAMED: dict[Value, tuple[str, ...]] = {
    kind: (*_BELOW, *more)
    for kind, rows in KINDS.items()
    if kind not in ("bond", *PAIRS) and (more := [row.name for row in rows.attrs.values() if row.type.ref == "link"])
}

NOTHING_ALONG: Mapping[str, str] = {}


def named_by(link: Object) -> frozenset[str]:
    """The links that must be there before a new one: its masters, and what it stands on or sends by."""
    fields = _NAMED.get(link.attrs.get("kind"), _BELOW)
    return frozenset(str(link.attrs[field]) for field in fields if link.attrs.get(field))


class Depths(dict[Value, int]):
    """The depth of each link, found once; ``first`` is believed before ``second``, which says nothing of ``anew``.

    What comes into being ``along`` with another link is not there before that one.  A
    loop ends where it closes.
    """

    def __init__(
        self,
        first: Mapping[Key, Object],
        second: Mapping[Key, Object],
        anew: Container[Value] = frozenset(),
        along: Mapping[str, str] = NOTHING_ALONG,
    ) -> None:
        super().__init__()
        self._along = along
        self._first = first
        self._second = second
        self._anew = anew

    def __missing__(self, name: Value) -> int:
        depth = 0
        for lower in self._below(name):
            found = self.get(lower, -1)
            if found < 0:
                break
            if found >= depth:
                depth = found + 1
        else:  # as it is when what is below was asked about before
            self[name] = depth
            return depth
        path = [name]
        self[name] = 0
        while path:
            below = self._below(path[-1])
            missing = [lower for lower in below if lower not in self]
            if missing:
                self[missing[0]] = 0
                path.append(missing[0])
                continue
            self[path.pop()] = max((self[lower] + 1 for lower in below), default=0)
        return self[name]

    def _below(self, name: Value) -> list[Value]:
        key = (name,)
        first, second = self._first.get(key), self._second.get(key)
        link = first or second
        if link is None:
            return []
        attrs = link.attrs
        fields = _NAMED.get(attrs.get("kind") or kind_of(second), _BELOW)
        if second and name not in self._anew:
            attrs = {**second.attrs, **attrs}  # what is not mentioned stays
        below: list[Value] = []
        for field in fields:  # a loop, for every link that is made asks
            if lower := attrs.get(field):
                below.append(lower)  # noqa: PERF401
        if self._along and (along := self._along.get(link.name)):
            below.append(along)
        return below


def side_by_side(steps: Sequence[Step]) -> list[int]:
    """The places of ``steps`` in an order in which links of the same lower one, or of the same master, come together.

    The kernel walks all that stand on a link, and all ports of a master, for each that comes
    or goes, and is quickest when it has looked at no others in between.  Of a link's two lists
    the longer one counts.
    """
    lowers, masters = ([step.attrs.get(field) for step in steps] for field in _BELOW)
    uppers, ports = Counter(lowers), Counter(masters)
    uppers[None] = ports[None] = 0
    on: dict[Value, int] = {}  # where the first that stands on a link is
    of: dict[Value, int] = {}  # and the first port of a master
    among = [
        (on.setdefault(low, place) if uppers[low] >= ports[high] else of.setdefault(high, place))
        if low or high
        else place
        for place, (low, high) in enumerate(zip(lowers, masters, strict=True))
    ]
    return sorted(range(len(steps)), key=among.__getitem__)
