# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of traffic control that go with all others of their preference: one message for all of them.

The kernel deletes a preference as a whole where no handle is said.  A hook that is
owned is owned whole, so what is in it is in the picture of it.  Linear.
"""

from collections import Counter
from collections.abc import Sequence

from netgroupd.model.state import Key, State
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step
from netgroupd.plan.tables import is_u32

EMPTYING = frozenset({"delete filter", "empty chain"})
"""The phases that only delete rules."""


def emptied(steps: Sequence[Step], actual: State) -> list[AnyStep]:
    """The steps of a phase that deletes rules, with those of whole preferences drawn together."""
    doomed: dict[Key, list[Step]] = {}
    for step in steps:
        doomed.setdefault(step.object.key[:4], []).append(step)
    if len(doomed) == len(steps):
        return [*steps]
    held = Counter([key[:4] for key in actual.of("filter")])
    # Hash tables go in an order of their own.
    whole = {place for place, found in doomed.items() if len(found) == held[place] > 1 and not is_u32(found[0].object)}
    drawn: list[AnyStep] = []
    for step in steps:
        place = step.object.key[:4]
        if place not in whole:
            drawn.append(step)
        elif found := doomed.pop(place, ()):
            drawn.append(RangeStep(Op.DELETE, tuple(found)))
    return drawn
