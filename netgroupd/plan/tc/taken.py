# SPDX-License-Identifier: GPL-2.0-or-later
"""Indices of shared actions that rules have for actions of their own: the kernel gives these the lowest that is free.

Such a rule is said again as it is, and its action has another index then.  Linear.
"""

from collections.abc import Iterable, Mapping

from netgroupd.model.state import Key, Object, State
from netgroupd.model.tc.filter import HOLDS
from netgroupd.model.tc.shared import OF_RULES
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.step import Op, Step

_WHY = "a rule has its index for an action of its own until then"


def standing(actual: State) -> Mapping[Key, Object]:
    """The actions without those that rules alone have."""
    found = actual.of("action")
    marked = taken(found.values())
    return {key: action for key, action in found.items() if key not in marked} if marked else found


def taken(actions: Iterable[Object]) -> frozenset[Key]:
    """The actions that rules alone have."""
    return frozenset(action.key for action in actions if OF_RULES in action.attrs)


def waiting(steps: list[Step], actual: State) -> list[Step]:
    """The steps that make actions, of which some wait until a rule has let go of their index; and the rules that do."""
    marked = taken(actual.of("action").values())
    held = {step.object.key for step in steps if step.op is Op.CREATE and step.object.key in marked}
    if not held:
        return steps
    names = {f"{kind} {index}" for kind, index in held}
    holding = (rule for rule in actual.of("filter").values() if not names.isdisjoint(_held(rule)))
    rules = (rule for rule in holding if UNSAID not in rule.attrs)
    again = [Step(Op.CHANGE, rule, rule, {"actions": rule.attrs["actions"], HOLDS: ()}) for rule in rules]
    return [*again, *(step._replace(why=_WHY) if step.object.key in held else step for step in steps)]


def is_said_again(step: Step) -> bool:
    """Whether a rule is said again as it is, to let go of an index."""
    return step.attrs.get(HOLDS) == ()


def _held(rule: Object) -> tuple[str, ...]:
    names = rule.attrs.get(HOLDS, ())
    assert isinstance(names, tuple)
    return tuple(map(str, names))
