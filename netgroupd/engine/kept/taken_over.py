# SPDX-License-Identifier: GPL-2.0-or-later
"""What netgroupd took over from others, and lets go of.

An address, a route and the like say in the kernel whose they are, and become theirs again.  Entries of
links, as VLANs, do not: where a file begins to list some, it says all that there are, so the others go,
and so may with a later file what it lists.  Who goes back to where no file has listed any has there
what was there.  The same holds of ports that a file begins to name.
"""

from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from itertools import chain

from netgroupd.engine.kept.anew import WHATEVER
from netgroupd.engine.refusals import StepsError
from netgroupd.errors import NetgroupError
from netgroupd.model.bridge_vlan import is_out
from netgroupd.model.owner import LISTED
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.plan.compare import UNOWNED, UNSAID
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.named import Named, ports_in
from netgroupd.plan.serialise import singles, touching
from netgroupd.plan.step import Plan


def told(said: Attrs, have: Object, want: Object, way: Set[str]) -> Attrs:
    """What is told by a step that ``said`` something of ``have``; to take it over is to tell of all of its ``way``.

    What others change of it afterwards the kernel marks as theirs: what it is by then need not be known.
    """
    if UNOWNED not in have.attrs or UNOWNED in want.attrs:
        return said
    return _all((*said, *sorted(way & have.attrs.keys() - said.keys()), UNOWNED))


@lru_cache(maxsize=64)
def _all(names: tuple[str, ...]) -> Attrs:
    """All of ``names``, whatever they are: one mapping for all of a range, which is then seen to be the same."""
    return dict.fromkeys(names, WHATEVER)


def leading(replaced: Iterable[Object]) -> Iterator[Object]:
    """The nexthops that routes of others had, for finding whether they are there."""
    ids = {was.attrs["nhid"]: was.attrs[UNOWNED] for was in replaced if was.attrs.get("nhid") and UNOWNED in was.attrs}
    yield from (Object("nexthop", (number,), {UNOWNED: owner}) for number, owner in ids.items())


def theirs_again(
    replaced: Iterable[Object], desired: State, actual: State, gone: Set[str]
) -> frozenset[tuple[str, Key]]:
    """Of what others had made, and has been netgroupd's alone since, what no file mentions any more."""
    back = {}
    for was in replaced:
        have = actual.of(was.cls).get(was.key)
        if have is None or UNOWNED in have.attrs or was.attrs.get(UNOWNED) is None:
            continue
        if was.key not in desired.of(was.cls) and gone.isdisjoint((*hangs_on(have), *hangs_on(was))):
            back[was[:2]] = was.attrs.get("nhid")
    theirs = (key for key, nexthop in actual.of("nexthop").items() if UNOWNED in nexthop.attrs)
    keys = (*desired.of("nexthop"), *theirs, *(key for cls, key in back if cls == "nexthop"))
    nexthops = {None, *(key[0] for key in keys)}
    return frozenset(place for place, nexthop in back.items() if nexthop in nexthops)


def without_theirs(goal: State) -> State | None:
    """``goal`` without what becomes others' again; nothing where that is all of it."""
    kept = [obj for obj in goal if obj.attrs.get(UNOWNED) is None]
    return State(kept, goal.groups) if len(kept) < len(goal) else None


def without_refused(goal: State, desired: State, error: NetgroupError) -> State | None:
    """``goal`` without what the kernel refuses to take back; nothing where it refused what ``desired`` asks for."""
    steps = singles(each.step for each in error.refused) if isinstance(error, StepsError) else ()
    refused = {step.object[:2] for step in steps}
    less = State(groups=goal.groups)
    for obj in goal:
        if want := desired.of(obj.cls).get(obj.key) if obj[:2] in refused else obj:
            less.add(want)
    return less if [*less] != [*goal] else None


_HAD = "had"


def with_named(
    altered: Iterable[tuple[Object, Object]], plan: Plan, desired: State, actual: State, before: Named
) -> Iterator[tuple[Object, Object]]:
    """What is ``altered``, and what files begin to list or to name as ports, which they did not ``before``."""
    ports = ports_in(desired) if actual.of("link") else ()
    yield from _with_ports(altered, (pair for pair in ports if pair not in before.ports), actual)
    yield from _had(plan, desired, actual, before.listed)


def _had(plan: Plan, desired: State, actual: State, listed: Set[tuple[str, str]]) -> Iterator[tuple[Object, Object]]:
    """All entries of the links of which files list some, and the last ones none, and that ``plan`` makes nothing of.

    Of a VLAN that a link was out of already it is that.
    """
    touched = (step.object for step in touching(plan.steps, actual.of("link")))
    named = (obj for cls in sorted(LISTED) for obj in desired.of(cls).values())
    begun = {(obj.cls, obj.name) for obj in chain(touched, named) if obj.cls in LISTED} - listed
    out = (
        vlan for key, vlan in desired.of("bridge_vlan").items() if is_out(vlan) and key not in actual.of("bridge_vlan")
    )
    there = (entry for cls in sorted({cls for cls, _ in begun}) for entry in actual.of(cls).values())
    for entry in chain(there, (vlan for vlan in out if (vlan.name,) in actual.of("link"))):
        if (entry.cls, entry.name) in begun and UNSAID not in entry.attrs:
            yield as_had(entry), entry._replace(attrs=NOTHING)


def _with_ports(
    altered: Iterable[tuple[Object, Object]], begun: Iterable[tuple[str, str]], actual: State
) -> Iterator[tuple[Object, Object]]:
    """What is ``altered``, and the masters of ports that files have ``begun`` to name and that were that before."""
    links = actual.of("link")
    there = ((port, master) for master, port in begun if (port,) in links)
    stay: dict[Key, Attrs] = {
        (port,): {"master": master} for port, master in there if links[port,].attrs.get("master") == master
    }
    for was, made in altered:
        had = stay.pop(was.key, NOTHING) if was.cls == "link" else NOTHING
        yield was._replace(attrs={**had, **was.attrs}), made._replace(attrs={**had, **made.attrs})
    for key, had in stay.items():
        yield Object("link", key, had), Object("link", key, had)


def as_had(obj: Object) -> Object:
    """One that was there, with all that it was."""
    return obj.having({_HAD: True})


def is_had(was: Object) -> bool:
    """Whether it is one of these."""
    return _HAD in was.attrs


def as_it_was(had: Object) -> Object:
    """One of these without what marks it."""
    return had.without(_HAD)


def give_back(goal: State, objects: Iterable[Object], desired: State, actual: State, gone: Set[str]) -> None:
    """Add to ``goal`` those of ``objects`` whose links stay and have no list again."""
    listed = {(cls, str(key[0])) for cls in LISTED for key in desired.of(cls)}
    for was in filter(is_had, objects):
        stays = (was.name,) in actual.of("link") and was.name not in gone
        if was.cls in LISTED and stays and (was.cls, was.name) not in listed:
            goal.add(as_it_was(was))
