# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups of groups: what all groups of a family are told alike is one message under a mask.

Linear in the groups, and in how deep they are inside of others.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import Group
from netgroupd.model.value import Value
from netgroupd.plan.members import Bucket, Members, are_most
from netgroupd.plan.order import UPPER_FIRST, Stage
from netgroupd.plan.reach import closure
from netgroupd.plan.step import WHOLE

Chosen: TypeAlias = dict[Bucket, list[int]]


class Family(NamedTuple):
    """The ids that begin alike: those of a group and of all groups inside it."""

    base: int
    mask: int


def families_of(groups: Iterable[Group]) -> tuple[Family, ...]:
    """The families, the larger ones first.

    Only of netgroupd's own ids: nobody else has links in the gaps between them.
    """
    ours = {group.name: group for group in groups if group.id & GROUP_MASK == GROUP_BASE}
    ids: dict[str, set[int]] = defaultdict(set)
    within = {name: ours.keys() & group.within for name, group in ours.items()}
    for group in ours.values():
        for outer in closure(within[group.name], within):
            ids[outer] |= {ours[outer].id, group.id}
    found = {_around(numbers) for numbers in ids.values()}
    return tuple(sorted(found, key=lambda family: (family.mask, family.base)))


def _around(ids: set[int]) -> Family:
    differing = min(ids) ^ max(ids)
    mask = WHOLE ^ ((1 << differing.bit_length()) - 1)
    return Family(min(ids) & mask, mask)


def widened(chosen: Chosen, stage: Stage, members: Members, families: Sequence[Family]) -> Chosen:
    """``chosen``, with the buckets of a whole family put together."""
    if len(chosen) < 2 or not families:
        return chosen
    populated = sorted(group for group, size in members.sizes.items() if size > 0)
    left = dict(chosen)
    by_group: dict[int, list[Bucket]] = defaultdict(list)
    for bucket in chosen:
        by_group[bucket.group].append(bucket)
    for family in families:
        first = bisect_left(populated, family.base)
        inside = populated[first : bisect_left(populated, family.base + (WHOLE ^ family.mask) + 1, first)]
        size = sum(members.sizes[group] for group in inside)
        for (attr, value), parts in _told_alike(inside, by_group, left).items():
            positions = sorted(position for bucket in parts for position in left[bucket])
            if len(parts) < 2 or not are_most(len(positions), size):
                continue
            buckets = (Bucket(group, attr, value) for group in inside)
            agreed = all(bucket in left or members.agree(bucket, set()) for bucket in buckets)
            if agreed and _lower_first(stage, positions, members.groups):
                for bucket in parts:
                    del left[bucket]
                left[Bucket(family.base, attr, value, family.mask)] = positions
    return left


def _told_alike(
    groups: Sequence[int], by_group: Mapping[int, list[Bucket]], left: Chosen
) -> dict[tuple[str, Value], list[Bucket]]:
    """By attribute and value which buckets of ``groups`` are left."""
    told: dict[tuple[str, Value], list[Bucket]] = defaultdict(list)
    for group in groups:
        for bucket in by_group.get(group, ()):
            if bucket in left:
                told[bucket.attr, bucket.value].append(bucket)
    return told


def _lower_first(stage: Stage, positions: Sequence[int], groups: Mapping[str, int]) -> bool:
    """Whether the order of the groups' ids, in which the kernel visits them, has the lower links first."""
    if stage.phase in UPPER_FIRST:
        return True
    links = [stage.steps[position].object for position in positions]
    names = {link.name for link in links}
    lowers = ((link.name, str(link.attrs.get("link"))) for link in links)
    return all(groups[lower] <= groups[name] for name, lower in lowers if lower in names)
