# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes down for a change that nobody said to take it down for says so at its line of the plan."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned


def link(name: str, kind: str, **attrs: Value) -> Object:
    return Object("link", (name,), {"kind": kind, "group": 0x4E470000, **attrs})


@pytest.mark.parametrize(
    ("want", "have", "told"),
    [
        pytest.param(
            link("d0", "dummy", master="m0"),
            link("d0", "dummy", up=True, master=None),
            "~ dummy d0  master none -> m0  # d0 goes down to enter m0",
            id="enters",
        ),
        pytest.param(
            link("d0", "dummy", master=None),
            link("d0", "dummy", up=True, master="m0"),
            "~ dummy d0  master m0 -> none  # d0 goes down to leave m0",
            id="leaves",
        ),
        pytest.param(
            link("m0", "bond", lacp_rate="fast"),
            link("m0", "bond", up=True, mode="802.3ad", lacp_rate="slow"),
            "~ bond m0  lacp_rate slow -> fast  # m0 goes down for `lacp_rate` to change",
            id="changes",
        ),
    ],
)
@pytest.mark.parametrize("up", [True, False])
def test_plan_says_what_goes_down(want: Object, have: Object, told: str, up: bool) -> None:
    bond = link("m0", "bond", up=True, mode="802.3ad")
    have = have._replace(attrs={**have.attrs, "up": up})
    there = State((have,) if have.name == "m0" else (bond, have))
    wanted = State((want,) if want.name == "m0" else (bond, want))
    text = present.text(assemble(wanted, there, Owned()))
    assert (told in text) == up, text
    assert ("goes down" in text) == up


def test_plan_says_it_of_many_in_one_line() -> None:
    bond = link("m0", "bond", up=True)
    there = State((bond, *(link(f"d{number}", "dummy", up=True, master=None) for number in range(4))))
    wanted = State((bond, *(link(f"d{number}", "dummy", master="m0") for number in range(4))))
    (line,) = [line for line in present.text(assemble(wanted, there, Owned())).splitlines() if line[0] == "~"]
    assert line.endswith("(4)  # d{1} goes down to enter m0")
