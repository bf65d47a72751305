# SPDX-License-Identifier: GPL-2.0-or-later
"""What a repair of some links brings back, and what it leaves as it is."""

import pytest

from netgroupd.engine.repair import Belonging, only
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value


def link(name: str, **attrs: Value) -> Object:
    return Object("link", (name,), attrs)


def address(name: str, prefix: str) -> Object:
    return Object("address", (name, prefix, None), {})


def route(to: str, table: int = 254, **attrs: Value) -> Object:
    return Object("route", ("inet", table, to, 0, 0), attrs)


def nexthop(number: int, **attrs: Value) -> Object:
    return Object("nexthop", (number,), attrs)


HOST = State(
    (
        link("d0", kind="dummy"),
        link("d1", kind="dummy", master="blue"),
        link("d2", kind="dummy"),
        link("blue", kind="vrf", table=1001),
        address("d1", "10.1.0.1/24"),
        address("d2", "10.1.0.2/24"),
        nexthop(6, via="10.1.0.9"),
        nexthop(7, dev="d0"),
        nexthop(8, group=({"id": 6}, {"id": 7})),
    )
)


@pytest.mark.parametrize(
    ("obj", "links"),
    [
        (link("d0"), ["d0"]),
        (address("d0", "10.2.0.1/24"), ["d0"]),
        (Object("rule", (5,), {}), [""]),
        (Object("sysctl", ("net/ipv4/conf/d0/forwarding",), {}), ["d0"]),
        (Object("sysctl", ("net/ipv4/conf/all",), {}), [""]),
        (Object("sysctl", ("net/ipv4/ip_forward",), {}), [""]),
        (route("10.9.0.0/16", dev="d0", via="10.1.0.9"), ["d0"]),
        (route("10.9.0.0/16", via="10.1.0.9"), ["d2"]),
        (route("10.9.0.0/16", 1001, via="10.1.0.9"), ["d1"]),
        (route("10.9.0.0/16", via="192.0.2.1"), []),
        (route("10.9.0.0/16", nhid=7), ["d0"]),
        (route("10.9.0.0/16", 1001, nhid=8), ["d2", "d0"]),
        (route("10.9.0.0/16", nhid=9), []),
        (route("10.9.0.0/16", nexthops=({"via": "10.1.0.9"}, {"dev": "d0"})), ["d2", "d0"]),
        (nexthop(1, via="10.1.0.9"), ["d2"]),
        (nexthop(1, group=({"id": 7}, {"id": 6})), ["d0", "d2"]),
    ],
)
def test_links_that_an_object_goes_by(obj: Object, links: list[str]) -> None:
    belonging = Belonging(HOST)
    assert [*belonging.links_of(obj)] == links
    assert belonging.link_of(obj) == (links[0] if links else "")


def goal(applied: list[Object], actual: list[Object], *names: str) -> dict[tuple[Value, ...], dict[str, Value]]:
    return {obj.key: dict(obj.attrs) for obj in only(State(applied), State(actual), frozenset(names))}


def test_links_below_that_are_gone_come_back_too_and_what_is_there_stays_as_it_is() -> None:
    there = [link("d0", mtu=1400, kind="dummy"), link("mgmt", kind="dummy", group=7, link="d0", master="d0", mtu=9000)]
    applied = [
        link("d0", mtu=1500, kind="dummy", alias="uplink"),
        link("br", kind="bridge", master="of_others"),
        link("v10", kind="vlan", link="d0", master="br"),
        link("v20", kind="vlan", link="d0"),
        link("top", kind="macvlan", link="v10"),
    ]
    as_they_are = {("d0",): {"mtu": 1400, "kind": "dummy"}}
    as_they_are |= {("mgmt",): {"kind": "dummy", "group": 7, "link": "d0", "master": "d0"}}
    back = {("br",), ("v10",), ("top",)}
    assert goal(applied, there, "top") == as_they_are | {obj.key: obj.attrs for obj in applied if obj.key in back}
    assert goal(applied, there) == goal(applied, there, "of_others") == as_they_are


def test_what_the_link_has_besides_goes_and_what_the_kernel_says_is_by_way_of_it_comes_back() -> None:
    applied = [link("d0", kind="dummy"), address("d0", "10.1.0.1/24"), route("10.9.0.0/16", via="10.7.0.9")]
    there = [link("d0", kind="dummy"), address("d0", "10.2.0.1/24"), route("10.9.0.0/16", via="10.7.0.8", dev="d0")]
    assert goal(applied, there, "d0") == {obj.key: obj.attrs for obj in applied}
    assert goal(applied, there) == {obj.key: obj.attrs for obj in there}
