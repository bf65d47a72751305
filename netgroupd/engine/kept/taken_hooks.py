# SPDX-License-Identifier: GPL-2.0-or-later
"""What others had of traffic control where files came to name a hook, which is netgroupd's as a whole since.

Who goes back to where no file names it has there what was there; unless others have something else there since.
"""

from collections.abc import Iterable, Iterator, Set

from netgroupd.engine.kept.taken_over import as_had, as_it_was, is_had
from netgroupd.model.state import NOTHING, Object, State
from netgroupd.model.tc.shared import OF_RULES
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.tc.hooks import Hook, blocks_of, hook_of, hooks_of
from netgroupd.plan.unsaid import is_foreign

_CLASSES = ("action", "qdisc", "tclass", "chain", "filter")
_NOT_THEIRS = frozenset({"hooks", "in_use"})
_NOT_ALONE = frozenset({UNSAID, OF_RULES})  # an action of a rule's own comes with that


def had(desired: State, actual: State, before: Set[Hook]) -> Iterator[tuple[Object, Object]]:
    """All that is at the hooks which files name in ``desired``, and did not ``before``."""
    begun = hooks_of(desired) - before
    for obj in _at(actual) if begun else ():
        if hook_of(obj) in begun and _NOT_ALONE.isdisjoint(obj.attrs) and not is_foreign(obj):
            yield as_had(obj), obj._replace(attrs=NOTHING)


def looked_for(replaced: Iterable[Object]) -> Iterator[Object]:
    """What has to be looked at to see what is there now."""
    yield from (was for was in replaced if was.cls in _CLASSES and is_had(was))


def give_back(
    goal: State, replaced: Iterable[Object], desired: State, actual: State, ours: Set[Hook], gone: Set[str]
) -> None:
    """Add to ``goal`` what is to be there again; ``ours`` are the hooks that are netgroupd's still."""
    there = {hook_of(obj) for obj in _at(actual)}
    closed = hooks_of(desired) | (there - ours)
    links = {name for (name,) in actual.of("link")} - gone
    for cls in _CLASSES:
        blocks = {name for qdisc in goal.of("qdisc").values() for name, _ in blocks_of(qdisc)}
        for was in (was for was in replaced if was.cls == cls and is_had(was)):
            stands = cls == "action" or was.name in links or was.name in blocks
            if stands and hook_of(was) not in closed and gone.isdisjoint(hangs_on(was)):
                attrs = {name: value for name, value in as_it_was(was).attrs.items() if name not in _NOT_THEIRS}
                goal.add(was._replace(attrs=attrs))


def _at(state: State) -> Iterator[Object]:
    for cls in _CLASSES:
        yield from state.of(cls).values()
