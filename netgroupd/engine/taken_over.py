# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of links that others have made, as VLANs, where a file begins to list some: it says all that there are.

So the others go, and so may with a later file what it lists.  Who goes back to where no file has listed any
has there what was there.
"""

from collections.abc import Iterable, Iterator, Set

from netgroupd.model.owner import LISTED
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan

_HAD = "had"  # marks one that was there, with all that it was


def had(plan: Plan, actual: State, listed: Set[tuple[str, str]]) -> Iterator[tuple[Object, Object]]:
    """All entries of the links of which ``plan`` lists some, and the last files none, and that it makes nothing of."""
    begun = {
        (step.object.cls, step.object.name)
        for step in singles(plan.steps)
        if step.object.cls in LISTED and (step.object.cls, step.object.name) not in listed
    }
    for cls in {cls for cls, _ in begun}:
        for entry in actual.of(cls).values():
            if (cls, entry.name) in begun and UNSAID not in entry.attrs:
                yield entry._replace(attrs={**entry.attrs, _HAD: True}), entry._replace(attrs={})


def is_had(was: Object) -> bool:
    """Whether it is one of these."""
    return _HAD in was.attrs


def give_back(goal: State, objects: Iterable[Object], desired: State, actual: State, gone: Set[str]) -> None:
    """Add to ``goal`` those of ``objects`` whose links stay and have no list again, and leave ports where they are."""
    listed = {(cls, str(key[0])) for cls in LISTED for key in desired.of(cls)}
    for was in filter(is_had, objects):
        stays = (was.name,) in actual.of("link") and was.name not in gone
        if stays and (was.cls, was.name) not in listed:
            goal.add(was._replace(attrs={name: value for name, value in was.attrs.items() if name != _HAD}))
    for key, link in [*goal.of("link").items()]:
        master = have.attrs.get("master") if (have := actual.of("link").get(key)) else None
        # A bridge that is described has the ports that are described with it.
        if "master" not in link.attrs and (master,) in goal.of("link") and _is_let_go((master,), desired, actual, gone):
            goal.add(link._replace(attrs={**link.attrs, "master": master}))


def _is_let_go(link: Key, desired: State, actual: State, gone: Set[str]) -> bool:
    return link in actual.of("link") and link not in desired.of("link") and link[0] not in gone
