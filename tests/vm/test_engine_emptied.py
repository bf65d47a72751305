# SPDX-License-Identifier: GPL-2.0-or-later
"""The last IPv4 address of a link goes, and with it all that leads by that link: told before, and given back."""

import pytest

from netgroupd.engine.transaction import plan_now
from netgroupd.errors import KernelError
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, told

pytestmark = pytest.mark.vm("stock")

LINK = "links: {e0: {kind: dummy, mac: '02:00:00:00:00:01', up: true, addresses: [%s]}}"
FIRST = state_of(LINK % "10.0.0.5/24, 'fd01::5/64'")
BY_OTHERS = (
    "route add 192.0.2.0/24 via 10.0.0.1 dev e0 proto static",
    "route add 10.9.0.0/16 dev e0",
    "route add 10.8.0.0/16 via 10.0.0.1 dev e0 proto bgp",
    "nexthop add id 7 via 10.0.0.1 dev e0",
    "route add 10.5.0.0/16 nhid 7",
    "route add 10.4.0.0/16 nhid 7 proto bgp",
    "-6 route add 2001:db8:1::/48 via fd01::1 dev e0 proto bgp",
    "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev e0 proto static",
)
LOST = (
    "what is not netgroupd's goes with the last IPv4 address of links: neighbours of proto static (1), "
    "routes of proto boot (1), routes of proto static (1), routes of proto bgp (1) on e0"
)


def lasting() -> list[str]:
    shown = ("route", "-6 route", "neighbour show nud permanent", "nexthop")
    lines = (line for command in shown for line in told("ip", *command.split()).splitlines())
    return sorted(line for line in lines if "10.8.0.0/16" not in line)


def given(kernel: Stumbling) -> None:
    become(kernel, FIRST)
    for command in BY_OTHERS:
        ip(command)


@pytest.mark.parametrize("addresses", ["'fd01::5/64'", "10.1.0.5/24, 'fd01::5/64'", "'fd01::5/64', 10.0.0.5/25"])
def test_what_goes_with_it_is_told_and_there_again_after_a_refusal(kernel: Stumbling, addresses: str) -> None:
    given(kernel)
    before = lasting()
    there_and_back(kernel, state_of(LINK % addresses), lasting, refused=True)
    assert lasting() == before


def test_what_was_there_without_any_is_there_again_when_one_comes_and_goes(kernel: Stumbling) -> None:
    become(kernel, state_of(LINK % "'fd01::5/64'"))
    for command in ("route add 10.9.0.0/16 dev e0", BY_OTHERS[-1]):
        ip(command)
    there_and_back(kernel, FIRST, lasting, refused=True)


def test_each_is_told_once_and_not_what_stays(kernel: Stumbling) -> None:
    given(kernel)
    plan, _ = plan_now(kernel, state_of(LINK % "'fd01::5/64'"), MINE)
    (warning,) = plan.warnings
    assert warning == LOST
    assert not plan.passing


def test_what_leads_somewhere_still_is_given_back_when_it_has_another(kernel: Stumbling) -> None:
    given(kernel)
    plan, _ = plan_now(kernel, state_of(LINK % "{address: 10.0.0.5/24, peer: 10.0.0.7}, 'fd01::5/64'"), MINE)
    back = {obj.key[2] if obj.cls == "route" else obj.key[1] for obj in plan.passing}
    assert back == {"10.9.0.0/16", "192.0.2.0/24", "10.0.0.9"}


@pytest.mark.parametrize("address", ["10.1.0.5/24", "10.0.0.6/24", "10.0.0.6/24, 10.0.0.5/24"])
def test_nothing_goes_where_another_address_comes_first(kernel: Stumbling, address: str) -> None:
    given(kernel)
    goal = state_of(LINK % f"{address}, 'fd01::5/64'")
    plan, _ = plan_now(kernel, goal, MINE)
    assert not plan.warnings
    before = lasting()
    become(kernel, goal)
    assert [line for line in before if line not in lasting() and "10.0.0.0/24" not in line] == []


def test_address_of_others_keeps_all_of_it(kernel: Stumbling) -> None:
    given(kernel)
    ip("address add 10.2.0.5/24 dev e0")
    plan, _ = plan_now(kernel, state_of(LINK % "'fd01::5/64'"), MINE)
    assert not plan.warnings


def test_what_routing_daemons_have_lost_is_told_after_a_refusal(engine_in: EngineIn) -> None:
    engine = engine_in("here", "{links: {e0: {up: false}}, routes: [{to: 10.3.0.0/16, via: 10.9.9.9}]}")
    here("ip link add e0 up type dummy")
    here("ip address add 10.0.0.5/24 dev e0")
    here("ip route add 10.8.0.0/16 via 10.0.0.1 dev e0 proto bgp")
    with pytest.raises(KernelError) as refused:
        engine.apply()
    told_after = "what is not netgroupd's may have gone, for others to bring back: routes of proto bgp (1) on e0"
    assert refused.value.__notes__ == [told_after]
