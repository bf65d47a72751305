# SPDX-License-Identifier: GPL-2.0-or-later
"""Which links leave their master before anything else comes."""

import pytest

from netgroupd.plan.pieces import claimed
from netgroupd.plan.step import Op, Step
from tests.plan.test_plan import link

PORT, CARD = link("p", kind="dummy", master="b"), link("c", kind="dummy")


@pytest.mark.parametrize(
    ("kind", "lower", "master", "want"),
    [
        pytest.param("macvlan", "p", None, {"p"}, id="another_takes_all_that_comes_in"),
        pytest.param("ipvtap", "p", None, {"p"}, id="so_does_this"),
        pytest.param("vlan", "p", None, set(), id="a_vlan_takes_its_own"),
        pytest.param("macvlan", "c", None, set(), id="it_stands_on_another"),
        pytest.param("macvlan", "p", "d", set(), id="it_has_another_master"),
    ],
)
def test_port_leaves_first_where_a_new_link_takes_its_packets(
    kind: str, lower: str, master: str | None, want: set[str]
) -> None:
    leaves = Step(Op.CHANGE, PORT, PORT, {"master": master})
    assert claimed([leaves, Step(Op.CREATE, None, link("m", kind=kind, link=lower))], [leaves]) == want


def test_port_leaves_first_where_a_new_ring_takes_its_packets() -> None:
    leaves = Step(Op.CHANGE, PORT, PORT, {"master": None})
    ring = link("h", kind="hsr", slave1="c", slave2="p")
    assert claimed([leaves, Step(Op.CREATE, None, ring)], [leaves]) == {"p"}
