# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of VLANs that the kernel forgets: it does when the last of those who are in a VLAN leaves it."""

from collections.abc import Callable, Mapping

from netgroupd.model import bridge_vlan
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.step import Op, Step


def bridge_of(vlan: Object, actual: State) -> str:
    """The bridge that a VLAN of it or of one of its ports belongs to; "" where that is not known."""
    link = actual.link(vlan.name)
    return bridge_vlan.bridge_of(link) if link else ""


def left(actual: State, stays: Callable[[Object], bool]) -> set[Key]:
    """The VLANs, each with its bridge, which nobody who is in them now ``stays`` in."""
    found: set[Key] = set()
    kept: set[Key] = set()
    for vlan in actual.of("bridge_vlan").values():
        (kept if stays(vlan) else found).add((bridge_of(vlan, actual), vlan.key[1]))
    return found - kept


def said_again(
    steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object], lost: Mapping[Key, str]
) -> list[Step]:
    """``steps``, with all that there was said again where it is ``lost``, each with the reason."""
    again = [
        Step(Op.CHANGE, haves[key], want, {**haves[key].attrs, **want.attrs}, lost[key])
        for key, want in wants.items()
        if key in lost and key in haves
    ]
    return [*(step for step in steps if step.object.key not in lost or step.op is not Op.CHANGE), *again]
