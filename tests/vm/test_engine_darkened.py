# SPDX-License-Identifier: GPL-2.0-or-later
"""A bridge loses its carrier with its last port, and nexthops of others with that: told before, and given back."""

import pytest

from netgroupd.engine.transaction import concluded, converge, plan_now
from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, ip, refused_and_back, there_and_back, told
from tests.waiting import eventually

pytestmark = pytest.mark.vm("stock")

BEGIN = """
links:
  br0: {kind: bridge, up: true, mac: '02:00:00:00:00:01', addresses: 10.0.0.5/24}
  v5: {kind: vlan, link: br0, id: 5, up: true}
"""
FIRST = BEGIN + "  p0: {kind: dummy, up: true, master: br0}\n"
SECOND = "  p1: {kind: dummy, up: true, master: br0}\n"
DOWN = FIRST.replace("dummy, up: true", "dummy, up: false")
OUT = FIRST.replace("master: br0", "master: null")
BY_OTHERS = (
    "nexthop add id 901 dev br0 proto dhcp",
    "nexthop add id 902 dev v5",
    "nexthop add id 903 via 10.0.0.1 dev br0 proto bgp",
    "nexthop add id 904 group 901",
    "route add 10.5.0.0/16 nhid 901",
    "route add 10.6.0.0/16 via 10.0.0.1 dev br0",
    "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev br0",
    "neighbour add 10.0.0.8 lladdr 02:00:00:00:00:08 nud noarp dev br0",
)
_GOES = "what is not netgroupd's may go with the carrier of links"
LOST = (
    f"{_GOES}: nexthops of proto dhcp (1), nexthops (1), neighbours (1), routes of proto boot (1), "
    "nexthops of proto bgp (1) on br0, v5"
)
AGAIN = (
    f"{_GOES}: nexthops of proto bgp (1) on br0",
    f"{_GOES} for a moment, and is given back: nexthops of proto dhcp (1), nexthops (1), neighbours (1), "
    "routes of proto boot (1) on br0, v5",
)


def nexthops() -> set[str]:
    return {line.split()[1] for line in told("ip", "nexthop").splitlines()}


def lasting() -> list[str]:
    shown = (told("ip", *command.split()) for command in ("route", "neighbour show 10.0.0.8", "nexthop"))
    return sorted(line.strip() for lines in shown for line in lines.splitlines() if "id 903" not in line)


def given(kernel: Stumbling, first: str) -> None:
    become(kernel, state_of(first))
    eventually(lambda: "state UP" in told("ip", "link", "show", "v5"))
    for command in BY_OTHERS:
        ip(command)


@pytest.mark.parametrize("then", [DOWN, OUT, BEGIN], ids=["down", "out", "deleted"])
def test_what_goes_with_the_last_port_is_told_and_there_again_after_a_refusal(kernel: Stumbling, then: str) -> None:
    given(kernel, FIRST)
    goal = state_of(then)
    plan, _ = plan_now(kernel, goal, kernel.keep(goal))
    assert LOST in plan.warnings
    assert not {obj.key for obj in plan.passing if obj.cls == "nexthop"}
    there_and_back(kernel, goal, lasting)
    become(kernel, goal)
    eventually(lambda: not nexthops() and "state UP" not in told("ip", "link", "show", "br0"))


def test_what_goes_before_another_port_comes_is_there_again(kernel: Stumbling) -> None:
    given(kernel, FIRST)
    goal = state_of(DOWN + SECOND)
    before, mine = lasting(), kernel.keep(goal)
    plan, _ = plan_now(kernel, goal, mine)
    assert plan.warnings[:2] == AGAIN
    reached = converge(kernel, plan, goal, mine)
    ip("nexthop del id 901")  # as the kernel does if it looks in between
    ip("neighbour del 10.0.0.8 dev br0")
    assert concluded(kernel, plan, mine, reached.waiting).warnings == plan.warnings
    assert lasting() == before


