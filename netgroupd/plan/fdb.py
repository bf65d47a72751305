# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries without a VLAN: the kernel has them in each VLAN of their port, and takes those away with them."""

from collections.abc import Iterable, Iterator, Mapping

from netgroupd.model.state import Key, Object
from netgroupd.plan.step import Op, Step


def said_again(steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> list[Step]:
    """``steps``, with what goes with an entry that is deleted said again."""
    touched = {step.object.key for step in steps}
    again = (
        Step(Op.CHANGE, haves[key], wants[key], wants[key].attrs, f"{key[1]} of no VLAN is deleted")
        for key in of_vlans((step for step in steps if step.op is Op.DELETE), wants)
        if key in haves and key not in touched
    )
    return [*steps, *again]


def of_vlans(steps: Iterable[Step], entries: Mapping[Key, Object]) -> Iterator[Key]:
    """Those of ``entries`` that are of a VLAN, and go with the ones of none that ``steps`` are about."""
    about = (step.object for step in steps)
    of_none = {obj.key[:2] for obj in about if obj.cls == "fdb" and obj.key[2:4] == (0, "master")}
    return (key for key in entries if key[:2] in of_none and key[2] and key[3] == "master") if of_none else iter(())
