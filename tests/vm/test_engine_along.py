# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that go or go down: told before, and given back after a refusal."""

import re

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.kept.theirs import give_back
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import plan_now
from tests.engine.universe import state_of
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, told

LINK = "link add e0 address 02:00:00:00:00:01 up type dummy"
GIVEN = (
    "address add 10.0.0.5/24 dev e0",
    "address add fd01::5/64 dev e0 nodad",
    "route add 203.0.113.9 via 10.0.0.2 dev e0 proto static",
    "route add 192.0.2.0/24 via 10.0.0.1 dev e0 proto dhcp metric 5",
    "route add 2001:db8:1::/48 via fd01::1 dev e0",
    "route add 10.9.0.0/16 via 10.0.0.1 dev e0 proto bgp",
    "route add 10.8.0.0/16 proto bgp nexthop via 10.0.0.1 dev e0 nexthop via 10.0.0.2 dev e0",
    "route add 10.7.0.0/16 proto bgp nexthop via 10.0.0.1 dev e0 nexthop via 10.1.0.2 dev e9",
    "route add 10.6.0.0/16 via 10.1.0.2 dev e9 proto static",
    "nexthop add id 7 via 10.0.0.1 dev e0",
    "nexthop add id 8 via fd01::1 dev e0 proto zebra",
    "route add 10.5.0.0/16 nhid 7 proto boot",
    "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev e0 proto static",
    "neighbour add proxy fd01::9 dev e0 proto static",
)
WHAT = (
    "what is not netgroupd's goes when links go, go down or change their VRF: addresses ({addresses}), nexthops (1), "
    "neighbours of proto static (2), routes of proto boot (2), routes of proto dhcp (1), routes of proto static (1), "
    "nexthops of proto zebra (1), routes of proto bgp ({bgp}) on e0"
)
TAKING = {
    "enters_a_vrf": "links: {v0: {kind: vrf, table: 100, up: true}, e0: {master: v0}}",
    "goes_down": "links: {x0: {kind: dummy}, e0: {up: false}, x1: {kind: dummy}}",
    "enters_a_bond": "links: {b0: {kind: bond, mode: active-backup, up: true, ports: e0}}",
}


def given() -> None:
    for command in ("link add e9 up type dummy", "address add 10.1.0.5/24 dev e9", *GIVEN):
        ip(command)


def lasting() -> list[str]:
    """What is there, but for what a routing daemon is to bring back."""
    shown = (
        "-o address show dev e0",
        "nexthop",
        "neighbour show nud permanent",
        "neighbour show proxy",
        "route",
        "-6 route",
    )
    lines = (line for command in shown for line in told("ip", *command.split()).splitlines())
    watched = ("proto bgp", "proto zebra", "nexthop via", "fe80::")
    return sorted(re.sub("^[0-9]+: ", "", line) for line in lines if not any(each in line for each in watched))


@pytest.mark.parametrize("goal", TAKING.values(), ids=TAKING)
def test_what_others_have_on_a_link_that_goes_down_is_told_and_given_back(kernel: Stumbling, goal: str) -> None:
    ip(LINK)
    given()
    wanted = state_of(goal, ("e0",))
    plan = plan_now(kernel, wanted, MINE)[0]
    assert plan.warnings == (WHAT.format(addresses=1, bgp=2),)
    there_and_back(kernel, wanted, lasting, refused=True)


OURS = "links: {{e0: {{kind: vxlan, id: {}, dstport: 4789, mac: '02:00:00:00:00:01', up: true}}, x0: {{kind: dummy}}}}"


@pytest.mark.parametrize("goal", [OURS.format(8), "links: {x1: {kind: dummy}}"], ids=["made_anew", "deleted"])
def test_what_others_have_on_a_link_of_ours_is_told_and_given_back(kernel: Stumbling, goal: str) -> None:
    become(kernel, state_of(OURS.format(7)))
    given()
    wanted = state_of(goal)
    assert plan_now(kernel, wanted, MINE)[0].warnings == (WHAT.format(addresses=2, bgp=3),)
    there_and_back(kernel, wanted, lasting, refused=True)


