# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes of others with several ways, of which a link that goes or goes down has one: told, and given back."""

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

VXLAN = "  vx: {{kind: vxlan, id: {}, dstport: 4789, local: 127.0.0.1, up: on{}}}\n"
FILE = "links:\n  d: {kind: dummy, up: on, addresses: [10.8.0.1/24, '2001:db8:8::1/64']}\n"
OTHERS = (
    "address add 10.9.0.1/24 dev vx",
    "address add 2001:db8:9::1/64 dev vx nodad",
    "route add 10.2.0.0/16 proto static nexthop via 10.9.0.9 dev vx weight 3 nexthop via 10.8.0.9 dev d",
    "-6 route add 2001:db8:2::/48 proto static nexthop via 2001:db8:9::9 dev vx nexthop via 2001:db8:8::9 dev d",
    "route add 10.3.0.0/16 proto bird nexthop via 10.9.0.9 dev vx nexthop via 10.8.0.9 dev d",
)


def ways() -> list[str]:
    shown = here("ip route show table main").splitlines() + here("ip -6 route show table main").splitlines()
    return [line.replace("dead linkdown", "").strip() for line in shown if "kernel" not in line and "fe80" not in line]


@pytest.mark.parametrize("after", [VXLAN.format(8, ""), ""], ids=["made_anew", "goes"])
def test_routes_of_which_one_way_goes_are_told_and_given_back(engine_in: EngineIn, after: str) -> None:
    engine_in("here", FILE + VXLAN.format(7, "")).apply()
    for command in OTHERS:
        here(f"ip {command}")
    before = ways()
    engine = engine_in("here", FILE + after)
    told = "routes of proto static (2), routes of proto bird (1) on "
    assert any(told in said for said in engine.apply(confirm_s=60.0).plan.warnings)
    assert ways() != before
    engine.rollback()
    watched = [line for line in before if "proto bird" in line]
    place = before.index(watched[0])
    assert ways() == before[:place] + before[place + 3 :]


def test_way_of_a_link_that_goes_down_for_a_moment_is_there_again(engine_in: EngineIn) -> None:
    engine_in("here", f"{FILE}{VXLAN.format(7, '')}  m: {{kind: macvlan, link: vx, up: on}}\n").apply()
    here("ip address add 2001:db8:9::1/64 dev m nodad")
    here("ip -6 route add 2001:db8:2::/48 nexthop via 2001:db8:9::9 dev m nexthop via 2001:db8:8::9 dev d")
    here("ip -6 route add 2001:db8:3::/48 via 2001:db8:9::9 dev m")
    before = ways()
    vrf = "vrfs: {red: {table: 7, up: on, links: m}}\n"
    engine = engine_in("here", f"{FILE}{VXLAN.format(7, '')}  m: {{kind: macvlan, link: vx, up: on}}\n{vrf}")
    engine.apply(confirm_s=60.0)
    assert ways() != before
    engine.rollback()
    assert ways() == before
