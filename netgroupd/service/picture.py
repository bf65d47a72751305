# SPDX-License-Identifier: GPL-2.0-or-later
"""engine -> what the bus shows of it: counts, groups with their members and drift, carriers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.engine.engine import Engine
from netgroupd.engine.online import awaited
from netgroupd.engine.record.generations import REPAIRED
from netgroupd.engine.repair import Belonging
from netgroupd.engine.report import Generation
from netgroupd.model.state import Group, Key, Object, State
from netgroupd.plan import present
from netgroupd.plan.absent import standing_on
from netgroupd.plan.compare import group_of
from netgroupd.plan.fold import fold_names
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.waiting import WAYS


class Members(NamedTuple):
    """A group, the links in it, what is done about drift, and the links that differ."""

    name: str
    id: int
    ranges: tuple[str, ...]
    size: int
    within: tuple[str, ...]
    policy: str
    drifted: frozenset[str]


class Picture(NamedTuple):
    """What is owned at one moment; ``lines`` say what would bring it back to what was applied.

    ``awaited`` is what keeps the host from being online, folded.
    ``drifted`` counts objects, and leaves out those of groups that ignore drift;
    ``broken`` are links of groups that want it repaired, and those on hardware that has come, and of routes and
    nexthops that were ``waiting`` for a carrier, or have gone with one: ``losses`` counts how often each was lost.
    ``absent`` is hardware that is not there, and ``vanished`` what of it was there at the last look; ``back`` is what
    was absent, until it is as it was applied: it may still be in its group, as when another namespace has had it.
    ``unfinished``: a change has no end yet; of the end of another process's there may be no news.
    """

    generation: int
    counts: dict[str, int]
    features: tuple[str, ...]
    groups: dict[str, Members]
    online: bool
    awaited: tuple[str, ...]
    drifted: int
    broken: frozenset[str]
    lines: str
    unfinished: bool
    waiting: frozenset[Key] = frozenset()
    losses: Mapping[str, int] = MappingProxyType({})
    absent: frozenset[str] = frozenset()
    vanished: frozenset[str] = frozenset()
    back: frozenset[str] = frozenset()


NOTHING_YET = Picture(0, {}, (), {}, False, (), 0, frozenset(), "", False)
"""Before a host that has just started was configured."""


def take(engine: Engine, last: Picture | None = None) -> Picture:
    """Look at the kernel once, after ``last``."""
    status, applied, plan, losses = engine.standing()
    absent = plan.absent
    plan = Plan() if status.pending else plan
    policies = _policies(applied, plan)
    belonging = Belonging(applied)
    differing = [(belonging.link_of(step.object), step) for step in singles(plan.steps)]
    drifting = [name for name, _ in differing]
    told = {name for name in drifting if policies.get(name) != "ignore"}
    steps = [(name, step) for name, step in differing if name in told]
    waiting = awaited(applied, steps, engine.netns)
    ways = [step.object for _, step in differing if step.object.cls in WAYS]
    # Until it is there: its repair may have to wait.
    late = _late(ways, status.generation, belonging, last, losses) if last else frozenset[Key]()
    back = (last.absent | last.back) - absent if last else frozenset[str]()
    come = _come(plan, applied, belonging, back)
    generation = status.generation.number if status.generation else 0
    return Picture(
        generation=generation,
        counts=status.owned,
        features=status.features,
        groups=_groups(applied, frozenset(drifting)),
        online=status.pending is None and not waiting,
        awaited=fold_names(waiting),
        drifted=len(steps),
        broken=frozenset(name for name in told if policies.get(name) == "repair")
        | come
        | frozenset(name for name, step in differing if step.object.key in late),
        lines=present.text(plan._replace(steps=tuple(step for _, step in steps))) if steps else "",
        unfinished=status.interrupted or status.changing,
        waiting=late.union(route.key for route in plan.waiting),
        losses=losses,
        absent=absent,
        # What is not there when a change is made is told with it.
        vanished=absent - last.absent if last and last.generation == generation else frozenset(),
        back=back if come else frozenset(),
    )


def _policies(applied: State, plan: Plan) -> dict[str, str]:
    """What is to be done about each link that was applied, and about those that are in its group and were not."""
    by_id = {group.id: group.drift for group in applied.groups.values()}
    doomed = (step.before for step in singles(plan.steps) if step.op is Op.DELETE and step.object.cls == "link")
    links = (*filter(None, doomed), *applied.of("link").values())
    return {link.name: by_id.get(group_of(link), "report") for link in links}


def _late(
    ways: list[Object], current: Generation | None, belonging: Belonging, last: Picture, losses: Mapping[str, int]
) -> frozenset[Key]:
    """The nexthops and routes of ``ways`` that wait for a carrier, or have gone with one.

    It may have come before anybody has looked: a change is done when nothing else is missing, and what may have gone
    with a carrier that has come again since nobody has seen missing.
    """
    if current and current.number != last.generation and current.result != REPAIRED:
        return frozenset(way.key for way in ways)
    links = {name for name, lost in losses.items() if lost > last.losses.get(name, lost)}
    return frozenset(
        way.key for way in ways if way.key in last.waiting or not links.isdisjoint(belonging.links_of(way))
    )


def _come(plan: Plan, applied: State, belonging: Belonging, back: frozenset[str]) -> frozenset[str]:
    """The links that differ because one below them has come since, or is back; "" for what is on no link."""
    come = [*back, *(step.object.name for step in singles(plan.steps) if _has_come(step, applied))]
    if not come:
        return frozenset()
    standing = {"", *standing_on(come, applied.of("link"))}
    on = ([*belonging.links_of(step.object)] or [""] for step in singles(plan.steps))
    return frozenset(links[0] for links in on if not standing.isdisjoint(links))


def _has_come(step: Step, applied: State) -> bool:
    """Whether a step is about a link that others make and that was never configured: then it would be in a group."""
    if step.object.cls != "link" or step.before is None or step.before.attrs.get("group"):
        return False
    wanted = applied.link(step.object.name)
    return wanted is not None and not wanted.attrs.get("kind") and bool(step.attrs.get("group"))


def _groups(applied: State, drifting: frozenset[str]) -> dict[str, Members]:
    names: dict[int, list[str]] = {}
    for link in applied.of("link").values():
        names.setdefault(group_of(link), []).append(link.name)
    return {group.name: _members(group, names.get(group.id, []), drifting) for group in applied.groups.values()}


def _members(group: Group, names: list[str], drifting: frozenset[str]) -> Members:
    drifted = drifting.intersection(names)
    return Members(group.name, group.id, fold_names(names), len(names), group.within, group.drift, drifted)
