# SPDX-License-Identifier: GPL-2.0-or-later
"""What other tools, DHCP, routers and the kernel gave, taken over on a real kernel, and given back to them."""

from itertools import repeat

import pytest

from netgroupd.engine.transaction import plan_now
from netgroupd.errors import VerifyError
from netgroupd.model.state import State
from netgroupd.plan.nets import nets
from tests.engine.universe import state_of
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, told
from tests.waiting import eventually

GIVEN_BY_OTHERS = (
    "link add e0 up type veth peer e1",
    "link set e1 up",
    "link set lo up",
    "address add 10.0.0.5/24 dev e0",
    "address add 10.0.0.6/24 dev e0 valid_lft 500 preferred_lft 400",
    "address add fd01::5/64 dev e0 nodad",
    "address add fd01::6/64 dev e0 nodad valid_lft 500 preferred_lft 400",
    "address add fd01::7/128 dev e0 nodad valid_lft 500 preferred_lft 400",
    "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev e0",
    "neighbour add 10.0.0.7 lladdr 02:00:00:00:00:07 dev e0 nud reachable proto zebra",
    "neighbour add proxy 10.0.0.8 dev e0",
    "nexthop add id 7 via 10.0.0.1 dev e0",
    "nexthop add id 8 via 10.0.0.1 dev e0 proto zebra",
    "nexthop add id 9 group 7/8",
    "route add 192.0.2.0/24 via 10.0.0.1 dev e0 proto static",
    "route add 2001:db8:1::/48 via fd01::1 dev e0",
    "route add default via 10.0.0.1 dev e0 proto dhcp src 10.0.0.6",
    "route add default via fd01::1 dev e0 proto ra metric 1024 expires 500",
    "rule add pref 9 lookup 100",
    "rule add pref 10 from 10.1.0.0/16 lookup 100 suppress_prefixlength 0",
    "-6 rule add pref 10 fwmark 1 lookup 100 protocol unspec",
)
TAKING_OVER = """
links:
  x[1-3]: {kind: bridge}
  lo: {addresses: ["::1/128", 127.0.0.1/8]}
  e0: {addresses: ["10.0.0.[5-6]/24", "fd01::[5-7]/64"]}
neighbours: [{dev: e0, ip: "10.0.0.[7,9]", lladdr: "02:00:00:00:00:08"}, {dev: e0, ip: 10.0.0.8, proxy: true}]
nexthops: {"[7-8]": {via: 10.0.0.2, dev: e0}, 9: {group: [{id: 7}, {id: 8, weight: 2}]}}
routes:
  - {to: 192.0.2.0/24, via: 10.0.0.2, dev: e0}
  - {to: "2001:db8:1::/48", via: "fd01::2", dev: e0}
  - {to: 0.0.0.0/0, via: 10.0.0.2, dev: e0}
  - {to: "::/0", via: "fd01::2", dev: e0}
rules:
  - {pref: 9, lookup: 200}
  - {pref: 10, from: 10.1.0.0/16, lookup: 100}
  - {pref: 10, family: inet6, fwmark: 1, lookup: 100}
"""


def test_link_of_somebody_that_has_the_last_index_leaves_room_for_others(kernel: Stumbling) -> None:
    ip("link add theirs index 2147483647 type dummy")
    there_and_back(kernel, state_of("links: {d: {kind: dummy}, d.5: {}, v: {kind: veth, peer: w}, w: {}}"))


@pytest.mark.vm("stock")  # the messages are the same on both
def test_what_others_gave_is_theirs_again_after_a_refusal(kernel: Stumbling) -> None:
    for command in GIVEN_BY_OTHERS:
        ip(command)
    goal = state_of(TAKING_OVER, ("e0", "e1", "lo"))
    there_and_back(kernel, goal, lambda: told("ip", "rule") + told("ip", "-6", "rule"), refused=True)
    assert not plan_now(kernel, State(), MINE)[0].steps


