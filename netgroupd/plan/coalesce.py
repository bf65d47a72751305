# SPDX-License-Identifier: GPL-2.0-or-later
"""stages -> the steps of a plan: as few messages as give the same result.

One message changes a whole group where every kernel member of it wants the value
or already has it.  One message deletes a whole group, and what is doomed without
making up a group is moved to a scratch group first, for the kernel's waits are
then shared.  A group message does its members in the order of their creation,
lower links first.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from netgroupd.model.link import COMMON
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import peer_of
from netgroupd.plan.order import UPPER_FIRST, Stage
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

# For links to be deleted together.  The ids are netgroupd's own, so that what a
# crash leaves in them is still recognised.
SCRATCH = GROUP_BASE + 0xFFFF
SCRATCH_MASTERS = GROUP_BASE + 0xFFFE

_FEW = 4  # below this one message each costs less than moving them
_MANY = 128  # from here a delete of its own costs less than moving the members
_BY_GROUP = frozenset(name for name, row in COMMON.items() if row.group)


class Abilities(NamedTuple):
    """What the running kernel can do for a whole group, beyond changing and deleting it."""

    new_group: bool = False


class _Bucket(NamedTuple):
    """A group that may be told one value of one attribute."""

    group: int
    attr: str
    value: Value


def coalesce(stages: list[Stage], desired: State, actual: State, abilities: Abilities) -> tuple[AnyStep, ...]:
    """Replace the steps of single links by steps of groups where that gives the same."""
    members = _Members(desired, actual, stages)
    steps: list[AnyStep] = []
    for stage in stages:
        if stage.phase == "delete link":
            steps += _delete(stage.steps, members)
        elif stage.phase == "create links":
            members.create()
            steps += stage.steps
        elif stage.phase == "regroup links":
            steps += _regroup(stage, members, abilities)
        elif stage.steps[0].object.cls == "link":
            steps += _change(stage, members)
        else:
            steps += stage.steps
    return tuple(steps)


class _Members:
    """The members of each kernel group while the plan runs."""

    def __init__(self, desired: State, actual: State, stages: list[Stage]) -> None:
        self.wants: Mapping[Key, Object] = desired.of("link")
        self.haves: Mapping[Key, Object] = actual.of("link")
        self.groups: dict[str, int] = {have.name: _group(have) for have in self.haves.values()}
        self.sizes = Counter(self.groups.values())
        self._created = [step for stage in stages if stage.phase == "create links" for step in stage.steps]
        self._by_group: dict[int, list[str]] | None = None

    def move(self, name: str, group: int) -> None:
        """The link is in ``group`` from here on."""
        self.remove(name)
        self.groups[name] = group
        self.sizes[group] += 1

    def remove(self, name: str) -> None:
        """The link is deleted."""
        self._by_group = None
        self.sizes[self.groups.pop(name, -1)] -= 1

    def create(self) -> None:
        """What is to be created is there from here on."""
        for step in self._created:
            self.move(step.object.name, _group(step.object))
        self._created = []

    def agree(self, bucket: _Bucket, names: set[str]) -> bool:
        """Whether all members but ``names`` have the value already."""
        if self.sizes[bucket.group] == len(names):
            return True
        if self._by_group is None:
            self._by_group = defaultdict(list)
            for name, group in self.groups.items():
                self._by_group[group].append(name)
        return all(
            name in names or self._value(name, bucket.attr) == bucket.value for name in self._by_group[bucket.group]
        )

    def _value(self, name: str, attr: str) -> Value:
        want, have = self.wants.get((name,)), self.haves.get((name,))
        if want and attr in want.attrs:
            return want.attrs[attr]
        return have.attrs.get(attr) if have else None


def _group(link: Object) -> int:
    group = link.attrs.get("group")
    return group if isinstance(group, int) else 0


def _regroup(stage: Stage, members: _Members, abilities: Abilities) -> list[AnyStep]:
    """Move links between groups; a whole group in one message where the kernel can."""
    moves: dict[tuple[int, Value], list[Step]] = defaultdict(list)
    for step in stage.steps:
        moves[members.groups[step.object.name], step.attrs["group"]].append(step)
    steps: list[AnyStep] = []
    for (old, new), moving in moves.items():
        whole = abilities.new_group and old and len(moving) > 1 and len(moving) == members.sizes[old]
        steps += [GroupStep(Op.CHANGE, old, {"group": new}, tuple(moving))] if whole else moving
    for step in stage.steps:
        members.move(step.object.name, _group(step.object))
    return steps


def _change(stage: Stage, members: _Members) -> list[AnyStep]:
    buckets: dict[_Bucket, list[int]] = defaultdict(list)
    for position, step in enumerate(stage.steps):
        group = members.groups.get(step.object.name, 0)
        if not group:
            continue
        for attr, value in step.attrs.items():
            if attr in _BY_GROUP and isinstance(value, int | str | None):
                buckets[_Bucket(group, attr, value)].append(position)
    chosen = {bucket: found for bucket, found in buckets.items() if _is_whole(bucket, found, stage, members)}
    if not chosen:
        return list(stage.steps)
    items = _items(stage, chosen)
    return [item for _, item in items] if _keeps_order(items, stage) else list(stage.steps)


def _is_whole(bucket: _Bucket, positions: list[int], stage: Stage, members: _Members) -> bool:
    return len(positions) > 1 and members.agree(bucket, {stage.steps[position].object.name for position in positions})


def _items(stage: Stage, chosen: dict[_Bucket, list[int]]) -> list[tuple[int, AnyStep]]:
    """Steps of groups and what they leave of the others, by depth, groups first."""
    messages: dict[tuple[int, tuple[int, ...]], dict[str, Value]] = defaultdict(dict)
    taken: dict[int, set[str]] = defaultdict(set)
    for bucket, positions in chosen.items():
        messages[bucket.group, tuple(positions)][bucket.attr] = bucket.value
        for position in positions:
            taken[position].add(bucket.attr)
    items: list[tuple[int, AnyStep]] = []
    for (group, found), attrs in messages.items():
        steps = tuple(stage.steps[position]._replace(attrs=attrs) for position in found)
        items.append((max(stage.depths[position] for position in found), GroupStep(Op.CHANGE, group, attrs, steps)))
    for position, step in enumerate(stage.steps):
        gone = taken.get(position, ())
        left = {attr: value for attr, value in step.attrs.items() if attr not in gone} if gone else step.attrs
        if left:
            items.append((stage.depths[position], step._replace(attrs=left) if gone else step))
    return sorted(items, key=lambda item: item[0])


def _keeps_order(items: list[tuple[int, AnyStep]], stage: Stage) -> bool:
    """Whether no link is changed before the link below it that the same phase changes."""
    place: dict[str, int] = {}
    for number, (_, item) in enumerate(items):
        for step in item.steps if isinstance(item, GroupStep) else (item,):
            place[step.object.name] = max(number, place.get(step.object.name, 0))
    if stage.phase in UPPER_FIRST:
        return True  # the kernel takes down and shrinks what is above by itself
    return all(place.get(str(step.object.attrs.get("link")), 0) <= place[step.object.name] for step in stage.steps)


def _delete(steps: list[Step], members: _Members) -> list[AnyStep]:
    """Delete ports before the VRFs that they are in, each as one message if there are many."""
    masters = [step for step in steps if kind_of(step.before) == "vrf"]
    others = [step for step in steps if kind_of(step.before) != "vrf"]
    return _delete_together(others, SCRATCH, members) + _delete_together(masters, SCRATCH_MASTERS, members)


def _delete_together(steps: list[Step], scratch: int, members: _Members) -> list[AnyStep]:
    if len(steps) < _FEW:
        return _delete_singly(steps, members)
    doomed: dict[int, list[Step]] = defaultdict(list)
    for step in steps:
        doomed[members.groups[step.object.name]].append(step)
    whole = {group for group, found in doomed.items() if group and len(found) == members.sizes[group]}
    alone = whole if len(doomed) == 1 else {group for group in whole if len(doomed[group]) >= _MANY}
    deletes: list[AnyStep] = [
        GroupStep(Op.DELETE, group, {}, tuple(found)) for group, found in doomed.items() if group in alone
    ]
    moved = [step for group, found in doomed.items() if group not in alone for step in found]
    if len(moved) < _FEW:
        deletes += _delete_singly(moved, members)
        moved = []
    moves: list[AnyStep] = [_to_scratch(step, scratch) for step in moved]
    if moved:
        deletes.append(GroupStep(Op.DELETE, scratch, {}, tuple(moved)))
    for step in steps:
        members.remove(step.object.name)
    return moves + deletes


def _delete_singly(steps: list[Step], members: _Members) -> list[AnyStep]:
    gone: set[str] = set()
    left: list[AnyStep] = []
    for step in steps:
        # The other end of a veth pair is deleted with the first.
        if kind_of(step.before) != "veth" or peer_of(step.object) not in gone:
            left.append(step)
        gone.add(step.object.name)
    for name in gone:
        members.remove(name)
    return left


def _to_scratch(step: Step, scratch: int) -> Step:
    before = step.object
    attrs: dict[str, Value] = {"group": scratch}
    after = before._replace(attrs={**before.attrs, **attrs})
    return Step(Op.CHANGE, before, after, attrs, "to be deleted with others in one message")
