# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that no packet meets together: the last comes first, and the first goes first, so that the kernel passes few.

All that stand one after the other and select by the same are told apart by that: what each takes is a span of it.
Those whose spans overlap stay in their order.  n log n.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple, TypeAlias

from netgroupd.model.rule import split_mark, split_span
from netgroupd.model.state import Object
from netgroupd.model.value import Value, split_prefix
from netgroupd.plan.step import Step

_SINGLE = frozenset({"iif", "oif", "tos", "dscp", "ipproto", "tun_id"})  # of which a packet has one


class _Named(NamedTuple):
    """What rules select by, each a part of it."""

    family: Value
    selector: str
    mask: int = 0


_Span: TypeAlias = tuple[bytes, bytes]  # the first and the last of what is selected


class _Rule(NamedTuple):
    pref: int
    step: Step
    said: dict[_Named, _Span]


def as_they_come(steps: Iterable[Step]) -> list[Step]:
    """The order in which to make the rules of ``steps``, which are listed as they are to stand in their preferences."""
    return [rule.step for run, groups in _runs(steps) for rule in _made(run, groups)]


def as_they_go(steps: Iterable[Step]) -> list[Step]:
    """The order in which to delete the rules of ``steps``, which are listed as they stand in their preferences."""
    return [rule.step for run, groups in reversed([*_runs(steps)]) for rule in _deleted(run, groups)]


def _rule(step: Step) -> _Rule:
    pref = step.object.key[1]
    assert isinstance(pref, int)
    return _Rule(pref, step, dict(_said(step.object)))


def _said(rule: Object) -> Iterator[tuple[_Named, _Span]]:
    """The spans of a rule; of one that takes what the rest does not match there are none."""
    family, _, selectors = rule.key
    assert isinstance(selectors, tuple)
    chosen: dict[str, Value] = dict(selectors)  # type: ignore[arg-type]  # pairs, as the model's key makes them
    for name, value in () if "not" in chosen else chosen.items():
        text = str(value)
        if name in _SINGLE:
            yield _Named(family, name), (text.encode(), text.encode())
        elif name in ("from", "to"):
            network, length = split_prefix(text)
            last = int.from_bytes(network, "big") | (1 << 8 * len(network) - length) - 1
            yield _Named(family, name), (network, last.to_bytes(len(network), "big"))
        elif name == "fwmark":
            mark, mask = split_mark(text)
            yield _Named(family, name, mask), _bytes(mark, mark)
        elif name != "l3mdev":
            yield _Named(family, name), _bytes(*split_span(text))


def _bytes(first: int, last: int) -> _Span:
    return first.to_bytes(4, "big"), last.to_bytes(4, "big")


def _runs(steps: Iterable[Step]) -> Iterator[tuple[list[_Rule], list[int]]]:
    """Rules one after the other that all select by something, each with the number of those that it overlaps with."""
    run: list[_Rule] = []
    shared: Set[_Named] = frozenset()
    for rule in sorted(map(_rule, steps), key=lambda rule: (rule.step.object.key[0] == "inet6", rule.pref)):
        if run and shared.isdisjoint(rule.said):
            yield run, _most_apart(run, shared)
            run = []
        shared = shared & rule.said.keys() if run else rule.said.keys()
        run.append(rule)
    if run:
        yield run, _most_apart(run, shared)


def _most_apart(run: Sequence[_Rule], shared: Iterable[_Named]) -> list[int]:
    found = (_groups([rule.said[named] for rule in run]) for named in shared)
    return max(found, key=max, default=[0] * len(run))


def _made(run: list[_Rule], groups: Sequence[int]) -> list[_Rule]:
    """The last preference first, unless that would turn round what one preference has."""
    lowest: dict[int, int] = {}
    for rule, group in zip(run, groups, strict=True):
        lowest.setdefault(group, rule.pref)
    places = sorted(range(len(run)), key=lambda place: (-lowest[groups[place]], place))
    return [run[place] for place in places] if _keep_order(run, places) else run


def _deleted(run: list[_Rule], groups: Sequence[int]) -> list[_Rule]:
    """The first rule first, behind those that overlap with it."""
    first = {group: place for place, group in reversed([*enumerate(groups)])}
    return [run[place] for place in sorted(range(len(run)), key=lambda place: (first[groups[place]], -place))]


def _groups(spans: Sequence[_Span]) -> list[int]:
    """A number for each, the same for those that overlap, also by way of others."""
    groups = [0] * len(spans)
    number, end = 0, b""
    for place in sorted(range(len(spans)), key=spans.__getitem__):
        first, last = spans[place]
        number += first > end
        end = max(end, last)
        groups[place] = number
    return groups


def _keep_order(run: Sequence[_Rule], places: Iterable[int]) -> bool:
    """Whether the rules of each preference come as they are to stand."""
    last: dict[int, int] = {}
    for place in places:
        if last.get(run[place].pref, place) > place:
            return False
        last[run[place].pref] = place
    return True