@pytest.mark.parametrize("then", [DOWN, OUT, BEGIN], ids=["down", "out", "deleted"])
def test_nothing_goes_where_another_port_stays(kernel: Stumbling, then: str) -> None:
    given(kernel, FIRST + SECOND)
    goal = state_of(then + SECOND)
    plan, _ = plan_now(kernel, goal, kernel.keep(goal))
    assert not [said for said in plan.warnings if "carrier" in said or "nexthop" in said]
    become(kernel, goal)
    assert nexthops() == {"901", "902", "903", "904"}


def test_what_is_above_what_goes_down_is_told(kernel: Stumbling) -> None:
    above = "  mv0: {kind: macvlan, link: br0, up: true}\n  br1: {kind: bridge, up: true, ports: mv0}\n"
    given(kernel, FIRST + above)
    ip("nexthop add id 905 dev br1")
    plan, _ = plan_now(kernel, state_of(DOWN + above), kernel.keep(state_of(DOWN + above)))
    assert LOST.replace("nexthops (1)", "nexthops (2)").replace("br0, v5", "br[0-1], v5") == plan.warnings[0]
    become(kernel, state_of(DOWN + above))
    eventually(lambda: not nexthops())


_DARK = """
links:
  br0: {kind: bridge, up: true, addresses: [10.0.0.5/24, 'fd00::5/64'], %s}
  p0: {kind: dummy, up: true, alias: '%s'}
"""
_OURS = """neighbours: [{ip: 10.0.0.8, lladdr: '02:00:00:00:00:08', state: noarp},
    {ip: 'fd00::8', lladdr: '02:00:00:00:00:08', state: noarp}]"""


def neighbours() -> list[str]:
    return sorted(
        line
        for line in told("ip", "neighbour", "show", "nud", "noarp").splitlines()
        if "::8 " in line or "0.8 " in line
    )


def dark(kernel: Stumbling) -> None:
    """A bridge without a carrier: a port has left."""
    become(kernel, state_of(_DARK % ("", "a")), at_once=False)
    ip("link set p0 master br0")
    ip("link set p0 nomaster")
    eventually(lambda: "state DOWN" in told("ip", "link", "show", "br0"))


@pytest.mark.parametrize("then", ["ageing_time: 10000", "alias: b"])
def test_link_without_a_carrier_that_is_told_anything_forgets_none_of_ours(kernel: Stumbling, then: str) -> None:
    dark(kernel)
    become(kernel, state_of(_DARK % (_OURS, "b")), at_once=False)
    assert len(before := neighbours()) == 2
    for at in (0, 1):  # one of the two is the bridge's
        kernel.stumbles_at = at
        refused_and_back(kernel, state_of(_DARK % (f"{then}, {_OURS}", "c")))
        assert neighbours() == before
    become(kernel, state_of(_DARK % (f"{then}, {_OURS}", "c")), at_once=False)
    assert neighbours() == before


@pytest.mark.parametrize("then", ["ageing_time: 10000", "alias: b"])
def test_link_without_a_carrier_that_is_told_anything_forgets_none_of_others(kernel: Stumbling, then: str) -> None:
    dark(kernel)
    ip("neighbour add 10.0.0.8 lladdr 02:00:00:00:00:08 nud noarp dev br0")
    ip("neighbour add fd00::8 lladdr 02:00:00:00:00:08 nud noarp dev br0")
    goal = state_of(_DARK % (then, "c"))
    before, mine = neighbours(), kernel.keep(goal)
    there_and_back(kernel, goal, neighbours, refused=True)
    plan, _ = plan_now(kernel, goal, mine)
    assert plan.warnings == (f"{_GOES} for a moment, and is given back: neighbours (2) on br0",)
    reached = converge(kernel, plan, goal, mine)
    assert concluded(kernel, plan, mine, reached.waiting).warnings == plan.warnings
    assert neighbours() == before
