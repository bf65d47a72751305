# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bridge takes of a port in a VLAN only as it is itself: a limit on multicast groups while it learns them there.

So one comes behind the setting that has its VLAN learn, and of a VLAN that is lost and
made again only what the bridge will take is said again: no state where it has, or had, those of trees.
"""

from collections.abc import Set

from netgroupd.model import bridge_vlan
from netgroupd.model.bridge_vlan import USUAL
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.plan.compare import in_the_end
from netgroupd.plan.step import Op, Step

LIMIT = "mcast_max_groups"
LEARNING = ("vlan_filtering", "mcast_vlan_snooping")
"""What a bridge has on that learns groups for each VLAN."""
SNOOPING = "mcast_snooping"
"""What has it learn in one VLAN."""
_STATE, _TREES = "state", "mst_enabled"
_KEPT = (_STATE, "mcast_router", LIMIT)


def said_again(want: Object, have: Object, desired: State, actual: State) -> Attrs:
    """What to say of a VLAN that is lost: what is wanted, and of what else it had that which no message keeps."""
    kept = {name: value for name in _KEPT if (value := have.attrs.get(name, USUAL[name])) != USUAL[name]}
    if not kept.keys() - want.attrs.keys():
        return want.attrs
    name = bridge_in(want.name, desired, actual)
    bridge = in_the_end(name, desired.of("link"), actual.of("link"))
    if LIMIT in kept and not all(bridge.get(name) for name in LEARNING):
        del kept[LIMIT]
    now = (actual.link(each) for each in (name, bridge_in(want.name, actual)))
    if _STATE in kept and (bridge.get(_TREES) or any(link.attrs.get(_TREES) for link in now if link)):
        del kept[_STATE]
    return {**kept, **want.attrs}


def bridge_in(name: str, *states: State) -> str:
    """The bridge that a link is or is a port of, by the first of ``states`` that tells; "" is none."""
    links = (state.link(name) for state in states)
    return next((bridge for link in links if link and (bridge := bridge_vlan.bridge_of(link))), "")


def apart(step: Step, place: Key, learning: Set[Key]) -> tuple[Step | None, Step | None]:
    """What is said of a VLAN at once, and what when its bridge has begun to learn in it, which it is to."""
    if LIMIT not in step.attrs or place not in learning:
        return step, None
    rest = {name: value for name, value in step.attrs.items() if name != LIMIT}
    limit = Step(Op.CHANGE, step.before or step.after, step.after, {LIMIT: step.attrs[LIMIT]}, step.why)
    return (step._replace(attrs=rest) if rest or step.op is Op.CREATE else None), limit
