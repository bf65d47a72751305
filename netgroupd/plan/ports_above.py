# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs that become ports of bonds and teams, which bring up what they get: the link below must be up by then."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import in_the_end, kind_of
from netgroupd.plan.fate import TEAMING
from netgroupd.plan.made import Made
from netgroupd.plan.pieces import DOWN
from netgroupd.plan.step import Step


class Above(NamedTuple):
    """The ``ports`` that come to their masters late, and the links ``below`` that are brought up before they do."""

    ports: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()

    def told(self, step: Step) -> tuple[Step, ...]:
        """A step about a link; before a port comes to its master it goes down, for the link below has brought it up."""
        if step.attrs.get("master") and step.object.name in self.ports:
            return step._replace(attrs=DOWN), step
        return (step,)


def ports_above(
    steps: Iterable[Step], new: Made, wants: Mapping[Key, Object], haves: Mapping[Key, Object], down: Container[str]
) -> Above:
    """Those of some steps about links, of which some are ``down`` meanwhile."""
    ports, below = set[str](), set[str]()
    masters = new.masters | {step.attrs.get("master") for step in new.told}
    teaming = {name for name in masters if name and kind_of(wants.get((name,)) or haves.get((name,))) in TEAMING}
    for step in steps if teaming else ():
        if step.after is None or step.attrs.get("master") not in teaming:
            continue
        lowers = [*_lowers(step.after.name, wants, haves)]
        if waiting := [name for name in lowers if name in down or not _is_up(haves.get((name,)))]:
            ports.add(step.after.name)
            below.update(waiting)
    return Above(frozenset(ports), frozenset(below))


def _is_up(link: Object | None) -> bool:
    return link is not None and link.attrs.get("up") is True


def _lowers(name: str, wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> Iterator[str]:
    """The links that a VLAN goes down with, from above."""
    attrs, seen = in_the_end(name, wants, haves), {name}
    while attrs.get("kind") == "vlan" and not attrs.get("loose_binding"):
        lower = str(attrs.get("link"))
        if lower in seen:
            return
        yield lower
        seen.add(lower)
        attrs = in_the_end(lower, wants, haves)
