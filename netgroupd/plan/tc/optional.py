# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that a configuration can do without, and the goal that is left when the kernel refuses some.

A rule that says so is left out when it is refused, as if its line were not there:
what was in its place goes as well.  All others are done, or nothing is.
"""

from collections.abc import Iterable

from netgroupd.model.state import Key, State
from netgroupd.plan.step import AnyStep, Step
from netgroupd.plan.tc.beside import said_key


def is_optional(step: AnyStep) -> bool:
    """Whether the rest of a change stays when this step is refused."""
    return isinstance(step, Step) and step.after is not None and step.after.attrs.get("optional") is True


def keys_of(steps: Iterable[AnyStep], goal: State) -> tuple[Key, ...]:
    """The keys that the rules of ``steps`` have in ``goal``."""
    wants = goal.of("filter")
    keys = (step.object.key for step in steps if isinstance(step, Step))
    return tuple(key if key in wants else said_key(key) for key in keys)


def without(goal: State, rules: Iterable[Key]) -> State:
    """``goal`` but for ``rules``."""
    gone = frozenset(rules)
    if not gone:
        return goal
    return goal.having(filter={key: obj for key, obj in goal.of("filter").items() if key not in gone})
