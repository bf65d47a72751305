# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused routes and groups of several ways -> the same in the kernel with the ways that it takes.

It refuses the whole for one way that is dead, and does not say which.  So each is asked for, beside those before it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from netgroupd.engine.observe import Connection
from netgroupd.errors import Refusal
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.model.route import as_kept
from netgroupd.model.state import Attrs, Object, records
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, Step

_SEVERAL = {"route": "nexthops", "nexthop": "group"}
_NAMED_BY = ("id", "via", "dev")


class InPart(NamedTuple):
    """What is there with some of its ways, why each of the others is not, and what is refused still.

    What is ``led`` by such a nexthop can be asked for again.
    """

    made: tuple[Object, ...] = ()
    missing: tuple[Refusal, ...] = ()
    rest: tuple[Refused, ...] = ()
    led: tuple[Refused, ...] = ()


class _Asked:
    """One that was refused as a whole."""

    def __init__(self, refused: Refused, step: Step) -> None:
        self._refused = refused
        self._step = step
        self._field = _SEVERAL[step.object.cls]
        self._left = list(records(step.object.attrs, self._field))
        self._kept: list[Attrs] = []
        self._missing: list[Refusal] = []
        self.made: Object | None = None

    def next(self) -> Step | None:
        """The step that adds one more way, if there is one."""
        if not self._left:
            return None
        want = self._with((*self._kept, self._left[0]))
        if self.made is None:
            return self._step._replace(after=want, attrs={**self._step.attrs, **self._way(want)})
        return Step(Op.CHANGE, self.made, want, self._way(want))

    def answer(self, refusal: Refusal | None) -> None:
        """Note whether the kernel took it."""
        way = self._left.pop(0)
        if refusal is None:
            self._kept.append(way)
            self.made = self._with(tuple(self._kept))
            return
        named = (f" {name} {way[name]}" for name in _NAMED_BY if name in way)
        self._missing.append(refusal._replace(what=f"{self._refused.refusal.what}{''.join(named)}"))

    def told(self, found: InPart) -> InPart:
        """``found`` with what came of this."""
        if self.made is None:
            return found._replace(rest=(*found.rest, self._refused))
        return found._replace(made=(*found.made, self.made), missing=(*found.missing, *self._missing))

    def _with(self, ways: tuple[Attrs, ...]) -> Object:
        return self._step.object.having({self._field: ways})

    def _way(self, want: Object) -> Attrs:
        return {self._field: want.attrs[self._field]}


def made_in_part(kernel: Connection, refused: Sequence[Refused]) -> InPart:
    """Make of what was ``refused`` what can be had with fewer ways."""
    several = [(each, step) for each in refused if isinstance(step := each.step, Step) and _is_of_several(step)]
    asked = [_Asked(each, step) for each, step in several]
    while more := [(one, way) for one in asked if (way := one.next())]:
        answers = _answers(kernel, [way for _, way in more])
        for (one, _), answer in zip(more, answers, strict=True):
            one.answer(answer)
    whole = {id(each) for each, _ in several}
    found = InPart(rest=tuple(each for each in refused if id(each) not in whole))
    for one in asked:
        found = one.told(found)
    there = {obj.key[0] for obj in found.made if obj.cls == "nexthop"}
    return found._replace(
        made=tuple(obj._replace(attrs=as_kept(obj.attrs)) for obj in found.made),
        rest=tuple(each for each in found.rest if _nexthop_of(each) not in there),
        led=tuple(each for each in found.rest if _nexthop_of(each) in there),
    )


def _nexthop_of(refused: Refused) -> Value:
    """The nexthop that what was refused leads by."""
    return refused.step.object.attrs.get("nhid") if isinstance(refused.step, Step) else None


def _answers(kernel: Connection, steps: Sequence[Step]) -> list[Refusal | None]:
    """What the kernel says to each of the steps; those behind one that was refused are sent too."""
    optional = [step._replace(after=step.object.having({"optional": True})) for step in steps]
    refused = {each.step.object[:2]: each.refusal for each in kernel.apply(optional) if isinstance(each.step, Step)}
    return [refused.get(step.object[:2]) for step in optional]


def _is_of_several(step: Step) -> bool:
    field = _SEVERAL.get(step.object.cls, "")
    return step.op is not Op.DELETE and len(list(records(step.object.attrs, field))) > 1
