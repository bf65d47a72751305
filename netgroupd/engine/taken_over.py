# SPDX-License-Identifier: GPL-2.0-or-later
"""Bridges and ports that netgroupd took over from others, and lets go of: the VLANs that they had, and who is in which.

A file that lists VLANs says all that there are, so the others go; and what it lists may go with a later file.
"""

from collections.abc import Iterable, Iterator, Set

from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import group_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan

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
