# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that a request to delete another one would meet first.

What such a request does not say may be anything: to delete the rule for all packets
from a network is to delete the first one for packets from it, be it for some of them
only.  So of the rules that are met before the wanted one copies are made, behind all
others, and the request is sent once for each and once more: packets find one of them all
the time.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple, TypeAlias

from netgroupd.model.rule import TELLING_APART, action_of, key, split_mark
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op, Step

_Said: TypeAlias = frozenset[tuple[str, Value]]
_COMPARED = TELLING_APART | {"realms"}  # where a rule goes to it does not ask


class _Asked(NamedTuple):
    """What tells rules of a preference apart, of which the kernel does not compare whether one is inverted."""

    said: _Said
    inverted: bool


class _Rule(NamedTuple):
    place: int
    object: Object


class _Alike:
    """Rules of one preference that name the same; those that say something of it are found without a search."""

    def __init__(self) -> None:
        self._rules: dict[_Asked, _Rule] = {}
        self._saying: dict[frozenset[str], defaultdict[_Said, dict[_Asked, _Rule]]] = {}

    def add(self, asked: _Asked, rule: _Rule) -> None:
        """One more."""
        self._rules[asked] = rule
        for names, found in self._saying.items():
            found[_part(asked.said, names)][asked] = rule

    def pop(self, asked: _Asked) -> _Rule | None:
        """One less, if it is there."""
        rule = self._rules.pop(asked, None)
        for names, found in self._saying.items() if rule else ():
            del found[_part(asked.said, names)][asked]
        return rule

    def saying(self, part: _Said, names: frozenset[str]) -> Iterable[_Rule]:
        """Those that say ``part``, which is all that ``names`` are of it."""
        if names not in self._saying:
            found = self._saying[names] = defaultdict(dict)
            for asked, rule in self._rules.items():
                found[_part(asked.said, names)][asked] = rule
        return self._saying[names].get(part, {}).values()


class Standing:
    """The rules that are there, in the order in which the kernel looks at them."""

    def __init__(self, rules: Iterable[Object]) -> None:
        """``rules`` are all of netgroupd's; the kernel looks for those of one protocol alone."""
        self._places = count()
        # By family and preference, then by what they name, so that only those that name more are looked at.
        self._there: defaultdict[Key, defaultdict[frozenset[str], _Alike]] = defaultdict(lambda: defaultdict(_Alike))
        for rule in rules:
            self.comes(rule.key, rule.attrs)

    def comes(self, identity: Key, attrs: Attrs) -> None:
        """A rule is made: it is behind all of its preference."""
        asked = _asked(attrs)
        rule = _Rule(next(self._places), Object("rule", identity, attrs))
        self._there[identity[:2]][_names(asked.said)].add(asked, rule)

    def goes(self, identity: Key, attrs: Attrs) -> list[Object]:
        """A rule is deleted: those that the request meets before it, which are from now on behind all others."""
        asked, there = _asked(attrs), self._there[identity[:2]]
        wanted = _names(asked.said)
        if not (gone := there[wanted].pop(asked)):
            return []
        more = (rules for names, rules in there.items() if names >= wanted)
        met = (rule for rules in more for rule in rules.saying(asked.said, wanted) if rule.place < gone.place)
        found = [rule.object for rule in sorted(met)]
        for rule in found:
            self.comes(rule.key, rule.attrs)
        return found


def deletes_rule(step: AnyStep) -> bool:
    """Whether the kernel is asked to delete a rule, which takes to know the others."""
    return isinstance(step, Step) and step.object.cls == "rule" and step.op is not Op.CREATE


def _asked(attrs: Attrs) -> _Asked:
    """What a request says of a rule and the kernel compares; of a mark the value and the mask, each where not 0."""
    said: dict[str, Value] = dict(key("", 0, attrs)[2])  # type: ignore[arg-type]  # pairs, as key makes
    said |= {name: attrs[name] for name in _COMPARED if attrs.get(name) is not None}
    said["action"] = action_of(attrs)
    inverted = said.pop("not", None) is not None
    if mark := said.pop("fwmark", None):
        parts = zip(("mark", "mask"), split_mark(str(mark)), strict=True)
        said |= {name: part for name, part in parts if part}
    return _Asked(frozenset(said.items()), inverted)


def _names(said: _Said) -> frozenset[str]:
    return frozenset(name for name, _ in said)


def _part(said: _Said, names: frozenset[str]) -> _Said:
    return frozenset(pair for pair in said if pair[0] in names)
