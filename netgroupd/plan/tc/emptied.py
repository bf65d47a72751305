# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of traffic control that go with all others of their preference: one message for all of them.

The kernel deletes a preference as a whole where no handle is said.  A hook that is
owned is owned whole, so what is in it is in the picture of it.  Rules of u32 and their
tables go one by one, and the preference itself with the last of them: while others of
its qdisc or block have rules of u32 the kernel keeps it without any.  Linear.
"""

from collections import Counter
from collections.abc import Sequence

from netgroupd.model.state import Key, State
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step
from netgroupd.plan.tc.tables import inside, is_u32

EMPTYING = {"delete filter": False, "empty chain": True}
"""The phases that only delete rules, and whether those that take their place are there by then."""


def emptied(steps: Sequence[Step], actual: State, there: State) -> list[AnyStep]:
    """The steps of a phase that deletes rules, with those of whole preferences drawn together.

    ``there`` are rules that have come before; a preference that has some of them stays.
    """
    doomed: dict[Key, list[Step]] = {}
    for step in steps:
        doomed.setdefault(step.object.key[:4], []).append(step)
    hashed = any(is_u32(found[0].object) for found in doomed.values())
    if len(doomed) == len(steps) and not hashed:
        return [*steps]
    rules = actual.of("filter")
    held = Counter([key[:4] for key in rules])
    if hashed:
        held.subtract([rule.key[:4] for rule in inside((step.object for step in steps), rules.values())])
    whole = {place for place, found in doomed.items() if len(found) == held[place]}
    whole.difference_update([key[:4] for key in there.of("filter")] if whole else ())
    drawn: list[AnyStep] = []
    for step in steps:
        place = step.object.key[:4]
        found = doomed[place]
        if place not in whole or (len(found) == 1 and not is_u32(step.object)):
            drawn.append(step)
        elif is_u32(step.object):
            drawn.append(RangeStep(Op.DELETE, (step,)) if step is found[-1] else step)
        elif step is found[0]:
            drawn.append(RangeStep(Op.DELETE, tuple(found)))
    return drawn
