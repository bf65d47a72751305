# SPDX-License-Identifier: GPL-2.0-or-later
"""Classes of qdiscs that are deleted: which have to go before others come, and which only behind their rules.

The kernel deletes no class that others are below or that a rule leads to, and with
a class goes what is in it.  Linear.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.attr import Change
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import differing, hardest
from netgroupd.plan.reach import closure
from netgroupd.plan.step import Step
from netgroupd.plan.tc.hooks import CLSACT_HOOKS, Hook
from netgroupd.plan.tc.tables import with_all_of_u32


class Remade(NamedTuple):
    """Classes, as (link, handle), that go before others come, and the rules that are in their way."""

    classes: frozenset[Hook] = frozenset()
    rules: frozenset[Key] = frozenset()


def remade(desired: State, actual: State) -> Remade:
    """The classes that are made anew or make room for a qdisc above them, with those below, and their rules."""
    haves = actual.of("tclass")
    led: frozenset[Hook] = frozenset()
    if not haves.keys() <= desired.of("tclass").keys():
        led = frozenset(hook for rule in desired.of("filter").values() for hook in _used_by(rule)[1:])
    going = {_hook(have) for have in haves.values() if _goes_first(have, desired, led)}
    if not going:
        return Remade()
    classes = _with_those_below(going, haves)
    return Remade(classes, _in_the_way(classes, actual))


def held(steps: Iterable[Step], actual: State) -> frozenset[Hook]:
    """The classes that rules are on or lead to until ``steps`` change or delete them, and those above."""
    above = {_hook(have): [(have.name, str(have.attrs["parent"]))] for have in actual.of("tclass").values()}
    return closure((hook for step in steps if step.before for hook in _used_by(step.before)), above)


def given_a_share(steps: Iterable[Step], actual: State) -> Iterator[Object]:
    """The classes of hfsc that the kernel gives their `rt` for an `ls` too, for another comes below them."""
    come = {(step.object.name, step.attrs.get("parent")) for step in steps if step.object.cls == "tclass"}
    for have in actual.of("tclass").values() if come else ():
        if have.attrs.get("rt") and not have.attrs.get("ls") and _hook(have) in come:
            yield have


def _hook(one: Object) -> Hook:
    return one.name, str(one.key[1])


def _goes_first(have: Object, desired: State, led: frozenset[Hook]) -> bool:
    want = desired.of("tclass").get(have.key)
    if want is None:
        # A class with others below it takes no qdisc, and a rule that stays lets go of none by itself.
        return _hook(have) in led or (have.name, have.attrs.get("parent")) in desired.of("qdisc")
    attrs = differing(want, have)
    return bool(attrs) and hardest(want, attrs, have.attrs)[0] is Change.RECREATE


def _with_those_below(going: set[Hook], haves: Mapping[Key, Object]) -> frozenset[Hook]:
    below: dict[Hook, list[Hook]] = defaultdict(list)
    for have in haves.values():
        below[have.name, str(have.attrs.get("parent"))].append(_hook(have))
    return closure(going, below)


def _in_the_way(classes: frozenset[Hook], actual: State) -> frozenset[Key]:
    """The rules on ``classes`` or that lead to them; where there are hash tables, with all of their preference."""
    rules = actual.of("filter").values()
    found = {rule.key for rule in rules if not classes.isdisjoint(_used_by(rule))}
    return with_all_of_u32(found, rules)


def _used_by(rule: Object) -> tuple[Hook, ...]:
    """The classes that a rule is on and leads to; at a hook it only names one."""
    if rule.cls != "filter" or rule.key[1] in CLSACT_HOOKS:
        return ()
    return (rule.name, str(rule.key[1])), (rule.name, str(rule.attrs.get("classid")))
