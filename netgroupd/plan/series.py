# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses that count up from one member of a group to the next: one message for all of them.

The kernel visits the members in the order of their indices and gives the k-th
the first address plus k times the distance. So a series is the same change on
every member, in that order, with one distance all the way.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from netgroupd.model.state import Attrs
from netgroupd.model.value import Value, split_prefix
from netgroupd.plan.members import Members
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

_NOT_SHARED = frozenset({"label", "broadcast"})  # they belong to one link, or one subnet


class _Kind(NamedTuple):
    """What the addresses of one series have in common, and which of those on its link each is."""

    op: Op
    group: int
    bits: int
    length: int
    attrs: tuple[tuple[str, Value], ...]
    nth: int


def address_steps(steps: Sequence[Step], members: Members) -> list[AnyStep]:
    """The steps about addresses, with those of whole groups drawn together."""
    kinds: dict[_Kind, list[int]] = defaultdict(list)
    counts: dict[tuple[Op, str, int, int, tuple[tuple[str, Value], ...]], int] = defaultdict(int)
    for position, step in enumerate(steps):
        obj = step.object
        group = members.groups.get(obj.name, 0)
        if not group or obj.key[2] or step.op is Op.CHANGE or not _NOT_SHARED.isdisjoint(step.attrs):
            continue
        local, length = split_prefix(str(obj.key[1]))
        attrs = tuple(sorted(step.attrs.items(), key=lambda item: item[0]))
        same = (step.op, obj.name, len(local) * 8, length, attrs)
        kinds[_Kind(step.op, group, len(local) * 8, length, attrs, counts[same])].append(position)
        counts[same] += 1
    drawn: dict[int, GroupStep] = {}
    taken: set[int] = set()
    for kind, positions in kinds.items():
        if len(positions) > 1 and (found := _address_series(kind, [steps[at] for at in positions], members)):
            drawn[positions[0]] = found
            taken.update(positions)
    if not taken:
        return list(steps)
    return [drawn.get(at, step) for at, step in enumerate(steps) if at in drawn or at not in taken]


def _address_series(kind: _Kind, steps: Sequence[Step], members: Members) -> GroupStep | None:
    ordered = members.in_order(kind.group, steps)
    if ordered is None:
        return None
    numbers = [int.from_bytes(split_prefix(str(step.object.key[1]))[0], "big") for step in ordered]
    distance = _distance(numbers)
    if distance is None or distance < 0:
        return None
    host_bits = kind.bits - kind.length
    of_one_subnet = numbers[0] >> host_bits == numbers[-1] >> host_bits
    if distance % (1 << host_bits) and not of_one_subnet:
        return None
    return GroupStep(ordered[0].op, kind.group, ordered[0].attrs, tuple(ordered))


def mac_step(group: int, steps: Sequence[Step], members: Members) -> GroupStep | None:
    """One message for the MACs of all members, if they count up or down by one distance."""
    names = {step.object.name for step in steps}
    stacked = any(step.object.attrs.get("link") in names for step in steps)  # what is above may follow what is below
    ordered = None if stacked else members.in_order(group, steps)
    if ordered is None:
        return None
    distance = _distance([int(str(step.attrs["mac"]).replace(":", ""), 16) for step in ordered])
    if not distance:
        return None
    attrs: list[Attrs] = [{"mac": step.attrs["mac"]} for step in ordered]
    singles = tuple(step._replace(attrs=own) for step, own in zip(ordered, attrs, strict=True))
    return GroupStep(Op.CHANGE, group, attrs[0], singles)


def _distance(numbers: Sequence[int]) -> int | None:
    """How far each number is from the one before; None where that differs."""
    distances = {second - first for first, second in pairwise(numbers)}
    return distances.pop() if len(distances) == 1 else None
