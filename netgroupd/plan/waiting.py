# SPDX-License-Identifier: GPL-2.0-or-later
"""What waits for a carrier: the kernel takes no nexthop on a link without one, and takes those that are there away.

Nor can it tell of an IPv6 source whether it is another's: it finds that out by asking around.  The rest of what is
wanted need not wait.
"""

from collections import defaultdict
from collections.abc import Iterable, Set

from netgroupd.model.nexthop import links_of
from netgroupd.model.route import source_of
from netgroupd.model.state import Object, State, records
from netgroupd.plan.absent import drop_unreachable
from netgroupd.plan.fold import few_of
from netgroupd.plan.present import title
from netgroupd.plan.reach import closure

WAYS = ("nexthop", "route")
_BELOW = ("link", "dev", "peer")
_LIGHTING = ("up", "master", "carrier", *_BELOW)  # what may give a link, or one above it, a carrier


def in_need(desired: State, actual: State) -> set[str]:
    """The links on which nexthops are to be made, but for those that may get a carrier by what is to change."""
    haves = actual.of("nexthop")
    missing = links_of(want for key, want in desired.of("nexthop").items() if not _is_there(want, haves.get(key)))
    if not missing:
        return missing
    links, below = actual.of("link"), defaultdict[str, list[str]](list)
    changing = set[str]()
    for want in desired.of("link").values():
        below[want.name] += (str(want.attrs[field]) for field in _BELOW if want.attrs.get(field))
        below[str(want.attrs.get("master"))].append(want.name)
        have = links.get(want.key)
        if have is None or any(want.attrs[name] != have.attrs.get(name) for name in _LIGHTING if name in want.attrs):
            changing.add(want.name)
    reach = {name: closure([name], below) for name in missing}
    return {name for name in missing if changing.isdisjoint(reach[name])}


def without_waiting(desired: State, actual: State, dark: Set[str]) -> tuple[State, tuple[Object, ...]]:
    """``desired`` without the nexthops on ``dark`` links and what leads there alone, and routes with ``dark`` sources.

    What is there stays as it is meanwhile.  Also returns what waits.
    """
    wants = [want for cls in WAYS for want in desired.of(cls).values()] if dark else []
    first = [want for want in wants if is_dark(want, dark) and not _is_there(want, actual.of(want.cls).get(want.key))]
    if not first:
        return desired, ()
    attainable = desired.copied()
    for want in first:
        attainable.classes[want.cls].pop(want.key)
    _keep(first, attainable, actual)  # before what leads there is looked at
    drop_unreachable(attainable, desired)
    waiting = tuple(want for want in wants if attainable.of(want.cls).get(want.key) != want)
    _keep(waiting, attainable, actual)
    return attainable, waiting


def _keep(waiting: Iterable[Object], attainable: State, actual: State) -> None:
    for want in waiting:
        have = actual.of(want.cls).get(want.key)
        if have and want.key not in attainable.of(want.cls):
            attainable.add(have)


def is_dark(obj: Object, dark: Set[str]) -> bool:
    """Whether what an object needs is ``dark``."""
    return (obj.cls == "nexthop" and obj.attrs.get("dev") in dark) or source_of(obj) in dark


def led_by(refused: Iterable[Object], dark: Set[str]) -> set[tuple[object, ...]]:
    """What was refused for what is ``dark``, and, behind it, for leading there."""
    found, numbers = set[tuple[object, ...]](), set[object]()
    for obj in refused:
        members = {member.get("id") for member in records(obj.attrs, "group")}
        if is_dark(obj, dark) or obj.attrs.get("nhid") in numbers or not members.isdisjoint(numbers):
            found.add(obj[:2])
            numbers |= {obj.key[0]} if obj.cls == "nexthop" else set()
    return found


def _is_there(want: Object, have: Object | None) -> bool:
    return have is not None and all(have.attrs.get(name) == want.attrs.get(name) for name in ("src", "dev"))


def told(waiting: Iterable[Object]) -> tuple[str, ...]:
    """A sentence about what waits."""
    names = [_named(obj) for obj in waiting]
    return (f"configured when its link has a carrier: {few_of(names, len(names))}",) if names else ()


def _named(obj: Object) -> str:
    source = source_of(obj)
    return " ".join((obj.cls, *title(obj), *(("src", source) if source else ())))
