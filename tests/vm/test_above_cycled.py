# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have above a link that goes down for a moment: a kernel that filters its dumps does not tell of it."""

import json

import pytest

from netgroupd.engine.transaction import concluded, converge, plan_now
from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, ip, there_and_back, told

pytestmark = pytest.mark.vm("stock", "patched")

ON = "links: {d0: {kind: dummy, up: true, addresses: 10.0.0.1/24%s}, v0: {kind: vrf, table: 7, up: true}}"
IN_VRF = state_of(ON % ", master: v0")
ADDRESS, NEXTHOP = "address add fd03::1/64 dev x1 nodad", "nexthop add id 900 dev x1"
BACK = (
    "what is not netgroupd's goes with links that go down for a moment, and is given back: "
    "addresses (1), nexthops (1) on x1"
)
DARK = "what is not netgroupd's may go with the carrier of links for a moment, and is given back: nexthops (1) on x1"


def above() -> tuple[str, str]:
    return told("ip", "nexthop"), told("ip", "-6", "-br", "address", "show", "dev", "x1", "scope", "global")


def is_up(name: str) -> bool:
    return "UP" in json.loads(told("ip", "-j", "link", "show", "dev", name))[0]["flags"]


def given(kernel: Stumbling, made: str) -> None:
    become(kernel, state_of(ON % ""))
    ip(f"link add {made}")
    ip("link set x1 up")
    ip(ADDRESS)
    ip(NEXTHOP)


def test_what_is_on_a_vlan_of_others_is_told_and_given_back(kernel: Stumbling) -> None:
    given(kernel, "link d0 name x1 type vlan id 5")
    before, mine = above(), kernel.keep(IN_VRF)
    plan, _ = plan_now(kernel, IN_VRF, mine)
    assert plan.warnings == (BACK,)
    assert plan.cycled == {"d0", "x1"}
    concluded(kernel, plan, mine, converge(kernel, plan, IN_VRF, mine).waiting)
    assert above() == before


def test_what_is_on_a_vlan_of_others_is_there_again_after_a_refusal(kernel: Stumbling) -> None:
    given(kernel, "link d0 name x1 type vlan id 5")
    there_and_back(kernel, IN_VRF, above)


@pytest.mark.parametrize(
    ("made", "want"),
    [
        pytest.param("link d0 name x1 type macvlan", (DARK,), id="macvlan"),
        pytest.param("name x1 type vxlan id 5 dev d0 dstport 4789 remote 10.0.0.9", (), id="vxlan"),
    ],
)
def test_what_follows_the_carrier_below_alone_is_told(kernel: Stumbling, made: str, want: tuple[str, ...]) -> None:
    given(kernel, made)
    assert plan_now(kernel, IN_VRF, kernel.keep(IN_VRF))[0].warnings == want


@pytest.mark.parametrize("on", ["d0", "x1"])
def test_a_vlan_of_others_that_is_down_stays_down(kernel: Stumbling, on: str) -> None:
    given(kernel, "link d0 name x1 type vlan id 5")
    ip(f"link add link {on} name x2 type vlan id 6")
    there_and_back(kernel, IN_VRF, lambda: (above(), is_up("x2")), refused=True)
    mine = kernel.keep(IN_VRF)
    plan, _ = plan_now(kernel, IN_VRF, mine)
    concluded(kernel, plan, mine, converge(kernel, plan, IN_VRF, mine).waiting)
    assert (is_up("x1"), is_up("x2")) == (True, False)