def groups() -> None:
    for command in (
        "link add e9 up type dummy",
        "address add 10.1.0.5/24 dev e9",
        "nexthop add id 9 via 10.1.0.2 dev e9",
        "nexthop add id 20 group 7,3/9",
        "nexthop add id 21 group 7/9 proto zebra",
        "nexthop add id 22 group 9",
        "nexthop add id 23 group 7 proto static",
        "route add 10.5.0.0/16 nhid 20",
    ):
        ip(command)


LOSE = "groups of nexthops that are not netgroupd's lose members: 20, 21 (proto zebra), 23 (proto static)"


def given_back() -> list[str]:
    return [line for line in told("ip", "nexthop").splitlines() if "zebra" not in line]


@pytest.mark.parametrize("down", ["e0: {up: false}", "v0: {kind: vrf, table: 100, up: true}, e0: {master: v0}"])
def test_groups_that_lose_a_nexthop_with_its_link_are_told_and_have_it_back(kernel: Stumbling, down: str) -> None:
    for command in (LINK, "address add 10.0.0.5/24 dev e0", "nexthop add id 7 via 10.0.0.1 dev e0"):
        ip(command)
    groups()
    wanted = state_of(f"links: {{{down}, x0: {{kind: dummy}}}}", ("e0",))
    assert LOSE in plan_now(kernel, wanted, MINE)[0].warnings
    there_and_back(kernel, wanted, given_back, refused=True)


HOP = "7: {via: 10.0.0.1, dev: e0}"
OUR_HOP = "links: {{e0: {{kind: dummy, up: true, addresses: 10.0.0.5/24}}}}\nnexthops: {{{}}}\n"


@pytest.mark.parametrize("goal", ["", HOP], ids=["deleted", "kept"])
def test_groups_that_lose_a_nexthop_of_ours_are_told_and_have_it_back(kernel: Stumbling, goal: str) -> None:
    become(kernel, state_of(OUR_HOP.format(HOP)))
    groups()
    wanted = state_of(OUR_HOP.format(goal))
    assert (LOSE in plan_now(kernel, wanted, MINE)[0].warnings) == (goal == "")
    there_and_back(kernel, wanted, given_back, refused=True)


TWO_HOPS = """
links: {{e0: {{kind: dummy, up: true, addresses: 10.0.0.5/24}}, {}: {{kind: dummy, up: true, addresses: 10.1.0.5/24}}}}
nexthops: {{{}: {{via: 10.0.0.1, dev: e0}}, 8: {{via: 10.1.0.1, dev: {}}}}}
"""


@pytest.mark.parametrize(("compatible", "where"), [(1, "on e1"), (0, "by nexthops")])
def test_routes_by_a_group_of_which_one_nexthop_is_deleted_and_one_goes_with_its_link_are_told_and_given_back(
    kernel: Stumbling, compatible: int, where: str
) -> None:
    become(kernel, state_of(TWO_HOPS.format("e1", 7, "e1")))
    told("sysctl", "-w", f"net.ipv4.nexthop_compat_mode={compatible}")
    ip("nexthop add id 20 group 7/8 proto zebra")
    ip("nexthop add id 21 group 7/8")
    ip("route add 10.9.0.0/16 nhid 20 proto zebra")
    ip("route add 10.8.0.0/16 nhid 21 proto static")
    assert plan_now(kernel, state_of(TWO_HOPS.format("e1", 9, "e1")), MINE)[0].warnings == (LOSE_TWO,)
    wanted = state_of(TWO_HOPS.format("e2", 9, "e2"))
    lost = f"routes of proto static (1), routes of proto zebra (1) {where}"
    went = f"what is not netgroupd's goes when links go, go down or change their VRF: {lost}"
    assert plan_now(kernel, wanted, MINE)[0].warnings == (went, LOSE_TWO)
    there_and_back(kernel, wanted, lambda: told("ip", "route", "show", "proto", "static"), refused=True)


