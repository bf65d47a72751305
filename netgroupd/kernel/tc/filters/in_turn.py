# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps -> the pieces of them that wait for each other, because of the masks of flower.

Of one preference the kernel asks the masks in the order in which they came, and messages
that are on their way together come in any.  So where preferences get several masks, a rule
of the first mask of each goes ahead, then one of the second, and so on; then the rest
may come as it happens.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, zip_longest

from netgroupd.kernel.netlink.request import Run
from netgroupd.model.state import Key
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.order import level_of
from netgroupd.plan.tc.turns import turn_of


class Masks:
    """The one mask that the rules of each preference have so far."""

    def __init__(self) -> None:
        self._known: dict[Key, object] = {}

    def stay(self, made: Run) -> bool:
        """Whether that holds with those of a run, too, which may otherwise not go on its way."""
        known = self._known
        return made.masks is not None and all(known.setdefault(pref, mask) == mask for pref, mask in made.masks)


def in_turn(steps: Sequence[AnyStep]) -> Iterator[Sequence[AnyStep]]:
    """The pieces, each of which waits until all before it are there; all of them at once if nothing is in the way."""
    waiting: list[AnyStep] = []
    for level, alike in groupby(steps, _level):
        found = [*alike]
        first = _firsts(found) if level is not None else []  # type: ignore[arg-type]  # they make rules of flower
        if first:
            yield waiting
            yield from first
            sent = {*map(id, chain.from_iterable(first))}
            waiting, found = [], [step for step in found if id(step) not in sent]
        waiting += found
    yield waiting


def _makes_flower(step: AnyStep) -> bool:
    return isinstance(step, Step) and step.op is Op.CREATE and step.object.attrs.get("kind") == "flower"


def _level(step: AnyStep) -> int | None:
    return level_of(step) if _makes_flower(step) else None


def _firsts(steps: Sequence[Step]) -> list[list[Step]]:
    """The first rules of the masks, of preferences that have several: of the first of each together, and so on."""
    found: dict[Key, dict[object, Step]] = {}
    for step in steps:
        found.setdefault(step.object.key[:4], {}).setdefault(turn_of(step.object), step)
    several = (first.values() for first in found.values() if len(first) > 1)
    return [[*filter(None, together)] for together in zip_longest(*several)]
