# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order rules come and go: packets are led as they were, or as they will be, and never in a third way.

So those of a lower preference come first, and go last: what refuses all the rest is not there without what lets some
through.  But the kernel walks over all rules before the one that comes or goes, and many would take the square of
their number.  Where no packet meets two of them their order does not matter, and is one in which it passes few.

Rules of one preference the kernel asks in the order in which they were made: as files list them.  Where they are in
another order, or would be with one that comes, those that stay are made once more, behind it: there are two of each
for a moment, and never none.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

from netgroupd.model.state import Key, Object
from netgroupd.plan.rules_apart import as_they_come, as_they_go
from netgroupd.plan.step import Op, Step

_WHY = "it belongs behind another one of its preference"


def arranged(steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> list[Step]:
    """The steps about rules, and those that make others once more; what goes comes first."""
    told = {step.object.key: step for step in steps if step.op is not Op.DELETE}
    found: dict[Key, list[Key]] = {}
    for key in wants:
        if key in told or key in haves:
            found.setdefault(key[:2], []).append(key)
    sharing = [keys for keys in found.values() if len(keys) > 1]
    place = {key: number for number, key in enumerate(haves)} if sharing else {}
    again = {key for keys in sharing for key in _made_again(keys, told.keys(), place)}
    told |= {key: Step(Op.CHANGE, haves[key], wants[key], wants[key].attrs, _WHY) for key in again}
    gone = {step.object.key: step for step in steps if step.op is Op.DELETE}
    going = as_they_go(gone[key] for key in haves if key in gone)
    return [*going, *as_they_come(told[key] for key in wants if key in told)]


def _made_again(keys: Sequence[Key], coming: Set[Key], place: Mapping[Key, int]) -> Iterator[Key]:
    """All that stay, if not all of them stand before those that come, and in the order of ``keys``.

    What stands before those that are made again may not: the kernel deletes what is met first.
    """
    places = [len(place) if key in coming else place[key] for key in keys]
    if places != sorted(places):
        yield from (key for key in keys if key not in coming)
