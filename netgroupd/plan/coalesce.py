# SPDX-License-Identifier: GPL-2.0-or-later
"""stages -> the steps of a plan: as few messages as give the same result.

One message changes a whole group where most members of it want the value and the
others have it already.  One message deletes a whole group, and what is doomed without
making up a group is moved to a scratch group first, for the kernel's waits are
then shared.  A group message does its members in the order of their creation,
lower links first.  Where the kernel can, the groups inside a group are one message
too, and so are addresses that count up from one member to the next.  VLANs of a
bridge or a port without a gap, VNIs of a VXLAN, and filters that go with all others
of their preference, are one message on every kernel.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.link import COMMON, SET_ALONG
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import State
from netgroupd.model.value import Value
from netgroupd.plan.compare import group_of, kind_of
from netgroupd.plan.families import Chosen, Family, families_of, widened
from netgroupd.plan.fate import peer_of
from netgroupd.plan.members import Bucket, Members, are_most
from netgroupd.plan.order import UPPER_FIRST, Stage
from netgroupd.plan.ranges import RANGED, range_steps
from netgroupd.plan.series import address_steps, mac_step
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step
from netgroupd.plan.tc.emptied import EMPTYING, emptied
from netgroupd.plan.vf import by_card

# For links to be deleted together.  The ids are netgroupd's own, so that what a
# crash leaves in them is still recognised.
SCRATCH = GROUP_BASE + 0xFFFF
SCRATCH_MASTERS = GROUP_BASE + 0xFFFE

_NOTHING = frozenset[str]()
_FEW = 4  # below this one message each costs less than moving them
_MANY = 128  # from here a delete of its own costs less than moving the members
_COMING = {**dict.fromkeys(("create links", "create links of bridges"), Members.create), "move links": Members.part}
_BY_GROUP = frozenset(name for name, row in COMMON.items() if row.group)


class Abilities(NamedTuple):
    """What the running kernel can do for a whole group, beyond changing and deleting it."""

    new_group: bool = False
    group_mask: bool = False
    group_mac: bool = False
    group_addr: bool = False


def coalesce(
    stages: list[Stage], desired: State, actual: State, abilities: Abilities, indices: Mapping[str, int]
) -> tuple[AnyStep, ...]:
    """Replace the steps of single links by steps of groups where that gives the same."""
    if not stages:
        return ()
    members = Members(desired, actual, indices)
    families = families_of(desired.groups.values()) if abilities.group_mask else ()
    steps: list[AnyStep] = []
    for stage in stages:
        if stage.phase == "delete link":
            steps += _delete(stage.steps, members)
        elif stage.phase in _COMING:
            _COMING[stage.phase](members, stage.steps)
            steps += stage.steps
        elif stage.phase == "regroup links":
            steps += _regroup(stage, members, abilities)
        elif stage.steps[0].object.cls == "link":
            steps += _change(stage, members, abilities, families)
        elif abilities.group_addr and stage.steps[0].object.cls == "address":
            steps += address_steps(stage.steps, members)
        else:
            steps += _drawn_together(stage, desired, actual)
    return tuple(steps)


def _drawn_together(stage: Stage, desired: State, actual: State) -> Sequence[AnyStep]:
    """The steps of a phase that is neither about links nor about groups of them."""
    if stage.steps[0].object.cls == "vf":
        return by_card(stage.steps)
    if stage.steps[0].object.cls in RANGED:
        return range_steps(stage.steps)
    if stage.phase in EMPTYING:
        return emptied(stage.steps, actual, desired if EMPTYING[stage.phase] else State())
    return stage.steps


def _regroup(stage: Stage, members: Members, abilities: Abilities) -> list[AnyStep]:
    """Move links between groups; a whole group in one message where the kernel can."""
    moves: dict[tuple[int, Value], list[Step]] = defaultdict(list)
    for step in stage.steps:
        moves[members.groups[step.object.name], step.attrs["group"]].append(step)
    whole = {
        old: new
        for (old, new), moving in moves.items()
        if abilities.new_group and old and len(moving) > 1 and len(moving) == members.sizes[old]
    }
    steps: list[AnyStep] = []
    for old in _before_others_come(whole):
        new = whole[old]
        steps.append(GroupStep(Op.CHANGE, old, {"group": new}, tuple(moves.pop((old, new)))))
    for moving in moves.values():
        steps += moving
    for step in stage.steps:
        members.move(step.object.name, group_of(step.object))
    return steps


def _before_others_come(whole: Mapping[int, Value]) -> Iterator[int]:
    """The groups that can move as one, each before another comes into it; of a circle one goes link by link."""
    done: set[Value] = set()
    for start in whole:
        path: dict[int, None] = {}
        group: Value = start
        while isinstance(group, int) and group in whole and group not in done and group not in path:
            path[group] = None
            group = whole[group]
        yield from (each for each in reversed(path) if each != group)
        done.update(path)


def _change(stage: Stage, members: Members, abilities: Abilities, families: Sequence[Family]) -> list[AnyStep]:
    buckets: dict[Bucket, list[int]] = defaultdict(list)
    macs: dict[int, list[int]] = defaultdict(list)
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)  # steps that say the same share the mapping of it
    for position, step in enumerate(stage.steps):
        if group := members.groups.get((step.after or step.object).key[0]):  # type: ignore[arg-type]  # a link's name
            alike[group, id(step.attrs)].append(position)
    for (group, _), positions in alike.items():
        attrs = stage.steps[positions[0]].attrs
        for attr, value in attrs.items():
            if attr in _BY_GROUP and isinstance(value, int | str | None):
                buckets[Bucket(group, attr, value)] += positions
        if abilities.group_mac and attrs.get("mac"):
            macs[group] += positions
    for found in (*buckets.values(), *macs.values()):
        found.sort()
    whole = {bucket: found for bucket, found in buckets.items() if _is_whole(bucket, found, stage, members)}
    if teams := {step.object.name for step in stage.steps if "mtu" in step.attrs and kind_of(step.object) == "team"}:
        whole = {bucket: found for bucket, found in whole.items() if not _tells_ports(bucket, found, stage, teams)}
    chosen = _lasting(widened(whole, stage, members, families), stage)
    series = [(found, told) for group, found in macs.items() if (told := _counted(group, found, stage, members))]
    if not chosen and not series:
        return list(stage.steps)
    items = _items(stage, chosen, series)
    return [item for _, item in items] if _keeps_order(items, stage) else list(stage.steps)


def _counted(group: int, positions: list[int], stage: Stage, members: Members) -> GroupStep | None:
    return mac_step(group, [stage.steps[position] for position in positions], members)


def _is_whole(bucket: Bucket, positions: list[int], stage: Stage, members: Members) -> bool:
    if len(positions) < 2 or not are_most(len(positions), members.sizes[bucket.group]):
        return False
    links = [stage.steps[position].after for position in positions]
    return members.agree(bucket, {link.key[0] for link in links if link})


def _tells_ports(bucket: Bucket, positions: list[int], stage: Stage, teams: Set[str]) -> bool:
    """Whether one message may tell ports of ``teams`` an MTU before these give it to them, which is refused."""
    ports = (stage.steps[position].before for position in positions)
    return bucket.attr == "mtu" and any(port and port.attrs.get("master") in teams for port in ports)


def _lasting(chosen: Chosen, stage: Stage) -> Chosen:
    """``chosen`` without what messages to single links would set along with something else, behind it."""
    if SET_ALONG.keys().isdisjoint(bucket.attr for bucket in chosen):
        return chosen
    said = {(bucket._replace(value=None), tuple(found)) for bucket, found in chosen.items()}
    return {
        bucket: found
        for bucket, found in chosen.items()
        if not (first := SET_ALONG.get(bucket.attr))
        or all(first not in stage.steps[position].attrs for position in found)
        or (bucket._replace(attr=first, value=None), tuple(found)) in said
    }


def _items(stage: Stage, chosen: Chosen, series: list[tuple[list[int], GroupStep]]) -> list[tuple[int, AnyStep]]:
    """Steps of groups and what they leave of the others, by depth, groups first."""
    messages: dict[tuple[int, int, tuple[int, ...]], dict[str, Value]] = defaultdict(dict)
    taken: dict[int, frozenset[str]] = {}
    for bucket, positions in chosen.items():
        messages[bucket.group, bucket.mask, tuple(positions)][bucket.attr] = bucket.value
        _take(taken, bucket.attr, positions)
    items: list[tuple[int, AnyStep]] = []
    for found, message in series:
        items.append((max(stage.depths[position] for position in found), message))
        _take(taken, "mac", found)
    for (group, mask, whole), attrs in messages.items():
        told = map(stage.steps.__getitem__, whole)
        steps = tuple([step if step.attrs == attrs else step._replace(attrs=attrs) for step in told])
        depth = max(map(stage.depths.__getitem__, whole))
        items.append((depth, GroupStep(Op.CHANGE, group, attrs, steps, mask)))
    for position, step in enumerate(stage.steps):
        gone, said = taken.get(position, _NOTHING), step.attrs
        if gone.issuperset(said):
            continue
        left = {attr: value for attr, value in said.items() if attr not in gone} if gone else said
        items.append((stage.depths[position], step._replace(attrs=left) if gone else step))
    return sorted(items, key=lambda item: item[0])


def _take(taken: dict[int, frozenset[str]], attr: str, positions: Sequence[int]) -> None:
    """Note that ``attr`` of the steps at ``positions`` is said; those of which the same is said share the note."""
    if taken.keys().isdisjoint(positions):
        taken.update(dict.fromkeys(positions, frozenset({attr})))
        return
    joined: dict[frozenset[str], frozenset[str]] = {}
    for position in positions:
        before = taken.get(position, frozenset())
        if (after := joined.get(before)) is None:
            after = joined[before] = before | {attr}
        taken[position] = after


def _keeps_order(items: list[tuple[int, AnyStep]], stage: Stage) -> bool:
    """Whether no link is changed before the link below it that the same phase changes."""
    if len(items) == 1 or stage.phase in UPPER_FIRST:
        return True  # the kernel takes down and shrinks what is above by itself
    place: dict[str, int] = {}
    for number, (_, item) in enumerate(items):
        for step in (item,) if isinstance(item, Step) else item.steps:
            place[step.object.name] = max(number, place.get(step.object.name, 0))
    return all(place.get(str(step.object.attrs.get("link")), 0) <= place[step.object.name] for step in stage.steps)


_CARD = "netdevsim"  # no request deletes it, nor a group that it is in


def _delete(steps: list[Step], members: Members) -> list[AnyStep]:
    """Delete ports before the VRFs that they are in, each as one message if there are many."""
    masters = [step for step in steps if kind_of(step.before) == "vrf"]
    cards = [step for step in steps if kind_of(step.before) == _CARD]
    others = [step for step in steps if kind_of(step.before) not in ("vrf", _CARD)]
    aside = _set_aside(masters, others, members)
    together = _delete_together(others, SCRATCH, members) + _delete_together(masters, SCRATCH_MASTERS, members)
    return aside + together + _delete_singly(cards, members)


def _set_aside(masters: list[Step], others: list[Step], members: Members) -> list[AnyStep]:
    """Take the VRFs out of the groups that they share with their ports, where these then go as whole groups."""
    ports = Counter(members.groups[step.object.name] for step in others)
    vrfs = Counter(members.groups[step.object.name] for step in masters)
    wholly = all(group and count < ports[group] == members.sizes[group] - count for group, count in vrfs.items())
    if not wholly or _are_few(others):
        return []
    for step in masters:
        members.move(step.object.name, SCRATCH_MASTERS)
    return [_to_scratch(step, SCRATCH_MASTERS) for step in masters]


def _delete_together(steps: list[Step], scratch: int, members: Members) -> list[AnyStep]:
    if _are_few(steps):
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
    if _are_few(moved):
        deletes += _delete_singly(moved, members)
        moved = []
    moves: list[AnyStep] = [_to_scratch(step, scratch) for step in moved]
    if moved:
        deletes.append(GroupStep(Op.DELETE, scratch, {}, tuple(moved)))
    for step in steps:
        members.remove(step.object.name)
    return moves + deletes


def _are_few(steps: list[Step]) -> bool:
    """Whether these take no more messages singly; of a pair the one end goes with the other."""
    names = {step.object.name for step in steps}
    return len(steps) < _FEW and not any(
        kind_of(step.before) in PAIRS and peer_of(step.object) in names for step in steps
    )


def _delete_singly(steps: list[Step], members: Members) -> list[AnyStep]:
    for step in steps:
        members.remove(step.object.name)
    return [*steps]


def _to_scratch(step: Step, scratch: int) -> Step:
    before = step.object
    attrs: dict[str, Value] = {"group": scratch}
    after = before.having(attrs)
    return Step(Op.CHANGE, before, after, attrs, "to be deleted with others in one message")
