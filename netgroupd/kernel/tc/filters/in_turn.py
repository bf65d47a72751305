# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps -> the pieces of them that wait for each other, because of the masks of flower.

Of one preference the kernel asks the masks in the order in which they came, and messages
that are on their way together come in any.  So where preferences get several masks, a rule
of the first mask of each goes ahead, then one of the second, and so on; then the rest
may come as it happens.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from typing import Any

from netgroupd.model.state import Key
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.order import level_of
from netgroupd.plan.tc.turns import turn_of

_PIECE = 1000  # of a million in one piece each list is a new one for the memory
_MATCH: Callable[[Key], Any] = itemgetter(4)  # of the key of a rule
_OP, _AFTER = itemgetter(0), itemgetter(2)  # of a step
_CLASS, _KEY = itemgetter(0), itemgetter(1)  # of an object
_NAME, _VALUE = itemgetter(0), itemgetter(1)


def in_turn(steps: Sequence[AnyStep]) -> Iterator[Sequence[AnyStep]]:
    """The pieces, each of which waits until all before it are there; all of them at once if nothing is in the way."""
    if _are_of_one_mask(steps):
        yield steps
        return
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


def _are_of_one_mask(steps: Sequence[AnyStep]) -> bool:
    """Whether those that make rules surely are; of a million of one line this is told at C speed."""
    names, sizes = set[str](), set[int]()
    for start in range(0, len(steps), _PIECE):
        matches = [*map(_MATCH, map(_KEY, _made(steps[start : start + _PIECE])))]
        pairs = [*chain.from_iterable(matches)]
        names.update(map(_NAME, pairs))
        sizes.update(map(len, matches))
        # Each has a name once, so that those that have all names have the same.
        if not sizes <= {len(names)} or "/" in _text([*map(_VALUE, pairs)]):
            return False
    return True


def _made(steps: Sequence[AnyStep]) -> list[Any]:
    """The rules that steps make."""
    if [*map(type, steps)].count(Step) < len(steps) or [*map(_OP, steps)].count(Op.CREATE) < len(steps):
        steps = [step for step in steps if isinstance(step, Step) and step.op is Op.CREATE]
    made = [*map(_AFTER, steps)]
    return made if [*map(_CLASS, made)].count("filter") == len(made) else [one for one in made if one.cls == "filter"]


def _text(values: list[Any]) -> str:
    try:
        return "".join(values)
    except TypeError:  # of numbers there are few
        return "".join(map(str, values))


def _firsts(steps: Sequence[Step]) -> list[list[Step]]:
    """The first rules of the masks, of preferences that have several: of the first of each together, and so on."""
    found: dict[Key, dict[object, Step]] = {}
    for step in steps:
        found.setdefault(step.object.key[:4], {}).setdefault(turn_of(step.object), step)
    several = (first.values() for first in found.values() if len(first) > 1)
    return [[*filter(None, together)] for together in zip_longest(*several)]
