# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings of several numbers, of which a file may say the first ones."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from tests.engine.universe import state_of


@pytest.mark.parametrize(
    ("said", "told", "steps"),
    [
        ("4000", "4000 60999", 0),
        ("[4000]", "4000 60999", 0),
        ("4000", "5000 60999", 1),
        ("60999", "4000 60999", 1),
        ("4000 60999", "4000", 1),
        ("''", "8080", 1),
        ("reno", "reno cubic", 1),
    ],
)
def test_of_several_numbers_those_of_which_nothing_is_said_stay(said: str, told: str, steps: int) -> None:
    was = Object("sysctl", ("net/ipv4/some",), {"value": told})
    assert len(assemble(state_of(f"sysctl: {{net.ipv4.some: {said}}}"), State((was,)), Owned()).steps) == steps
