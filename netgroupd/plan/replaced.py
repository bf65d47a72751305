# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules, routes, addresses and filters that are deleted, and in the place of which others come.

Where both can be at once, the old one goes behind the new one, else directly
before it, so that packets miss neither for long.  The routes of a table go when
no rule leads there any more.  Linear.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.model.route import TABLES
from netgroupd.model.state import Key, Object
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.tables import is_u32

# Of these a preference holds any number of rules; of others it has one, or one mask.
_SIDE_BY_SIDE = frozenset({"flower", "basic", "bpf"})


class Replaced(NamedTuple):
    """What is deleted ``before`` or ``behind`` what takes its place, and the routes of tables that are ``left``."""

    before: Mapping[tuple[str, Key], list[Step]] = MappingProxyType({})
    behind: Mapping[tuple[str, Key], list[Step]] = MappingProxyType({})
    left: frozenset[Key] = frozenset()

    def waiting(self) -> frozenset[int]:
        """The identities of the deletions that come with what takes their place."""
        return frozenset(id(step) for found in (self.before, self.behind) for steps in found.values() for step in steps)


def replaced(steps: Iterable[Step], is_lost: Callable[[Object], str], addresses: Mapping[Key, list[Step]]) -> Replaced:
    """Find what is replaced by ``steps``; what ``is_lost`` is gone before anything comes.

    Of ``addresses`` it is known already, by the first that comes.
    """
    doomed: list[Step] = []
    coming: dict[tuple[str, Key], Key] = {}
    tables = set[object]()
    for step in steps:
        obj = step.object
        if obj.cls not in ("rule", "route"):
            continue
        if step.op is Op.CREATE:
            coming.update({(obj.cls, place): obj.key for place in _places(obj)})
        elif step.op is Op.DELETE and not is_lost(obj):
            doomed.append(step)
        if obj.cls == "rule" and step.before:
            tables.add(step.before.attrs.get("lookup"))
    before, behind = defaultdict[tuple[str, Key], list[Step]](list), defaultdict[tuple[str, Key], list[Step]](list)
    left = set[Key]()
    tables.difference_update(TABLES.values())
    for step in doomed:
        obj = step.object
        key = next((coming[obj.cls, place] for place in _places(obj) if (obj.cls, place) in coming), None)
        if key is not None:
            (before if key == obj.key else behind)[obj.cls, key].append(step)
        elif obj.cls == "route" and obj.key[1] in tables:
            left.add(obj.key)
    behind.update({("address", key): found for key, found in addresses.items()})
    return Replaced(dict(before), dict(behind), frozenset(left))


def _places(obj: Object) -> tuple[Key, ...]:
    """What a rule or a route is in place of: the very same, one with another preference or selectors, or metric."""
    if obj.cls == "route":
        return obj.key, obj.key[:4]
    family, pref, selectors = obj.key
    return obj.key, (family, "pref", pref), (family, "selectors", selectors)


def stay_beside(steps: Iterable[Step]) -> frozenset[Key]:
    """The filters that can stay until those are there that match what they do, or have their preference.

    Rules of u32 stand with their hash tables, and come and go in an order of their own.
    """
    doomed: list[Object] = []
    made = set[Key]()
    kinds: dict[Key, set[object]] = defaultdict(set)
    matches = set[tuple[Key, object, object]]()
    for step in steps:
        if step.object.cls != "filter":
            continue
        if step.op is Op.CREATE:
            made.add(step.object.key)
            kinds[step.object.key[:4]].add(_kind(step.object))
            matches.add(_match(step.object))
        elif step.op is Op.DELETE and not is_u32(step.object):
            doomed.append(step.object)
    return frozenset(
        obj.key
        for obj in doomed
        if obj.key not in made
        and (
            (kinds.get(obj.key[:4]) == {_kind(obj)} and obj.attrs.get("kind") in _SIDE_BY_SIDE)
            or (not kinds.get(obj.key[:4]) and _match(obj) in matches)
        )
    )


def _kind(rule: Object) -> tuple[object, object]:
    """What all rules of a preference have in common."""
    return rule.attrs.get("kind"), rule.attrs.get("protocol")


def _match(rule: Object) -> tuple[Key, object, object]:
    return rule.key[:3], rule.key[4], rule.attrs.get("kind")
