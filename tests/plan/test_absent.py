# SPDX-License-Identifier: GPL-2.0-or-later
"""What is to be done for hardware that is not there, and everything on it: nothing yet."""

import sys

import pytest

from netgroupd.model.state import Object, State, records
from netgroupd.plan.absent import without_absent
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from tests.engine.universe import state_of

HOST = """
links:
  swp[1-2]: {up: true, addresses: ["10.0.{1}.1/24"]}
  bond0: {kind: bond, mode: active-backup, primary: swp1, up: true}
  br-[v=10-11]: {kind: bridge, ports: "swp[1-2].{v}", up: true}
  top: {kind: macvlan, link: swp1.12}
vrfs: {red: {table: 100, links: top}}
nexthops: {1: {via: 10.0.1.9, dev: swp1}, 2: {via: 10.0.2.9, dev: swp2}, 3: {group: [{id: 1}]}}
"""
ROUTES = {
    "its_link": "{to: 10.8.0.0/16, dev: swp1}",
    "a_link_above": "{to: 10.8.0.0/16, dev: top}",
    "a_gateway_beyond": "{to: 10.8.0.0/16, via: 10.0.1.9}",
    "its_source": "{to: 10.8.0.0/16, dev: swp2, src: 10.0.1.1}",
    "its_nexthop": "{to: 10.8.0.0/16, nhid: 1}",
    "a_group_of_nexthops": "{to: 10.8.0.0/16, nhid: 3}",
}


def hardware(name: str) -> Object:
    return Object("link", (name,), {"mtu": 1500})


def attainable(text: str, *there: str) -> State:
    return without_absent(state_of(text), State(map(hardware, there)))[0]


def test_state_that_needs_nothing_absent_is_the_same_state() -> None:
    wanted = state_of(HOST)
    assert without_absent(wanted, State(map(hardware, ("swp1", "swp2")))) == (wanted, frozenset(), ())


def test_everything_on_absent_hardware_waits_and_the_rest_does_not() -> None:
    state = attainable(HOST, "swp2")
    got = {link.name for link in state.of("link").values()}
    assert got == {"swp2", "bond0", "br-10", "br-11", "red", "swp2.10", "swp2.11"}
    assert [obj.key[1] for obj in state.of("address").values()] == ["10.0.2.1/24"]
    bond = state.link("bond0")
    assert bond
    assert "primary" not in bond.attrs


@pytest.mark.parametrize(
    ("link", "waiting"),
    [
        ("{kind: bond, mode: active-backup, active_slave: swp1}", {"active_slave"}),
        ("{kind: dummy, master: br, port: {backup_port: swp1, cost: 5}}", {"port.backup_port"}),
        ("{kind: dummy, master: swp1}", {"master"}),
    ],
)
def test_of_what_a_link_can_do_without_only_that_waits(link: str, waiting: set[str]) -> None:
    text = f"links: {{swp1: {{}}, br: {{kind: bridge}}, this: {link}}}"
    want, got = state_of(text).link("this"), attainable(text).link("this")
    assert want
    assert got
    assert want.attrs.keys() - got.attrs.keys() == waiting


@pytest.mark.parametrize("kind", ["vxlan, id: 7", "gre, local: 10.0.2.1, remote: 10.0.2.2"])
def test_tunnel_waits_for_its_link_unless_it_is_there(kind: str) -> None:
    text = f"links: {{swp1: {{}}, swp2: {{}}, over: {{kind: {kind}, dev: swp1}}}}"
    assert attainable(text, "swp1").link("over")
    assert not attainable(text, "swp2").link("over")
    over = attainable(text, "swp2", "over").link("over")
    assert over
    assert "dev" not in over.attrs


@pytest.mark.parametrize("missing", ["swp1", "swp2", "swp3"])
def test_ring_waits_for_each_of_its_links(missing: str) -> None:
    text = "links: {'swp[1-3]': {}, ring: {kind: hsr, slave1: swp1, slave2: swp2, interlink: swp3}}"
    there = {"swp1", "swp2", "swp3"}
    assert attainable(text, *there).link("ring")
    assert not attainable(text, *(there - {missing})).link("ring")


STAYING = {
    "a_source_that_is_there": "{to: 10.9.0.0/16, dev: swp2, src: 10.0.2.1}",
    "a_gateway_that_is_told_to_be_elsewhere": "{to: 10.9.0.0/16, via: 10.0.1.9, dev: swp2, onlink: true}",
    "a_gateway_in_a_network_that_two_links_are_in": "{to: 10.9.0.0/16, via: 10.7.0.9}",
}
SHARED = HOST.replace("swp[1-2]: {up: true, addresses: [", 'swp[1-2]: {up: true, addresses: ["10.7.0.{1}/24", ')


@pytest.mark.parametrize("way", STAYING)
def test_route_that_goes_another_way_does_not_wait(way: str) -> None:
    assert attainable(f"{SHARED}routes: [{STAYING[way]}]\n", "swp2").of("route")


