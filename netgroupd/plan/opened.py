# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs that are made to be ports of bonds and teams, which bring up what comes: the link below is up before.

The VLAN itself is made behind that: one that is there comes up with the link below it, and
then a bond does not take it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import TEAMING
from netgroupd.plan.step import Op, Step


class Opened(NamedTuple):
    """The names of such VLANs, and of the links below them that come up first."""

    vlans: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()


def opened(steps: Sequence[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> Opened:
    """Those of the links that ``steps`` make, where the links below them come up with the same change."""
    made = [step.after for step in steps if step.op is Op.CREATE and step.after and step.after.attrs.get("master")]
    of_links = {link.name: link for link in made if _follows(link) and _is_opened(link, wants, haves)}
    if not of_links:
        return Opened()
    raised = {step.object.name for step in steps if step.object.attrs.get("up") and _comes_up(step)}
    below = {name: raised.intersection(_below(link, wants, haves)) for name, link in of_links.items()}
    vlans = frozenset(name for name, found in below.items() if found)
    return Opened(vlans, frozenset().union(*below.values()) - vlans)


def _follows(link: Object) -> bool:
    return kind_of(link) == "vlan" and not link.attrs.get("loose_binding")


def _is_opened(port: Object, wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> bool:
    master = (str(port.attrs["master"]),)
    return kind_of(wants.get(master) or haves.get(master)) in TEAMING


def _comes_up(step: Step) -> bool:
    return step.op is Op.CREATE or bool(step.attrs.get("up"))


def _below(link: Object, wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> Iterator[str]:
    """What a VLAN cannot be up without."""
    below: Object | None = link
    while below and _follows(below):
        name = str(below.attrs.get("link"))
        yield name
        below = wants.get((name,)) or haves.get((name,))
