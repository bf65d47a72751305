# SPDX-License-Identifier: GPL-2.0-or-later
"""Chains and hooks that are replaced as a whole: (desired, actual) -> the desired state in chains that exist.

The rules of such a chain are in one of two chains beside it, those of a hook in one
of two beside each of its chains, all on one side.  What is left in the chain itself,
or in the first of the hook, is one rule that goes there.  Where anything differs, all
rules are built on the other side, then that one rule is changed, which the kernel
does in one instant, and then the old ones go: a packet sees the old rules or the
new ones.  Linear.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.model.tc.action import chain_led_to
from netgroupd.model.tc.chain import ALL, OF_HOOK, SPARE, beside, chain_of, led_to, said_as
from netgroupd.model.value import Value
from netgroupd.plan.compare import differing
from netgroupd.plan.step import Step
from netgroupd.plan.tc.turns import Turns, displaced

SWITCH_PREF = 1
_Side = tuple[Key, int]  # the key of a chain, or of all of a hook, and which of the two beside


class Ways:
    """Attributes of rules with other numbers for the chains that they lead to; those of one line still share them."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self._number = number
        self._actions: dict[int, tuple[Value, Value]] = {}
        self._last: tuple[Attrs, Attrs] = (NOTHING, NOTHING)

    def of(self, attrs: Attrs) -> Attrs:
        """The same attributes where they lead to no chain."""
        if attrs is not self._last[0]:
            had = attrs.get("actions", ())
            led = self._led(had)
            self._last = (attrs, attrs if led is had else {**attrs, "actions": led})
        return self._last[1]

    def _led(self, actions: Value) -> Value:
        """What many rules have is one value."""
        found = self._actions.get(id(actions))
        if found is None:
            assert isinstance(actions, tuple)
            led = tuple(map(self._action, actions))
            # They are kept with the answer, so that their identities stay their own.
            self._actions[id(actions)] = found = (actions, led if led != actions else actions)
        return found[1]

    def _action(self, action: Value) -> Value:
        number = chain_led_to(action)
        if number is None:
            return action
        assert isinstance(action, Mapping)
        return {**action, "control": f"goto chain {self._number(number)}"}


class _Policy(NamedTuple):
    """The rules that change together, under the keys that they have in the configuration."""

    chain: Object
    rules: dict[Key, Object]

    @property
    def whole(self) -> bool:
        """Whether these are all chains of a hook."""
        return self.chain.key[2] is ALL

    def switch(self, side: int) -> Object:
        """The rule that goes to one side."""
        first = self.chain.key[2] or 0
        assert isinstance(first, int)
        goto = f"goto chain {beside(first, side, whole=self.whole)}"
        # Of flower, for that changes a rule by putting the new one in before it takes the old one out.
        attrs: Attrs = {"kind": "flower", "protocol": "all", "actions": ({"kind": "gact", "control": goto},)}
        return Object("filter", (*self.chain.key[:2], first, SWITCH_PREF, ()), attrs, self.chain.origin)

    def at(self, side: int) -> dict[Key, Object]:
        """All of it, built on one side."""
        ways = Ways(lambda number: beside(number, side, whole=True))
        built = {}
        for key, rule in self.rules.items():
            moved = (*key[:2], beside(chain_of(key), side, whole=self.whole), *key[3:])
            built[moved] = Object(rule.cls, moved, ways.of(rule.attrs) if self.whole else rule.attrs, rule.origin)
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
        policy = policies.get(key[:3]) or policies.get((*key[:2], ALL))
        (policy.rules if policy else filters)[key] = rule
    held = Counter(filter(None, map(_side_of, actual.of("filter"))))
    turns = Turns(actual)
    for policy in policies.values():
        filters |= _built(policy, actual.of("filter"), held, turns)
    chains = {key: chain for key, chain in desired.of("chain").items() if key not in atomic}
    return desired.having(chain=chains, filter=filters)


def _side_of(rule: Key) -> _Side | None:
    number = chain_of(rule)
    if number < OF_HOOK:
        return None
    return (*rule[:2], said_as(number) if number >= SPARE else ALL), number & 1


def _built(policy: _Policy, haves: Mapping[Key, Object], held: Mapping[_Side, int], turns: Turns) -> dict[Key, Object]:
    """The rules where they are if they are all there as wanted, otherwise on the side that is not gone to.

    One that the kernel may have refused and that alone is missing needs no other side: it is there at once, or is not.
    Several, and one that is not asked last, are tried there first, where no packet comes: if all are refused again,
    nothing is built for them.
    """
    now = next((side for side in (0, 1) if _is_there(policy.switch(side), haves)), None)
    if now is None:
        return policy.at(0)
    wants = policy.at(now)
    missing = frozenset(one.key for one in wants.values() if one.key not in haves)
    alike = all(_is_there(one, haves) for key, one in wants.items() if key not in missing)
    whole = len(wants) - 1 - len(missing) == held.get((policy.chain.key, now), 0)
    if not (alike and whole) or any(wants[key].attrs.get("optional") is not True for key in missing):
        return policy.at(1 - now)
    if len(missing) <= 1 and not (turns.astray(wants.values(), missing) or displaced(wants.values(), missing)):
        return wants
    other = policy.at(1 - now)
    tried = frozenset(map(_across, missing))
    if not tried or any(one in haves for one in tried):
        return other
    there = {key: one for key, one in wants.items() if key not in missing}
    return there | {key: other[key] for key in other if key in tried}


def _across(rule: Key) -> Key:
    """The key that a rule has on the other side."""
    return (*rule[:2], chain_of(rule) ^ 1, *rule[3:])


def _is_there(want: Object, haves: Mapping[Key, Object]) -> bool:
    have = haves.get(want.key)
    return have is not None and not differing(want, have)


def is_switch(rule: Object) -> bool:
    """Whether this is the rule that goes to one side."""
    _, _, _, pref, match = rule.key
    if pref != SWITCH_PREF or match or rule.attrs.get("kind") != "flower":
        return False
    return any(number >= OF_HOOK for number in led_to(rule.attrs))


def unmet(steps: Iterable[Step], actual: State) -> frozenset[Key]:
    """The chains that packets come to only with ``steps``, and that have rules of an attempt already."""
    found = steps if actual.of("filter") else ()
    switches = (step.after for step in found if step.after and is_switch(step.after))
    sides = {(*rule.key[:2], number) for rule in switches for number in led_to(rule.attrs)}
    if not sides:
        return frozenset()
    there = {key[:3] for key in actual.of("filter")}
    return frozenset(chain for chain in there if not sides.isdisjoint((chain, _first_of(chain))))


def _first_of(chain: Key) -> Key:
    """Where packets come first on the side of a hook that a chain is of."""
    number = chain_of(chain)
    return (*chain[:2], beside(0, number & 1, whole=True) if OF_HOOK <= number < SPARE else number)
