# SPDX-License-Identifier: GPL-2.0-or-later
"""How many messages a plan takes, as far as it tells: what others have in the way can make more of them."""

from netgroupd.model.bridge_vlan import is_out
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import AnyStep, GroupStep, Op, Plan, RangeStep, Step, classes_of
from netgroupd.plan.tc.anew import takes_two
from netgroupd.plan.without_mac import BY_A_PORT

_OTHERS = frozenset({"filter", "rule", "bridge_vlan", "ethtool"})
"""The classes of which a step is not always one message."""


def messages(plan: Plan) -> int:
    """The messages that the steps of a plan take."""
    some = len(plan.steps)
    return some if classes_of(plan.steps).isdisjoint(_OTHERS) else some + sum(map(_more, plan.steps))


def _more(step: AnyStep) -> int:
    """How many messages a step takes beside one."""
    if isinstance(step, GroupStep):
        return 0
    first = step.steps[0] if isinstance(step, RangeStep) else step
    match first.object.cls:
        case "filter":
            # Of u32 a preference may go by itself with its last rule.
            return int(takes_two(step) or (first is not step and kind_of(first.object) == "u32"))
        case "rule":
            return int(first.op is Op.CHANGE)
        case "ethtool":
            return -int(first.op is Op.DELETE)
        case "bridge_vlan":
            return _of_vlan(first)
    return 0


def _of_vlan(step: Step) -> int:
    """One that a port is to be out of comes first, and one that goes to another tunnel leaves the last before."""
    if step.op is Op.DELETE or is_out(step.object):
        return int(step.op is not Op.DELETE)
    had = step.before.attrs.get("tunnel_id") if step.before else None
    tunnel = step.attrs.get("tunnel_id", had if step.after is None else step.after.attrs.get("tunnel_id", had))
    return int(had not in (None, tunnel)) + 2 * bool(step.attrs.get(BY_A_PORT))
