# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel takes away by itself, fact by fact: the guests show that it does, this that nothing is forgotten."""

from collections.abc import Sequence

import pytest

from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.fate import (
    Fate,
    Losses,
    carried_down,
    evicted,
    followers,
    hangs_on,
    muted,
    resized_ports,
    why_muted,
)
from netgroupd.plan.step import Op, Step

KINDS_ABOVE = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "ipoib", "rmnet")


def links(**kinds: dict[str, Value]) -> dict[Key, Object]:
    return {(name,): Object("link", (name,), attrs) for name, attrs in kinds.items()}


def above(kind: str, **attrs: Value) -> dict[str, Value]:
    return {"kind": kind, "link": "d0", **attrs}


@pytest.mark.parametrize("kind", KINDS_ABOVE)
def test_what_stands_on_a_link_goes_with_it(kind: str) -> None:
    there = links(d0={}, up=above(kind), top=above(kind, link="up"), tunnel=above("gre"), vx={"kind": "vxlan"})
    assert {*followers(["d0"], there)} == {("up", "d0"), ("top", "up")}


def test_tunnel_of_a_vxlan_goes_with_the_link_that_it_sends_by_and_one_end_of_a_pair_with_the_other() -> None:
    there = links(d0={}, vx=above("vxlan", link="other", dev="d0"), a={"kind": "veth", "peer": "d0"})
    assert {*followers(["d0"], there)} == {("vx", "d0"), ("a", "d0")}


def test_masters_of_some_kinds_follow_where_that_is_asked_for() -> None:
    there = links(d0={"master": "br"}, d1={"master": "b"}, br={"kind": "bridge"}, b={"kind": "bond"})
    assert [*followers(["d0", "d1"], there)] == []
    assert [*followers(["d0", "d1"], there, masters={"bridge"})] == [("br", "d0")]


def test_links_that_are_gone_when_the_one_below_moves_away() -> None:
    there = links(d0={}, s=above("macsec"), vx={"kind": "vxlan", "dev": "d0"}, v=above("vlan"))
    assert {*evicted(["d0"], there)} == {("s", "d0"), ("vx", "d0")}


def test_vlans_go_down_with_the_link_below_but_for_those_that_are_bound_loosely() -> None:
    there = links(d0={}, v=above("vlan"), loose=above("vlan", loose_binding=True), m=above("macvlan"))
    assert [*carried_down(["d0"], there)] == [("v", "d0")]


def test_ports_of_bonds_and_teams_have_their_mtu() -> None:
    there = links(
        b={"kind": "bond", "master": "t"},
        t={"kind": "team"},
        br={"kind": "bridge"},
        d0={"master": "b"},
        d1={"master": "br"},
        d2={},
    )
    assert {*resized_ports({"t", "br"}, there)} == {"b", "d0"}


def shrunk(name: str, mtu: int) -> Step:
    return Step(Op.CHANGE, Object("link", (name,), {}), Object("link", (name,), {"mtu": mtu}), {"mtu": mtu})


def setting(name: str, value: str, what: str = "disable_ipv6", tree: str = "net/ipv6/conf") -> Step:
    obj = Object("sysctl", (f"{tree}/{name}/{what}",), {"value": value})
    return Step(Op.CREATE, None, obj, {"value": value})


STACK = links(
    d0={"master": "br"},
    d1={},
    br={"kind": "bridge", "master": "top"},
    top={"kind": "bridge"},
    gre=above("gre"),
    **{kind: above(kind) for kind in KINDS_ABOVE[:6]},
)
ON_D0 = {"d0", "br", "top", *KINDS_ABOVE[:6]}


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        ([shrunk("d0", 1279)], {(name, "inet6") for name in ON_D0}),
        ([shrunk("d0", 1280)], set()),
        ([shrunk("d1", 67)], {("d1", "inet"), ("d1", "inet6")}),
        ([shrunk("d1", 68)], {("d1", "inet6")}),
        ([setting("d1", "1")], {("d1", "inet6")}),
        ([setting("all", "1")], {(name, "inet6") for (name,) in STACK}),
        ([setting("d1", "0")], set()),
        ([setting("d1", "1", "accept_ra")], set()),
        ([setting("d1", "1", tree="net/ipv4/conf")], set()),
    ],
)
def test_links_that_lose_a_family(steps: Sequence[Step], lost: set[tuple[str, str]]) -> None:
    assert muted(steps, STACK).keys() == lost


def test_link_that_is_told_otherwise_than_all_lacks_ipv6_for_a_moment_and_not_for_good() -> None:
    steps = [setting("all", "1"), setting("d1", "0")]
    assert muted(steps, STACK)["d1", "inet6"] == "IPv6 is disabled on d1 for a moment"
    assert muted(steps, STACK).keys() - muted(steps, STACK, for_good=True).keys() == {("d1", "inet6")}


