# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of rules of traffic control: which are added before others, and which are deleted last.

A chain is whole before a rule goes to it, and is emptied when none does any more.
"""

from collections.abc import Set

from netgroupd.model.state import Key, Object, State
from netgroupd.model.tc.chain import OF_HOOK, chain_of
from netgroupd.plan.replaced import stay_beside
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.atomic import SWITCH_PREF, is_switch
from netgroupd.plan.tc.tables import is_u32, pref_of, standing
from netgroupd.plan.tc.taken import is_said_again

LEVELS = (
    "add filter of a spare chain",
    "add filter of a chain",
    "add filter",
    "leave spare chain",
    "empty chain",
)
"""What is of a later one waits until the kernel has taken all of those before."""
LAST = len(LEVELS) - 1
_LEAVING = LEVELS.index("leave spare chain")


def level_of(step: AnyStep) -> int:
    """Which of the LEVELS a step about a filter is of; whatever deletes, the last, but for what goes to others."""
    if not isinstance(step, Step):
        return LAST
    if step.op is Op.DELETE:
        return _LEAVING if is_switch(step.object) else LAST
    return level_in(chain_of(step.object.key))


def level_in(chain: int) -> int:
    """The same of a rule that is added to a chain."""
    if chain >= OF_HOOK:
        return 0
    return 1 if chain else 2


class Order:
    """Which filters are added before others, and which are deleted last.

    A hash table is never without rules; the rules ``in_the_way`` of classes go first;
    one that goes to a spare chain stays until those that take its place are there.
    """

    def __init__(self, steps: tuple[Step, ...], desired: State, in_the_way: Set[Key] = frozenset()) -> None:
        doomed: dict[Key, set[object]] = {}
        for step in steps:
            if step.op is Op.DELETE and step.object.cls == "filter":
                doomed.setdefault(step.object.key[:3], set()).add(step.object.key[3])
        taken: dict[Key, set[object]] = {chain: set() for chain in doomed}
        for key in desired.of("filter") if doomed else ():
            if key[:3] in taken:
                taken[key[:3]].add(key[3])
        emptied = {step.object.key for step in steps if step.object.cls == "chain"}
        self._last = {
            chain
            for chain, prefs in doomed.items()
            if chain not in emptied
            and taken[chain] <= {SWITCH_PREF}
            and not taken[chain] & prefs
            # No rule goes to the first chain: it is emptied first, unless it becomes an atomic one.
            and (chain[2] or taken[chain])
        }
        self._left_last = {chain for chain in doomed if chain not in emptied and SWITCH_PREF not in taken[chain]}
        self._beside = {key for key in (stay_beside(steps) if doomed else ()) if key[:3] not in emptied}
        self._standing = standing(steps, desired)
        self._in_the_way = in_the_way

    def phase(self, step: Step) -> str:
        """The phase of a step about a filter."""
        key = step.object.key
        if is_said_again(step):
            return "say filter again"
        if step.op is Op.DELETE and (key in self._in_the_way or not self._is_last(step.object)):
            return "delete filter"
        return LEVELS[level_of(step)]

    def _is_last(self, rule: Object) -> bool:
        if is_switch(rule):
            return rule.key[:3] in self._left_last
        return rule.key[:3] in self._last or rule.key in self._beside or self._stays(rule)

    def _stays(self, rule: Object) -> bool:
        """Whether a hash table of its preference stays."""
        return bool(self._standing) and is_u32(rule) and pref_of(rule) in self._standing
