# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of links: one request makes both ends."""

from collections.abc import Mapping, Sequence

from netgroupd.model.kinds.pair import OF_PAIR, PAIRS
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import peer_of
from netgroupd.plan.made import Made
from netgroupd.plan.step import Op, Step

OF_PEER = "peer."
"""What begins the names of what the message that makes a pair says of the other end."""
_FROM_THE_START = ("numtxqueues", "numrxqueues")
"""What a link has from the start or never."""


def peers_made_along(steps: Sequence[Step], new: Made) -> dict[str, str]:
    """The ends that come into being with the other end of the pair, by name; what is said of both stands with that."""
    made: dict[str, str] = {}
    if new.kinds.isdisjoint(PAIRS):
        return made
    coming = [step.after for step in steps if step.before is None and step.after]
    wanted = {link.name for link in coming if link.attrs.get("kind") in PAIRS}
    for step in (*filter(_says_of_both, steps), *steps) if wanted else ():
        if step.op is not Op.CREATE or step.object.name in made or kind_of(step.after) not in PAIRS:
            continue
        peer = peer_of(step.object)
        if peer in wanted:
            made[peer] = step.object.name
    return made


def _says_of_both(step: Step) -> bool:
    return kind_of(step.after) in PAIRS and not OF_PAIR.isdisjoint(step.object.attrs)


def said_of_peer(want: Object, links: Mapping[Key, Object]) -> Attrs:
    """What must be said of the other end of a pair by the message that makes both."""
    peer = links.get((peer_of(want),)) if kind_of(want) in PAIRS else None
    if peer is None:
        return NOTHING
    return {f"{OF_PEER}{name}": peer.attrs[name] for name in _FROM_THE_START if name in peer.attrs}
