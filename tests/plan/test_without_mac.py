# SPDX-License-Identifier: GPL-2.0-or-later
"""Which new links wait until a bridge has ports again, and so a MAC."""

import pytest

from netgroupd.plan.step import Op, Step
from netgroupd.plan.without_mac import made_late
from tests.plan.test_plan import link

BRIDGE, PORT, CARD = link("b", kind="bridge"), link("p", kind="dummy", master="b"), link("c", kind="dummy")
STACK = ("v", "vlan", "b"), ("w", "vlan", "v"), ("m", "macvlan", "w"), ("n", "macvlan", "b"), ("x", "vlan", "c")
MADE = [Step(Op.CREATE, None, link(name, kind=kind, link=lower)) for name, kind, lower in STACK]
GOES = Step(Op.DELETE, PORT, None)
MOVES = Step(Op.CHANGE, PORT, PORT, {"netns": "blue"})
GROWS = Step(Op.CHANGE, PORT, PORT, {"mtu": 9000})
ANEW = [Step(Op.DELETE, BRIDGE, None), Step(Op.CREATE, None, BRIDGE)]


@pytest.mark.parametrize(
    ("steps", "released", "late"),
    [
        pytest.param([GOES], (), {"v", "w", "m"}, id="port_goes"),
        pytest.param([MOVES], (), {"v", "w", "m"}, id="port_moves_to_another_namespace"),
        pytest.param([], ("p",), {"v", "w", "m"}, id="port_leaves_before_others_come"),
        pytest.param([], (), set(), id="port_stays"),
        pytest.param([GROWS], (), set(), id="port_changes"),
        pytest.param([GOES, *ANEW], (), set(), id="bridge_is_new_and_has_a_mac_of_its_own"),
    ],
)
def test_vlans_of_a_bridge_that_loses_its_ports_wait_with_what_is_on_them(
    steps: list[Step], released: tuple[str, ...], late: set[str]
) -> None:
    links = {each.key: each for each in (BRIDGE, PORT, CARD)}
    assert made_late([*steps, *MADE], links, released) == late
