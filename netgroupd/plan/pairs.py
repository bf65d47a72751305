# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of links: one request makes both ends."""

from collections.abc import Sequence

from netgroupd.model.kinds.pair import OF_PAIR, PAIRS
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import peer_of
from netgroupd.plan.step import Op, Step


def peers_made_along(steps: Sequence[Step]) -> dict[str, str]:
    """The ends that come into being with the other end of the pair, by name; what is said of both stands with that."""
    made: dict[str, str] = {}
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