def test_what_others_gave_becomes_netgroupds_for_good_and_goes_when_it_is_wanted_no_more(kernel: Stumbling) -> None:
    for command in GIVEN_BY_OTHERS:
        ip(command)
    goal = state_of(TAKING_OVER, ("e0", "e1", "lo"))
    plan = plan_now(kernel, goal, MINE)[0]
    made = {net.object.key for net in nets(plan) if net.sign == "+"}
    assert made == {("x1",), ("x2",), ("x3",), ("e0", "fd01::7/64", None)}  # the last one in the place of another
    become(kernel, goal)
    assert not plan_now(kernel, goal, MINE)[0].steps
    assert "valid_lft 4" not in told("ip", "address")
    assert "expires" not in told("ip", "-6", "route", "show", "proto", "78")
    become(kernel, State())
    assert "lookup 100" not in told("ip", "rule") + told("ip", "-6", "rule")
    assert not told("ip", "nexthop")


OURS = "{to: 192.0.2.0/24, via: 10.0.0.1, dev: e0}"
CHANGED = OURS.replace("10.0.0.1", "10.0.0.2")
BESIDE_OTHERS = {
    "another_gateway": f"routes: [{CHANGED}]",
    "another_metric_of_it": f"routes: [{OURS.replace('}', ', mtu: 1400}')}]",
    "wanted_no_more": "{}",
}


@pytest.mark.parametrize("wanted", BESIDE_OTHERS.values(), ids=BESIDE_OTHERS)
@pytest.mark.parametrize("how", ["prepend", "append"])
def test_routes_of_others_beside_ours_stay_where_they_are(kernel: Stumbling, how: str, wanted: str) -> None:
    for command in ("link add e0 up type dummy", "address add 10.0.0.5/24 dev e0"):
        ip(command)
    for command in ("link add e1 up type dummy", "address add 10.0.1.5/24 dev e1"):
        ip(command)
    become(kernel, state_of(f"routes: [{OURS}]", ("e0", "e1")))
    ip(f"route {how} 192.0.2.0/24 via 10.0.1.9 proto static")
    ip(f"route {how} 192.0.2.0/24 via 10.0.1.8 proto bird")
    there_and_back(
        kernel, state_of(wanted, ("e0", "e1")), lambda: told("ip", "route", "show", "192.0.2.0/24"), refused=True
    )
    assert "10.0.1.9" in told("ip", "route", "show", "proto", "static")
    assert "10.0.1.8" in told("ip", "route", "show", "proto", "bird")


@pytest.mark.parametrize("how", ["prepend", "append"])
def test_routes_of_others_beside_ours_stay_when_that_goes_with_its_link_meanwhile(kernel: Stumbling, how: str) -> None:
    for command in ("link add e1 up type dummy", "address add 10.0.1.5/24 dev e1"):
        ip(command)

    def goal(number: int, route: str) -> State:
        link = f"e0: {{kind: vxlan, id: {number}, dstport: 4789, up: true, addresses: [10.0.0.5/24]}}"
        return state_of(f"links: {{{link}}}\nroutes: [{route}]", ("e1",))

    become(kernel, goal(7, OURS))
    ip(f"route {how} 192.0.2.0/24 via 10.0.1.9 proto static")
    for route in (OURS, CHANGED):
        there_and_back(kernel, goal(8, route), lambda: told("ip", "route", "show", "192.0.2.0/24"), refused=True)


def test_route_of_a_file_is_beside_the_one_that_comes_with_the_address(kernel: Stumbling) -> None:
    link = "e0: {kind: dummy, up: true, addresses: [10.0.0.5/24]}"
    goal = state_of(f"links: {{{link}}}\nroutes: [{{to: 10.0.0.0/24, dev: e0, mtu: 1400}}]")
    there_and_back(kernel, goal, lambda: told("ip", "route"), refused=True)


def test_routes_of_others_that_go_with_a_nexthop_are_told(kernel: Stumbling) -> None:
    for command in ("link add e0 up type dummy", "address add 10.0.0.5/24 dev e0", "address add fd01::5/64 dev e0"):
        ip(command)
    become(kernel, state_of("nexthops: {7: {via: 10.0.0.1, dev: e0}, 8: {via: 'fd01::1', dev: e0}}", ("e0",)))
    for command in (
        "nexthop add id 9 group 7 proto zebra",
        "nexthop add id 6 via 10.0.0.6 dev e0",
        "nexthop add id 10 group 7/6",
        "route add 10.9.0.0/16 nhid 7 proto static",
        "route add 10.8.0.0/16 table 100 nhid 9 proto zebra",
        "route add 10.7.0.0/16 nhid 10",
        "route add 2001:db8::/32 nhid 8",
    ):
        ip(command)
    warning, groups = plan_now(kernel, State(), MINE)[0].warnings
    assert groups == "groups of nexthops that are not netgroupd's lose members: 9 (proto zebra), 10"
    assert sorted(warning.partition(": ")[2].split(", ")) == [
        "10.8.0.0/16 table 100 by nexthop 9 (proto zebra)",
        "10.9.0.0/16 by nexthop 7 (proto static)",
        "2001:db8::/32 by nexthop 8 (proto boot)",
    ]
    become(kernel, State())
    assert "10.7.0.0/16" in told("ip", "route")


