# SPDX-License-Identifier: GPL-2.0-or-later
"""Which links each kernel group has while a plan runs, and the order in which the kernel visits them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import group_of, kind_of
from netgroupd.plan.step import WHOLE, Op, Step

_INDEX_BY_KERNEL = frozenset({"netdevsim"})


class Bucket(NamedTuple):
    """A group, or all groups under a mask, that may be told one value of one attribute."""

    group: int
    attr: str
    value: Value
    mask: int = WHOLE


def are_most(count: int, among: int) -> bool:
    """Whether ``count`` links are at least half of them: the kernel sees to each member, whatever it has."""
    return 2 * count >= among


class Members:
    """The members of each kernel group while the plan runs; ``indices`` are those of the links there are."""

    def __init__(self, desired: State, actual: State, indices: Mapping[str, int]) -> None:
        self.wants: Mapping[Key, Object] = desired.of("link")
        self.haves: Mapping[Key, Object] = actual.of("link")
        self.groups: dict[str, int] = {have.name: group_of(have) for have in self.haves.values()}
        # A message for a group reaches its members in this network namespace only.
        self._away = {have.name for have in self.haves.values() if have.attrs.get("netns")}
        self.groups.update(dict.fromkeys(self._away, 0))
        self.sizes = Counter(self.groups.values())
        self._by_group: dict[int, list[str]] | None = None
        self._indices = indices
        self._made: set[str] = set()

    def move(self, name: str, group: int) -> None:
        """The link is in ``group`` from here on."""
        if name in self.groups:
            self.remove(name)
        group = 0 if name in self._away else group
        self._by_group = None
        self.groups[name] = group
        self.sizes[group] += 1

    def part(self, steps: Iterable[Step]) -> None:
        """Links move to other network namespaces, and are in none of the groups here from here on."""
        for step in steps:
            self._away.add(step.object.name)
            self.move(step.object.name, 0)

    def remove(self, name: str) -> None:
        """The link is deleted."""
        self._by_group = None
        self.sizes[self.groups.pop(name, -1)] -= 1

    def create(self, steps: Sequence[Step]) -> None:
        """What is to be created is there from here on, behind all that was there before."""
        made = {str(link.key[0]): link for step in steps if step.op is Op.CREATE and (link := step.after)}
        self._come(made, {name: group_of(link) for name, link in made.items()})
        if len(made) < len(steps):
            self._settle(step for step in steps if step.op is Op.CHANGE)
        last = max(self._indices.values(), default=0)
        self._indices = {**self._indices, **dict(zip(made, range(last + 1, last + 1 + len(made)), strict=True))}

    def _settle(self, steps: Iterable[Step]) -> None:
        """The ends of veth pairs that came into being with the others join their groups."""
        said = ((step.object, step.attrs.get("group")) for step in steps)
        coming = {made.name: (made, group) for made, group in said if isinstance(group, int)}
        if coming:
            self._come(
                {name: made for name, (made, _) in coming.items()}, {name: group for name, (_, group) in coming.items()}
            )

    def _come(self, made: Mapping[str, Object], groups: Mapping[str, int]) -> None:
        """Links are there from here on, each in its group unless it is in another network namespace."""
        for name in self.groups.keys() & made.keys():
            self.remove(name)
        away = {name for name, link in made.items() if link.attrs.get("netns")}
        here = {**groups, **dict.fromkeys(away, 0)}
        self._by_group = None
        self._made.update(made)
        self._away = (self._away - made.keys()) | away
        self.groups.update(here)
        self.sizes.update(here.values())

    def of(self, group: int) -> Sequence[str]:
        """The names of the members, in no order."""
        if self._by_group is None:
            self._by_group = defaultdict(list)
            for name, number in self.groups.items():
                self._by_group[number].append(name)
        return self._by_group.get(group, ())

    def agree(self, bucket: Bucket, names: Set[Value]) -> bool:
        """Whether all members but ``names`` have the value already."""
        if self.sizes[bucket.group] == len(names):
            return True
        return all(name in names or self._value(name, bucket.attr) == bucket.value for name in self.of(bucket.group))

    def in_order(self, group: int, steps: Sequence[Step]) -> list[Step] | None:
        """The steps in the order in which the kernel visits their links; None unless each member has just one."""
        by_name = {step.object.name: step for step in steps}
        if len(by_name) != len(steps) or len(steps) != self.sizes[group] or by_name.keys() != set(self.of(group)):
            return None
        known = by_name.keys() <= self._indices.keys()
        if not known or any(kind_of(step.object) in _INDEX_BY_KERNEL for step in steps):
            return None
        return [by_name[name] for name in sorted(by_name, key=self._indices.__getitem__)]

    def _value(self, name: str, attr: str) -> Value:
        want, have = self.wants.get((name,)), self.haves.get((name,))
        if want and attr in want.attrs:
            return want.attrs[attr]
        # One that is made anew has nothing of the one that had its name.
        return have.attrs.get(attr) if have and name not in self._made else None
