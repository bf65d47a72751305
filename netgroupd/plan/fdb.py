# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries without a VLAN: the kernel has them in each VLAN of their port, and takes those away with them."""

from collections.abc import Mapping

from netgroupd.model.state import Key, Object
from netgroupd.plan.step import Op, Step


def said_again(steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> list[Step]:
    """``steps``, with what goes with an entry that is deleted said again."""
    gone = {obj.key[:2]: f"{obj.key[1]} of no VLAN is deleted" for obj in _without_vlan(steps)}
    if not gone:
        return steps
    touched = {step.object.key for step in steps}
    again = (
        Step(Op.CHANGE, haves[key], want, want.attrs, gone[key[:2]])
        for key, want in wants.items()
        if key[:2] in gone and key in haves and key not in touched and key[3] == "master"
    )
    return [*steps, *again]


def _without_vlan(steps: list[Step]) -> list[Object]:
    doomed = (step.object for step in steps if step.op is Op.DELETE)
    return [obj for obj in doomed if obj.key[3] == "master" and not obj.key[2]]