FORWARDING = """
links: {vx0: {kind: vxlan, id: 7, dstport: 4789, up: true}}
nexthops: {2: {via: 192.0.2.1, fdb: true}, 3: {group: [{id: 2}], fdb: true}, 1: {group: [{id: 2}], fdb: true}}
fdb: [{dev: vx0, mac: "02:00:00:00:00:07", where: self, nhid: 3}]
"""


def test_forwarding_entry_outlasts_the_nexthop_that_takes_its_group_along(kernel: Stumbling) -> None:
    for command in ("link add vx0 up type vxlan id 7 dstport 4789", "nexthop add id 1 via 192.0.2.1 fdb"):
        ip(command)
    ip("nexthop add id 3 group 1 fdb")
    told("bridge", "fdb", "add", "02:00:00:00:00:07", "dev", "vx0", "self", "nhid", "3")
    there_and_back(kernel, state_of(FORWARDING, ("vx0",)), lambda: told("bridge", "fdb"), refused=True)


def test_address_that_others_gave_another_scope_does_not_keep_those_beside_it_away(kernel: Stumbling) -> None:
    for command in ("link add e0 up type dummy", "address add 10.0.0.5/24 dev e0 label e0:x scope link"):
        ip(command)
    addresses = "[{address: 10.0.0.5/24, label: e0, scope: global}, 10.0.0.6/24]"
    goal = state_of(f"links: {{e0: {{addresses: {addresses}}}}}", ("e0",))
    there_and_back(kernel, goal)


def test_what_others_have_on_a_link_that_was_down_is_there_when_it_is_down_again(kernel: Stumbling) -> None:
    ip("link add e0 type dummy")
    ip("address add fd01::5/64 dev e0 nodad")
    ip("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev e0 proto static")
    goal = state_of("links: {e0: {up: true}, x: {kind: bridge}}", ("e0",))
    there_and_back(kernel, goal, lambda: told("ip", "-o", "-6", "address") + told("ip", "neigh"), refused=True)


def test_haste_of_a_bridge_whose_topology_changes_is_no_difference(kernel: Stumbling) -> None:
    bridge = "{kind: bridge, up: true, stp: true, forward_delay: 200, ageing_time: 60000, ports: d0}"
    goal = state_of(f"links: {{d0: {{kind: dummy, up: true}}, br0: {bridge}}}")
    become(kernel, goal)
    # It listens and learns for two seconds each.
    eventually(lambda: "topology_change 1" in told("ip", "-details", "link", "show", "br0"))
    assert "ageing_time 400 " in told("ip", "-details", "link", "show", "br0")
    assert not plan_now(kernel, goal, MINE)[0].steps


@pytest.mark.parametrize("times", [1, 9])
def test_neighbour_is_made_again_that_went_with_the_mac_that_udev_gives_a_new_link(
    kernel: Stumbling, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """A moment after a bridge is there udev gives it another MAC, with which the kernel forgets its neighbours."""
    macs = repeat(("02:00:00:00:00:77", "02:00:00:00:00:78"), times)

    def apply(*steps: object) -> object:
        refused = Stumbling.apply(kernel, *steps)  # type: ignore[arg-type]
        for mac in next(macs, ()):
            ip(f"link set b0 address {mac}")
        return refused

    monkeypatch.setattr(kernel, "apply", apply)
    goal = state_of(
        "links: {b0: {kind: bridge, up: true, addresses: 10.0.0.1/24}}\n"
        "neighbours: [{dev: b0, ip: 10.0.0.9, lladdr: 02:00:00:00:00:09}]\n"
    )
    if times > 1:
        with pytest.raises(VerifyError, match="neighbour b0"):
            become(kernel, goal)
    else:
        become(kernel, goal, at_once=False)
        assert "02:00:00:00:00:09" in told("ip", "-n", "engine", "neighbour", "show", "dev", "b0")