@pytest.mark.parametrize(
    ("obj", "families"),
    [
        (Object("address", ("d", "10.0.0.1/8", None), {}), {"inet"}),
        (Object("address", ("d", "2001:db8::1/64", None), {}), {"inet6"}),
        (Object("neighbour", ("d", "2001:db8::1"), {}), {"inet6"}),
        (Object("token", ("d",), {}), {"inet6"}),
        (Object("route", ("inet6", 254, "2001:db8::/64", 0, 0), {"dev": "d"}), {"inet6"}),
        (Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"nexthops": ({"dev": "e"}, {"dev": "d"})}), {"inet"}),
        (Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"nhid": 7}), set()),
        (Object("fdb", ("d", "02:00:00:00:00:01", 0, "self"), {}), set()),
    ],
)
def test_what_is_lost_with_a_family(obj: Object, families: set[str]) -> None:
    assert {family for family in ("inet", "inet6") if why_muted(obj, {("d", family): "why"})} == families
    assert why_muted(obj, {}) == ""


@pytest.mark.parametrize(
    ("obj", "names"),
    [
        (Object("sysctl", ("net/ipv4/conf/d/forwarding",), {}), ("d",)),
        (Object("sysctl", ("net/ipv4/neigh/d/mcast_solicit",), {}), ("d",)),
        (Object("sysctl", ("net/ipv4/conf/d",), {}), ()),
        (Object("sysctl", ("net/ipv4/route/flush/it",), {}), ()),
        (Object("action", ("gact", 1), {}), ()),
        (Object("rule", (5,), {}), ()),
        (Object("mdb", ("br", "d", "239.0.0.1"), {}), ("br", "d")),
    ],
)
def test_links_that_an_object_hangs_on(obj: Object, names: tuple[str, ...]) -> None:
    assert hangs_on(obj) == names


BY_D = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"dev": "d"})
BY_EITHER = Object("route", ("inet", 254, "10.0.0.0/8", 0, 5), {"nexthops": ({"dev": "d"}, {"dev": "e"})})
LABELLED = Object("route", ("mpls", 254, "100", 0, 0), {"dev": "d"})
OF_IPV4, OF_IPV6 = (Object("address", ("d", address, None), {}) for address in ("10.0.0.1/8", "2001:db8::1/64"))
LEARNED, OF_CARD = (Object("fdb", ("d", "02:00:00:00:00:01", 0, where), {}) for where in ("master", "self"))
TAGGED, OF_BRIDGE = Object("bridge_vlan", ("d", 5), {}), Object("vlan_global", ("d", 5), {})
BY_PORT = Object("mdb", ("br", "d", "239.0.0.1"), {})
NEXTHOP, OTHER = (Object("nexthop", (number,), {"dev": dev}) for number, dev in ((7, "d"), (8, "e")))
ALL = (BY_D, BY_EITHER, LABELLED, OF_IPV4, OF_IPV6, LEARNED, OF_CARD, TAGGED, OF_BRIDGE, BY_PORT, NEXTHOP, OTHER)


def losses(**fate: dict[str, str]) -> Losses:
    actual = State()
    actual.classes = {"nexthop": {obj.key: obj for obj in (NEXTHOP, OTHER)}}
    return Losses(Fate(**{"gone": {}, "cycled": {}, "moved": {}, **fate}), actual)


@pytest.mark.parametrize(
    ("fate", "lost"),
    [
        pytest.param({"gone": {"d": "why"}}, [obj for obj in ALL if obj is not OTHER], id="that_goes"),
        pytest.param({"cycled": {"d": "why"}}, [BY_D, BY_EITHER, OF_IPV6, NEXTHOP], id="that_goes_down_for_a_moment"),
        pytest.param({"moved": {"d": "why"}}, [LEARNED, TAGGED, OF_BRIDGE, BY_PORT], id="that_leaves_its_bridge"),
        pytest.param({}, [], id="that_nothing_happens_to"),
    ],
)
def test_what_is_lost_with_a_link(fate: dict[str, dict[str, str]], lost: Sequence[Object]) -> None:
    of = losses(**fate)
    assert [obj for obj in ALL if of.why(obj)] == lost


def test_entry_of_a_bridge_goes_with_its_port_alone_and_a_route_with_all_of_its_links() -> None:
    of = losses(gone={"d": "why"})
    assert [obj for obj in ALL if not of.goes_by_itself(obj)] == [BY_EITHER, OTHER]
    assert losses(gone={"d": "why", "e": "why"}).goes_by_itself(BY_EITHER)
    assert not losses(cycled={"d": "why"}).goes_by_itself(BY_D)


def test_nexthops_that_no_link_takes_along_outlast_it() -> None:
    assert losses(gone={"d": "why"}).outlast((NEXTHOP, OTHER)) == {OTHER.key}
