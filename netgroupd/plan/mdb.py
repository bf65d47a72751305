# SPDX-License-Identifier: GPL-2.0-or-later
"""Bridges that are in a multicast group themselves: the kernel has them leave it with any port that does."""

from collections.abc import Callable, Mapping

from netgroupd.model.mdb import is_of_host
from netgroupd.model.state import Key, Object
from netgroupd.plan.step import Op, Step


def _host_of(key: Key) -> Key:
    """The entry of the bridge itself, for the group that an entry is of."""
    return (key[0], key[0], *key[2:4], None)


def arranged(
    steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object], lost: Callable[[Object], str]
) -> list[Step]:
    """``steps``, with what the kernel forgets said again: bridges leave before their ports, and join behind them."""
    touched = {step.object.key for step in steps}
    leaving = {
        _host_of(obj.key): f"{obj.key[1]} leaves {obj.key[2]}"
        for obj in haves.values()
        if not is_of_host(obj.key) and (obj.key not in wants or lost(obj))
    }
    again = (
        Step(Op.CHANGE, haves[key], wants[key], wants[key].attrs, why)
        for key, why in leaving.items()
        if key in wants and key in haves and key not in touched
    )
    return sorted([*steps, *again], key=_rank)


def _rank(step: Step) -> int:
    of_host = is_of_host(step.object.key)
    return 1 - of_host if step.op is Op.DELETE else 2 + of_host
