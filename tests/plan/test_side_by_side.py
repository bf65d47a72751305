# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of one lower link, or of one master, are made next to each other, whatever order the files have."""

import pytest

from netgroupd.model.state import State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.coalesce import Abilities
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from tests.engine.universe import state_of

_BONDS = "'p[1-4]': {kind: dummy}, 'o[b=1-2]': {kind: bond, ports: ['p{2*b-1}', 'p{2*b}']}"


@pytest.mark.parametrize(
    ("links", "made"),
    [
        pytest.param(
            "'p[1-2]': {kind: dummy}, 'b[v=7-8]': {kind: bridge, ports: 'p[1-2].{v}'}",
            "p1 p2 b7 b8 p1.7 p1.8 p2.7 p2.8",
            id="vlans_of_a_port",
        ),
        pytest.param(
            "'p[1-3]': {kind: dummy}, 'b[v=7-8]': {kind: bridge, ports: 'p[1-3].{v}'}",
            "p1 p2 p3 b7 b8 p1.7 p2.7 p3.7 p1.8 p2.8 p3.8",
            id="ports_of_a_bridge_that_has_more",
        ),
        pytest.param(
            _BONDS + ", 'b[v=5-7]': {kind: bridge, ports: 'o[1-2].{v}'}, 'g[v=5-7]': {kind: macvlan, link: 'b{v}'}",
            "o1 o2 b5 b6 b7 p1 p2 p3 p4 o1.5 o1.6 o1.7 o2.5 o2.6 o2.7 g5 g6 g7",
            id="macvlans_of_bridges_when_their_ports_have_joined",
        ),
    ],
)
def test_links_are_made_side_by_side(links: str, made: str) -> None:
    plan = assemble(state_of(f"links: {{{links}}}"), State(), Owned(frozenset()), Abilities())
    names = [step.object.name for step in singles(plan.steps)]
    assert " ".join(names) == made
