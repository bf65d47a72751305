# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that are in chains beside those of the configuration, and how the configuration has them."""

from collections import Counter, defaultdict
from collections.abc import Set

from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc.chain import ALL, OF_HOOK, SPARE, chain_of, led_to, said_as
from netgroupd.plan.atomic import SWITCH_PREF, Ways, is_switch

_SWITCH = "switch"


def said_key(rule: Key) -> Key:
    """The key that the configuration has for a rule."""
    number = chain_of(rule)
    return (*rule[:2], said_as(number), *rule[3:]) if number >= OF_HOOK else rule


def identity(rule: Object) -> Key:
    """What tells a rule from all others, whichever side it is on."""
    key = rule.key
    if key[3] == SWITCH_PREF and is_switch(rule):
        return (*key, _SWITCH)  # the configuration may have such a rule too
    return said_key(key)


class Said:
    """What the configuration says of rules: where they lead within a hook that is replaced as a whole."""

    def __init__(self) -> None:
        self._ways = Ways(said_as)

    def of(self, rule: Object, attrs: Attrs) -> Attrs:
        """Some ``attrs`` of a rule, as the configuration has them."""
        return self._ways.of(attrs) if OF_HOOK <= chain_of(rule.key) < SPARE else attrs


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
    chains, said, filters = {chain.key: chain for chain in atomic.values()}, Said(), dict[Key, Object]()
    for key, rule in rules.items():
        where, parent, number, *_ = mine = said_key(key)
        if mine is not key and ((where, parent, ALL) in chains or (where, parent, number) in chains):
            filters[mine] = rule._replace(key=mine, attrs=said.of(rule, rule.attrs))
        elif key not in atomic:
            filters[key] = rule
    found = State(groups=actual.groups)
    found.classes = {**actual.classes, "chain": {**actual.of("chain"), **chains}, "filter": filters}
    return found


def _atomic(switch: Object, numbers: Set[int]) -> Object | None:
    """The chain, or all of the hook, that a rule is what is left of; None where ``numbers`` of its hook are others."""
    number, (side, *_) = chain_of(switch.key), led_to(switch.attrs)
    whole = side < SPARE
    others = numbers - {number} if whole else numbers & {side ^ 1}
    if said_as(side) != number or any((one ^ side) & 1 or not OF_HOOK <= one < SPARE for one in others):
        return None
    return Object("chain", (*switch.key[:2], ALL if whole else number), {"atomic": True})
