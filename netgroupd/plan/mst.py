# SPDX-License-Identifier: GPL-2.0-or-later
"""States of ports in spanning trees, which follow from what the VLANs of a port are and in which tree.

A VLAN that a port is new to has the state of the common tree, whatever tree it is in,
and one that is put into a tree has the state that the port has there, or is shut.
"""

from collections.abc import Iterable, Iterator, Set

from netgroupd.model.bridge_vlan import bridge_of
from netgroupd.model.state import Key, Object, State
from netgroupd.model.vlan_global import TREE
from netgroupd.plan.bridge_vlan import bridge_in
from netgroupd.plan.default_vlan import DEFAULT
from netgroupd.plan.step import Op, Step

_STATE = "state"


class Disturbed:
    """The ports whose VLANs come, go or get into another tree by some steps."""

    def __init__(self, steps: Iterable[Step], *states: State) -> None:
        self._states = states
        self._ports: set[str] = set()
        self._bridges: set[str] = set()
        for step in steps:
            if step.object.cls == "bridge_vlan":
                self._ports.add(step.object.name)
            elif TREE in step.attrs or DEFAULT in step.attrs:
                self._bridges.add(step.object.name)

    def __contains__(self, port: str) -> bool:
        return port in self._ports or bridge_in(port, *self._states) in self._bridges


def said_again(steps: list[Step], before: Iterable[Step], desired: State, actual: State) -> list[Step]:
    """``steps``, with what the kernel changes by itself in those ``before`` said again."""
    wants, haves = desired.of("mst"), actual.of("mst")
    if not wants:
        return steps
    come = (step for step in before if step.op is Op.CREATE or step.why or step.object.cls != "bridge_vlan")
    disturbed, touched = Disturbed(come, desired, actual), {step.object.key for step in steps}
    again = (
        Step(Op.CHANGE, haves[key], want, want.attrs, "its VLANs become others")
        for key, want in wants.items()
        if key in haves and key not in touched and want.name in disturbed
    )
    return [*steps, *again]


def without_states(goal: State) -> None:
    """Leave out of ``goal`` the states of VLANs that are those of their trees: no bridge is told them."""
    keeping = {link.name for link in goal.of("link").values() if link.attrs.get("mst_enabled")}
    for key, vlan in [*goal.of("bridge_vlan").items()] if keeping else ():
        link = goal.link(vlan.name)
        if _STATE in vlan.attrs and link and bridge_of(link) in keeping:
            goal.classes["bridge_vlan"][key] = vlan.without(_STATE)


def inside(objects: Iterable[Object], vlans: Set[Key], goal: State, actual: State) -> Iterator[Object]:
    """``objects`` without the states in whose tree no VLAN of their port will be, which is in ``vlans`` then."""
    joined: set[Key] = set()
    for name, vid in vlans:
        place = bridge_in(str(name), goal, actual), vid
        options = (state.of("vlan_global").get(place) for state in (goal, actual))
        joined.add((name, next((each.attrs[TREE] for each in options if each and TREE in each.attrs), None)))
    yield from (obj for obj in objects if obj.cls != "mst" or obj.key in joined)
