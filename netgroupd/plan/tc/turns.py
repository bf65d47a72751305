# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that the kernel asks in turn: those of one preference of basic, bpf and flow, and of flower the masks.

They come in the order of the file, in which they are made.  A new one is always the
last, so those that are to come behind it are deleted and made again.  Of flower the
kernel does not tell the order of the masks: there it is kept where rules are put
back, which know their handles, and in chains that packets do not come to yet.  Linear.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property
from itertools import dropwhile, takewhile
from operator import eq, itemgetter
from typing import Any

from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc.flower import mask_of
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.anew import excluded

_IN_TURN = frozenset({"basic", "bpf", "flow"})
_WITH_PLACES = _IN_TURN | {"flower"}
_KEPT = ("actions", "classid", "skip_hw", "skip_sw", "direct_action")
_ATTRS: Callable[[Any], Attrs] = itemgetter(2)  # of an object
_WHY = "rules of its preference are asked in turn"


class Turns:
    """The rules there are, by preference."""

    def __init__(self, actual: State) -> None:
        self._actual = actual

    @cached_property
    def _haves(self) -> Mapping[Key, list[Object]]:
        return _by_preference(self._actual.of("filter").values())

    def astray(
        self, wants: Collection[Object], made: Set[Key] = frozenset(), unmet: Set[Key] = frozenset()
    ) -> dict[Key, list[Object]]:
        """By preference the rules that would not come in the order of ``wants`` beside those that are ``made``.

        Of chains that no packet has come to (``unmet``) those of flower, too.
        """
        # Of a million rules of one line the attributes are one mapping, which tells that none is asked in turn.
        attrs = [*map(_ATTRS, wants)]
        if not unmet and not any(map(_has_place, dict(zip(map(id, attrs), attrs, strict=True)).values())):
            return {}
        told = (want for want in wants if _has_place(want[2]) or (want[1][:3] in unmet and want[2]["kind"] == "flower"))
        found = {pref: _astray(rules, self._haves.get(pref, []), made) for pref, rules in _by_preference(told).items()}
        return {pref: rules for pref, rules in found.items() if rules}


def arrange(steps: list[Step], desired: State, actual: State, unmet: Set[Key] = frozenset()) -> list[Step]:
    """Add to the steps about filters what it takes for rules to come in their order; ``unmet`` as ``astray`` has it."""
    wants = desired.of("filter")
    if not actual.of("filter"):
        return steps  # a million rules need not be looked at for nothing
    coming = {step.object.key: step for step in steps if _comes(step)}
    astray = Turns(actual).astray(wants.values(), coming.keys(), unmet)
    if not astray:
        return steps
    again = {rule.key: rule for rules in astray.values() for rule in rules}
    others = [step for step in steps if not (_comes(step) and step.object.key[:4] in astray)]
    deleted = [Step(Op.DELETE, rule, None, why=_WHY) for rule in again.values()]
    created = (
        _made_again(want, again[want.key]) if want.key in again else coming.get(want.key)
        for want in wants.values()
        if want.key[:4] in astray
    )
    return [*deleted, *(step for step in others if step.object.key not in again), *filter(None, created)]


def _comes(step: Step) -> bool:
    return step.op is Op.CREATE or bool(step.why and step.after)


def displaced(wants: Iterable[Object], made: Set[Key]) -> bool:
    """Whether a mask of flower of the rules that are ``made`` beside the others would be asked in another turn."""
    prefs = {key[:4] for key in made}
    told = (want for want in wants if want.key[:4] in prefs and want.attrs.get("kind") == "flower") if prefs else ()
    for rules in _by_preference(told).values():
        last = [want for want in rules if want.key in made]
        if _turns([*(want for want in rules if want.key not in made), *last]) != _turns(rules):
            return True
    return False


