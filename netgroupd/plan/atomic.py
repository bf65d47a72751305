# SPDX-License-Identifier: GPL-2.0-or-later
"""Chains of filters that are replaced as a whole: (desired, actual) -> the desired state in chains that exist.

The rules of such a chain are in one of two chains beside it, and what is left in
the chain itself is one rule that goes there.  Where anything differs, all rules
are built in the other of the two, then that one rule is changed, which the kernel
does in one instant, and then the old ones go: a packet sees the old rules or the
new ones.  Linear.
"""

from collections.abc import Mapping, Set
from typing import NamedTuple

from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc.chain import SPARE
from netgroupd.plan.compare import differing
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tables import is_u32, pref_of, standing

LEVELS = ("add filter of a spare chain", "add filter of a chain", "add filter", "empty chain")
"""What is of a later one waits until the kernel has taken all of those before."""
LAST = len(LEVELS) - 1

_SWITCH_PREF = 1
_Chain = tuple[object, ...]  # where, parent, number


class _Policy(NamedTuple):
    """The rules of one chain, under the keys that they have in it."""

    chain: Object
    rules: dict[Key, Object]

    def sides(self) -> tuple[int, int]:
        """The numbers of the two chains beside it."""
        number = self.chain.key[2]
        assert isinstance(number, int)
        return SPARE + 2 * number, SPARE + 2 * number + 1

    def switch(self, side: int) -> Object:
        """The rule that goes to one of them."""
        # Of flower, for that changes a rule by putting the new one in before it takes the old one out.
        attrs: Attrs = {
            "kind": "flower",
            "protocol": "all",
            "actions": ({"kind": "gact", "control": f"goto chain {side}"},),
        }
        return Object("filter", (*self.chain.key, _SWITCH_PREF, ()), attrs, self.chain.origin)

    def at(self, side: int) -> dict[Key, Object]:
        """All of it, built in one of them."""
        built = {}
        for key, rule in self.rules.items():
            moved = (*key[:2], side, *key[3:])
            built[moved] = rule._replace(key=moved)
        switch = self.switch(side)
        return {**built, switch.key: switch}


def placed(desired: State, actual: State) -> State:
    """Put the rules of atomic chains where they are if nothing differs, or else beside."""
    atomic = {key: chain for key, chain in desired.of("chain").items() if chain.attrs.get("atomic")}
    if not atomic:
        return desired
    policies = {key: _Policy(chain, {}) for key, chain in atomic.items()}
    filters: dict[Key, Object] = {}
    for key, rule in desired.of("filter").items():
        policy = policies.get(key[:3])
        (policy.rules if policy else filters)[key] = rule
    held = _sizes(actual)
    for policy in policies.values():
        filters |= policy.at(_side(policy, actual, held))
    found = State(groups=desired.groups)
    chains = {key: chain for key, chain in desired.of("chain").items() if key not in atomic}
    found.classes = {**desired.classes, "chain": chains, "filter": filters}
    return found


def level_of(step: AnyStep) -> int:
    """Which of the LEVELS a step about a filter is of; whatever deletes, the last."""
    if not isinstance(step, Step) or step.op is Op.DELETE:
        return LAST
    return level_in(step.object.key[2])


def level_in(chain: object) -> int:
    """The same of a rule that is added to a chain."""
    assert isinstance(chain, int)
    if chain >= SPARE:
        return 0
    return 1 if chain else 2


def said_as(key: Key) -> Key:
    """The key that the configuration has for a rule of one of the two chains beside an atomic one."""
    chain = key[2]
    assert isinstance(chain, int)
    return (*key[:2], (chain - SPARE) // 2, *key[3:]) if chain >= SPARE else key


def _sizes(actual: State) -> Mapping[_Chain, int]:
    sizes: dict[_Chain, int] = {}
    for key in actual.of("filter"):
        sizes[key[:3]] = sizes.get(key[:3], 0) + 1
    return sizes


def _side(policy: _Policy, actual: State, held: Mapping[_Chain, int]) -> int:
    """The chain that the rules are in if they are all there as wanted, otherwise the one that is not gone to."""
    first, second = policy.sides()
    haves = actual.of("filter")
    for now, other in ((first, second), (second, first)):
        switch = policy.switch(now)
        have = haves.get(switch.key)
        if have is None or differing(switch, have):
            continue
        wants = policy.at(now)
        if len(wants) - 1 != held.get((*policy.chain.key[:2], now), 0):
            return other
        same = all((had := haves.get(key)) and not differing(want, had) for key, want in wants.items())
        return now if same else other
    return first


class Order:
    """Which filters are added before others, and which are deleted last.

    A chain is whole before a rule goes to it, and is emptied when none does any more;
    a hash table is never without rules; the rules ``in_the_way`` of classes go first.
    """

    def __init__(self, steps: tuple[Step, ...], desired: State, in_the_way: Set[Key] = frozenset()) -> None:
        doomed: dict[_Chain, set[object]] = {}
        for step in steps:
            if step.op is Op.DELETE and step.object.cls == "filter":
                doomed.setdefault(step.object.key[:3], set()).add(step.object.key[3])
        taken: dict[_Chain, set[object]] = {chain: set() for chain in doomed}
        for key in desired.of("filter") if doomed else ():
            if key[:3] in taken:
                taken[key[:3]].add(key[3])
        emptied = {step.object.key for step in steps if step.object.cls == "chain"}
        self._last = {
            chain
            for chain, prefs in doomed.items()
            if chain not in emptied
            and taken[chain] <= {_SWITCH_PREF}
            and not taken[chain] & prefs
            # No rule goes to the first chain: it is emptied first, unless it becomes an atomic one.
            and (chain[2] or taken[chain])
        }
        self._standing = standing(steps, desired)
        self._in_the_way = in_the_way

    def phase(self, step: Step) -> str:
        """The phase of a step about a filter."""
        key = step.object.key
        if step.op is Op.DELETE and (key in self._in_the_way or not self._is_last(step.object)):
            return "delete filter"
        return LEVELS[level_of(step)]

    def _is_last(self, rule: Object) -> bool:
        return rule.key[:3] in self._last or self._stays(rule)

    def _stays(self, rule: Object) -> bool:
        """Whether a hash table of its preference stays."""
        return bool(self._standing) and is_u32(rule) and pref_of(rule) in self._standing
