# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings of several numbers, of which a file may say the first ones."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan import present
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


@pytest.mark.parametrize(
    ("files", "there"),
    [
        ("sysctl: {net.ipv6.conf.d0.stable_secret: '2001:db8::4711'}", ()),
        ("sysctl: {net.ipv6.conf.d0.stable_secret: '2001:db8::1'}", ("2001:db8::4711",)),
    ],
)
def test_secret_is_in_no_plan_that_is_told(files: str, there: tuple[str, ...]) -> None:
    actual = State(Object("sysctl", ("net/ipv6/conf/d0/stable_secret",), {"value": value}) for value in there)
    plan = assemble(state_of(files), actual, Owned())
    assert plan.steps
    told = f"{present.text(plan)} {present.as_json(plan)} {present.objects_text(actual, {})}"
    assert "stable_secret" in told
    assert "4711" not in told
