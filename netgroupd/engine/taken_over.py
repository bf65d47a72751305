# SPDX-License-Identifier: GPL-2.0-or-later
"""What netgroupd took over from others, and lets go of.

An address, a route and the like say in the kernel whose they are, and become theirs again.  Of a bridge or a port it
is the VLANs that they had, and who is in which: a file that lists VLANs says all that there are, so the others go; and
what it lists may go with a later file.
"""

from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from netgroupd.engine.anew import WHATEVER
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.plan.compare import UNOWNED, group_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan


def told(said: Attrs, have: Object, want: Object, way: Set[str]) -> Attrs:
    """What is told by a step that ``said`` something of ``have``; to take it over is to tell of all of its ``way``.

    What others change of it afterwards the kernel marks as theirs: what it is by then need not be known.
    """
    if UNOWNED not in have.attrs or UNOWNED in want.attrs:
        return said
    return _all((*said, *sorted(way & have.attrs.keys() - said.keys()), UNOWNED))


@lru_cache(maxsize=64)
def _all(names: tuple[str, ...]) -> Attrs:
    """The same for each of a range, so that it can be found to be the same."""
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


_HAD = "had"  # marks one that was there, with all that it was


def had(plan: Plan, actual: State) -> Iterator[tuple[Object, Object]]:
    """All VLANs of links that ``plan`` takes over, and that it makes nothing of."""
    vlans = actual.of("bridge_vlan")
    taken = {
        step.object.name
        for step in (singles(plan.steps) if vlans else ())
        if step.object.cls == "link" and step.op is Op.CHANGE and "group" in step.attrs
        if step.before and not group_of(step.before)
    }
    for vlan in vlans.values() if taken else ():
        if vlan.name in taken:
            yield vlan._replace(attrs={**vlan.attrs, _HAD: True}), vlan._replace(attrs={})


def is_had(was: Object) -> bool:
    """Whether it is one of these."""
    return _HAD in was.attrs


def give_back(goal: State, objects: Iterable[Object], desired: State, actual: State, gone: Set[str]) -> None:
    """Add to ``goal`` the VLANs of ``objects`` whose links are let go, and leave bridges that are their ports."""
    for was in filter(is_had, objects):
        if _is_let_go((was.name,), desired, actual, gone):
            goal.add(was._replace(attrs={name: value for name, value in was.attrs.items() if name != _HAD}))
    for key, link in [*goal.of("link").items()]:
        master = have.attrs.get("master") if (have := actual.of("link").get(key)) else None
        # A bridge that is described has the ports that are described with it.
        if "master" not in link.attrs and (master,) in goal.of("link") and _is_let_go((master,), desired, actual, gone):
            goal.add(link._replace(attrs={**link.attrs, "master": master}))


def _is_let_go(link: Key, desired: State, actual: State, gone: Set[str]) -> bool:
    return link in actual.of("link") and link not in desired.of("link") and link[0] not in gone
