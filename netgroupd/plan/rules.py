# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of one preference, which the kernel asks in the order in which they were made: as files list them.

Where anything is done about one and others would then be in another order, those that
stay are made once more, behind it: there are two of each for a moment, and never none.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

from netgroupd.model.state import Key, Object
from netgroupd.plan.step import Op, Step

_WHY = "it belongs behind another one of its preference"


def arranged(steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> list[Step]:
    """The steps about rules, and those that make others once more, in the order of ``wants``."""
    prefs = {step.object.key[:2] for step in steps}
    told = {step.object.key: step for step in steps if step.op is not Op.DELETE}
    found: dict[Key, list[Key]] = {}
    for key in wants if prefs else ():
        if key[:2] in prefs:
            found.setdefault(key[:2], []).append(key)
    place = {key: number for number, key in enumerate(haves)} if any(len(keys) > 1 for keys in found.values()) else {}
    again = {key for keys in found.values() for key in _made_again(keys, told.keys(), place)}
    if not again:
        return steps
    told |= {key: Step(Op.CHANGE, haves[key], wants[key], wants[key].attrs, _WHY) for key in again}
    return [*(step for step in steps if step.op is Op.DELETE), *(told[key] for key in wants if key in told)]


def _made_again(keys: Sequence[Key], coming: Set[Key], place: Mapping[Key, int]) -> Iterator[Key]:
    """All that stay, if not all of them stand before those that come, and in the order of ``keys``.

    What stands before those that are made again may not: the kernel deletes what is met first.
    """
    places = [place.get(key, -1) if key not in coming else len(place) for key in keys]
    if places != sorted(places):
        yield from (key for key in keys if key not in coming)
