# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that are in chains beside those of the configuration, and how the configuration has them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set

from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc.chain import ALL, OF_HOOK, SPARE, chain_of, led_to, said_as
from netgroupd.plan.tc.atomic import SWITCH_PREF, Ways, is_switch

_SWITCH = "switch"


class Said:
    """What the configuration says of rules in chains beside those that it has.

    Others may use such numbers too: beside a chain are those alone that packets are led to by the rule left in it.
    """

    def __init__(self, rules: Iterable[Object]) -> None:
        """``rules`` have among them the ones that lead there, but for those that come alone: they are ``optional``."""
        self._ways = Ways(said_as)
        few = (rule for rule in rules if rule.key[3] == SWITCH_PREF or rule.attrs.get("optional"))
        self._replaced = {place for rule in few for place in _replaced_by(rule)}

    def key(self, rule: Key) -> Key:
        """The key that the configuration has for a rule."""
        if not self._replaced:
            return rule
        number = chain_of(rule)
        return said_key(rule) if number >= OF_HOOK and self._has(rule, number) else rule

    def _has(self, rule: Key, number: int) -> bool:
        return _place(rule, number) in self._replaced

    def identity(self, rule: Object) -> Key:
        """What tells a rule from all others, whichever side it is on."""
        key = rule.key
        if key[3] == SWITCH_PREF and is_switch(rule):
            return (*key, _SWITCH)  # the configuration may have such a rule too
        return self.key(key)

    def attrs(self, rule: Object, attrs: Attrs) -> Attrs:
        """Some ``attrs`` of a rule: where it leads within a hook that is replaced as a whole."""
        if not self._replaced:
            return attrs
        number = chain_of(rule.key)
        return self._ways.of(attrs) if OF_HOOK <= number < SPARE and self._has(rule.key, number) else attrs

    def of(self, rule: Object) -> Object:
        """A rule under the key that the configuration has for it."""
        return rule if (key := self.key(rule.key)) is rule.key else rule._replace(key=key)


def _replaced_by(rule: Object) -> Iterator[Key]:
    """What a rule shows to be replaced as a whole: one that leads beside, or is optional and there alone."""
    number = chain_of(rule.key)
    if is_switch(rule):
        sides = (side for side in led_to(rule.attrs) if said_as(side) == number)
        yield from (_place(rule.key, side) for side in sides)
    elif number >= OF_HOOK and rule.attrs.get("optional"):
        yield _place(rule.key, number)


def _place(rule: Key, number: int) -> Key:
    """The chain, or all of the hook, that a chain of this number is beside."""
    return (*rule[:2], said_as(number) if number >= SPARE else ALL)


def said_key(rule: Key) -> Key:
    """The key that the configuration has for a rule that is in a chain beside one."""
    return (*rule[:2], said_as(chain_of(rule)), *rule[3:])


def unplaced(actual: State) -> State:
    """``actual`` with atomic chains and hooks as the configuration has them, where they are whole."""
    rules = actual.of("filter")
    held = Counter(key[:3] for key in rules)
    hooks: dict[Key, set[int]] = defaultdict(set)
    for where, parent, number in held:
        hooks[where, parent].add(chain_of((where, parent, number)))
    switches = (rule for key, rule in rules.items() if key[3] == SWITCH_PREF and is_switch(rule) and held[key[:3]] == 1)
    atomic = {switch.key: chain for switch in switches if (chain := _atomic(switch, hooks[switch.key[:2]]))}
    if not atomic:
        return actual
    chains, filters = {chain.key: chain for chain in atomic.values()}, dict[Key, Object]()
    said = Said(rules[key] for key in atomic)
    for key, rule in rules.items():
        if (mine := said.key(key)) is not key:
            filters[mine] = rule._replace(key=mine, attrs=said.attrs(rule, rule.attrs))
        elif key not in atomic:
            filters[key] = rule
    return actual.having(chain={**actual.of("chain"), **chains}, filter=filters)


def _atomic(switch: Object, numbers: Set[int]) -> Object | None:
    """The chain, or all of the hook, that a rule is what is left of; None where ``numbers`` of its hook are others."""
    number, (side, *_) = chain_of(switch.key), led_to(switch.attrs)
    whole = side < SPARE
    others = numbers - {number} if whole else numbers & {side ^ 1}
    if said_as(side) != number or any((one ^ side) & 1 or not OF_HOOK <= one < SPARE for one in others):
        return None
    return Object("chain", (*switch.key[:2], ALL if whole else number), {"atomic": True})