def behind(doomed: Iterable[Object], actual: State) -> Iterator[Object]:
    """The rules that are asked in turn, from the first on that comes back at the end if ``doomed`` ones do."""
    going: dict[Key, set[Key]] = defaultdict(set)
    for rule in doomed:
        if rule.attrs.get("kind") in _WITH_PLACES:
            going[rule.key[:4]].add(rule.key)
    haves = _by_preference(rule for rule in actual.of("filter").values() if rule.key[:4] in going) if going else {}
    for pref, rules in haves.items():
        gone = going[pref]
        if len(gone) == len(rules):
            continue
        lost = {turn_of(rule) for rule in rules if rule.key in gone}
        for rule in rules:
            if not lost:
                break  # of those that stay the first few have its mask
            if rule.key not in gone:
                lost.discard(turn_of(rule))
        if lost:
            yield from dropwhile(lambda rule: turn_of(rule) not in lost, rules)  # noqa: B023  # at once


def several(rules: Iterable[Object]) -> frozenset[Key]:
    """The preferences in which some are asked before others."""
    asked = (rule for rule in rules if rule.attrs.get("kind") in _WITH_PLACES)
    return frozenset(pref for pref, found in _by_preference(asked).items() if len(_turns(found)) > 1)


def by_mask(rules: Iterable[Object], among: Callable[[Object], Any] = lambda _rule: 0) -> list[Object]:
    """The same, those of flower where the first of their preference with their mask is.

    Of one mask no order counts: there they are as ``among`` sorts them, or as they come.
    """
    first: dict[tuple[Key, object], int] = {}
    placed: list[tuple[int, Any, Object]] = []
    for place, rule in enumerate(rules):
        if rule.attrs.get("kind") == "flower":
            placed.append((first.setdefault((rule.key[:4], turn_of(rule)), place), among(rule), rule))
        else:
            placed.append((place, 0, rule))
    return [rule for *_, rule in sorted(placed, key=itemgetter(0, 1))]


def _has_place(attrs: Attrs) -> bool:
    """Whether rules are asked in turn, or of flower and put back."""
    return attrs.get("kind") in _IN_TURN or (attrs.get("kind") == "flower" and "handle" in attrs)


def _by_preference(rules: Iterable[Object]) -> Mapping[Key, list[Object]]:
    found: dict[Key, list[Object]] = defaultdict(list)
    for rule in rules:
        found[rule[1][:4]].append(rule)
    return found


def _astray(wants: list[Object], haves: list[Object], made: Set[Key]) -> list[Object]:
    wanted = {want.key for want in wants}
    stay = [have for have in haves if have.key in wanted and have.key not in made]
    now, then = _turns(stay), _turns(wants)
    right = sum(1 for _ in takewhile(bool, map(eq, now, then)))
    late = set(now[right:])
    found = [have for have in stay if turn_of(have) in late] if late else []
    return [] if any(UNSAID in have.attrs for have in found) else found  # nothing could make it what it was


def _turns(rules: Iterable[Object]) -> list[object]:
    return [*dict.fromkeys(map(turn_of, rules))]


def turn_of(rule: Object) -> object:
    """What has a place among others: the rule itself, or of flower the mask."""
    match = rule.key[4]
    assert isinstance(match, tuple)
    if rule.attrs.get("kind") != "flower":
        return match
    return masks_of(match)


def masks_of(match: Iterable[Value]) -> tuple[tuple[object, str], ...]:
    """What has a place of a match of flower."""
    pairs = (pair for pair in match if isinstance(pair, tuple))  # what no file can say is told otherwise
    return tuple((name, mask_of(name, value)) for name, value in pairs)  # type: ignore[arg-type]  # names are texts


def _made_again(want: Object, have: Object) -> Step:
    """Make a rule again, with what a file does not say of it."""
    kept = {name: have.attrs[name] for name in _KEPT if name in have.attrs and name not in want.attrs}
    kept |= excluded(want, have)
    whole = want._replace(attrs={**kept, **want.attrs}) if kept else want
    return Step(Op.CREATE, None, whole, whole.attrs, _WHY)