LOSE_TWO = "groups of nexthops that are not netgroupd's lose members: 20 (proto zebra), 21"


def test_nothing_is_told_of_what_stays(kernel: Stumbling) -> None:
    ip(LINK)
    ip("address add fd01::5/64 dev e0 nodad")
    ip("address add 10.0.0.5/24 dev e0")
    down = state_of("links: {e0: {up: false}}", ("e0",))
    assert "addresses (1) on e0" in plan_now(kernel, down, MINE)[0].warnings[0]
    told("sysctl", "-w", "net.ipv6.conf.e0.keep_addr_on_down=1")
    assert not plan_now(kernel, down, MINE)[0].warnings
    ip("route add 192.0.2.0/24 via 10.0.0.1 dev e0 proto bgp")
    assert not plan_now(kernel, state_of("links: {e0: {mtu: 1400}, e1: {kind: vlan, link: e0, id: 7}}", ("e0",)), MINE)[
        0
    ].warnings


def test_gateway_that_is_set_in_the_kernels_name_is_told_and_given_back(kernel: Stumbling) -> None:
    ip(LINK)
    ip("address add 10.0.0.5/24 dev e0")
    ip("route add default via 10.0.0.1 dev e0 onlink proto kernel")  # as ifupdown2 does
    down = state_of("links: {e0: {up: false}}", ("e0",))
    assert "routes of proto kernel (1) on e0" in plan_now(kernel, down, MINE)[0].warnings[0]
    there_and_back(kernel, down, lambda: told("ip", "route", "show", "default"), refused=True)


def test_many_links_are_looked_at_at_once(kernel: Stumbling) -> None:
    links = "links: {{'e[0-19]': {{kind: dummy, up: {}}}}}"
    become(kernel, state_of(links.format("true")))
    for number in range(20):
        ip(f"address add 10.0.{number}.5/24 dev e{number}")
        ip(f"route add 10.1.{number}.0/24 via 10.0.{number}.1 proto zebra")
        ip(f"route add 10.2.{number}.0/24 via 10.0.{number}.1")
        ip(f"neighbour add 10.0.{number}.1 lladdr 02:00:00:00:00:01 dev e{number}")
        ip(f"nexthop add id {number + 1} via 10.0.{number}.1 dev e{number}")
    down = state_of(links.format("false"))
    (warning,) = plan_now(kernel, down, MINE)[0].warnings
    routes = "routes of proto boot (20), routes of proto zebra (20)"
    assert warning.endswith(f"nexthops (20), neighbours (20), {routes} on e[0-19]")
    there_and_back(kernel, down, lambda: told("ip", "route", "show", "proto", "boot"))


def test_what_is_there_again_stays_and_what_is_refused_keeps_nothing_else_away(kernel: Stumbling) -> None:
    ip(LINK)
    given()
    down = state_of("links: {e0: {up: false}}", ("e0",))
    plan, actual = plan_now(kernel, down, MINE)
    snapshot = Snapshot.of(plan, actual)
    become(kernel, down)
    ip("route add 192.0.2.0/24 via 10.1.0.2 dev e9 proto zebra metric 5")
    ip("address delete 10.0.0.5/24 dev e0")
    (warning,) = put_back(kernel, snapshot, MINE).warnings
    assert warning.startswith("what is not netgroupd's could not be given back: create ")
    assert "fd01::5" in told("ip", "address", "show", "dev", "e0")
    assert "2001:db8:1::/48 via fd01::1" in told("ip", "-6", "route")
    assert "via 10.1.0.2 dev e9 proto zebra" in told("ip", "route", "show", "192.0.2.0/24")
    assert "10.0.0.1" not in told("ip", "route", "show", "192.0.2.0/24")
    assert not give_back(kernel, (), MINE)
