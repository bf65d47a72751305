# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of links that others have made, as VLANs, where a file begins to list some: it says all that there are.

So the others go, and so may with a later file what it lists.  Who goes back to where no file has listed any
has there what was there.  The same holds of ports that a file begins to name.
"""

from collections.abc import Iterable, Iterator, Set

from netgroupd.model.owner import LISTED
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.named import Named
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan

_HAD = "had"  # marks one that was there, with all that it was


def with_named(
    altered: Iterable[tuple[Object, Object]], plan: Plan, actual: State, before: Named, now: Named
) -> Iterator[tuple[Object, Object]]:
    """What is ``altered``, and what files begin to list or to name as ports, which they did not ``before``."""
    yield from _with_ports(altered, now.ports - before.ports, actual)
    yield from _had(plan, actual, before.listed)


def _had(plan: Plan, actual: State, listed: Set[tuple[str, str]]) -> Iterator[tuple[Object, Object]]:
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


def _with_ports(
    altered: Iterable[tuple[Object, Object]], begun: Set[tuple[str, str]], actual: State
) -> Iterator[tuple[Object, Object]]:
    """What is ``altered``, and the masters of ports that files have ``begun`` to name and that were that before."""
    links = actual.of("link")
    there = ((port, master) for master, port in begun if (port,) in links)
    stay: dict[Key, Attrs] = {
        (port,): {"master": master} for port, master in there if links[port,].attrs.get("master") == master
    }
    for was, made in altered:
        had = stay.pop(was.key, NOTHING) if was.cls == "link" else NOTHING
        yield was._replace(attrs={**had, **was.attrs}), made._replace(attrs={**had, **made.attrs})
    for key, had in stay.items():
        yield Object("link", key, had), Object("link", key, had)


def is_had(was: Object) -> bool:
    """Whether it is one of these."""
    return _HAD in was.attrs


def give_back(goal: State, objects: Iterable[Object], desired: State, actual: State, gone: Set[str]) -> None:
    """Add to ``goal`` those of ``objects`` whose links stay and have no list again."""
    listed = {(cls, str(key[0])) for cls in LISTED for key in desired.of(cls)}
    for was in filter(is_had, objects):
        stays = (was.name,) in actual.of("link") and was.name not in gone
        if stays and (was.cls, was.name) not in listed:
            goal.add(was._replace(attrs={name: value for name, value in was.attrs.items() if name != _HAD}))