@pytest.mark.parametrize("way", ROUTES)
def test_route_by_way_of_absent_hardware_waits(way: str) -> None:
    text = f"{HOST}routes: [{ROUTES[way]}, {{to: 10.9.0.0/16, via: 10.0.2.9}}]\n"
    assert [key[2] for key in attainable(text, "swp2").of("route")] == ["10.9.0.0/16"]


def test_route_with_several_ways_has_those_that_are_there() -> None:
    text = f"{HOST}routes: [{{to: 10.9.0.0/16, nexthops: [{{dev: swp1}}, {{dev: swp2}}]}}]\n"
    (route,) = attainable(text, "swp2").of("route").values()
    assert route.attrs == {"dev": "swp2"}  # as the kernel has a single one


def test_group_of_nexthops_has_those_that_are_there() -> None:
    group = "{group_type: resilient, buckets: 8, group: [{id: 1}, {id: 2}]}"
    text = f"{HOST.replace('{group: [{id: 1}]}', group)}routes: [{{to: 10.9.0.0/16, nhid: 3}}]\n"
    state = attainable(text, "swp2")
    there = state.of("nexthop")[3,].attrs
    assert ([member["id"] for member in records(there, "group")], there["group_type"]) == ([2], "resilient")
    assert [key[2] for key in state.of("route")] == ["10.9.0.0/16"]


@pytest.mark.parametrize(
    ("links", "warnings"),
    [
        ("'swp[1-3].5': {}", ("not there yet, and configured when they come: swp[1,3] and 2 objects on them",)),
        ("swp2.5: {}", ("not there yet, and configured when they come: swp[1,3]",)),
        ("swp3.5: {}", ("not there yet, and configured when they come: swp[1,3] and 1 object on them",)),
    ],
)
def test_plan_says_what_waits(links: str, warnings: tuple[str, ...]) -> None:
    plan = assemble(state_of(f"links: {{'swp[1-3]': {{up: true}}, {links}}}"), State([hardware("swp2")]), Owned())
    assert plan.warnings == warnings


def _calls(count: int) -> int:
    """How many functions find out what waits, with that many subnets on absent hardware and routes by way of them."""
    numbers = [f"10.{number >> 8}.{number & 0xFF}" for number in range(count)]
    wanted = State(Object("address", ("swp1", f"{number}.1/24", None), {}) for number in numbers)
    wanted.add(Object("link", ("swp1",), {}))
    for number in numbers:
        wanted.add(Object("route", ("inet", 254, f"{number}.128/25", 0, 0), {"via": f"{number}.9"}))
    calls = 0

    def count_call(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count_call)
    try:
        left, _, _ = without_absent(wanted, State())
    finally:
        sys.setprofile(None)
    assert not left.of("route")
    return calls


def test_twice_the_subnets_and_gateways_are_twice_the_work() -> None:
    assert _calls(200) < 2.2 * _calls(100)


@pytest.mark.parametrize(("via", "waits"), [("10.0.0.9", True), ("10.0.1.9", False), ("fd00::9", True)])
def test_gateway_waits_with_the_network_at_the_other_end_of_its_address(via: str, waits: bool) -> None:
    addresses = [("swp1", "192.0.2.1/24", "10.0.0.1"), ("swp1", "fd00::1/64", None)]
    route = Object("route", ("", 254, "", 0, 0), {"via": via})
    wanted = State([Object("link", ("swp1",), {}), *(Object("address", key, {}) for key in addresses), route])
    assert (not without_absent(wanted, State())[0].of("route")) == waits


BLOCK = """
links: {swp1: {}, swp2: {}, d0: {kind: dummy}}
actions: {mirred 7: {egress: redirect, dev: swp1}, mirred 8: {egress: redirect, dev: swp2}}
tc:
  swp1: {ingress_block: 7}
  d0: {ingress: [{pref: 1, matchall: {}, action: mirred 7}, {pref: 2, matchall: {}, action: mirred 8}]}
  block 7: {filters: {pref: 1, matchall: {}, action: drop}}
"""
IN_IT = Object("qdisc", ("other0", "clsact"), {"kind": "clsact", "ingress_block": 7, "in_use": True})
LEAVING_IT = Object("qdisc", ("swp2", "clsact"), {"kind": "clsact", "ingress_block": 7, "in_use": False})


def test_rules_of_a_block_wait_for_the_first_link_that_is_in_it() -> None:
    def rules(text: str, *there: Object) -> list[object]:
        wanted = without_absent(state_of(text), State([hardware("swp2"), *there]))[0]
        return [key[0] for key in wanted.of("filter") if key[0] != "d0"]

    assert rules(BLOCK) == []
    assert rules(BLOCK, hardware("swp1")) == ["block 7"]
    assert rules(BLOCK, IN_IT) == ["block 7"]
    assert rules(BLOCK, LEAVING_IT) == []
    assert rules(f"{BLOCK}  swp2: {{egress_block: 7}}\n") == ["block 7"]


def test_rules_wait_with_the_shared_action_that_they_have() -> None:
    state = attainable(BLOCK, "swp2")
    assert list(state.of("action")) == [("mirred", 8)]
    assert [key[3] for key in state.of("filter")] == [2]
