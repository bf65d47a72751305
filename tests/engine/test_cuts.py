# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans that would cut or change the way of a session, or lead it elsewhere, are refused before anything is sent."""

from contextlib import nullcontext

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.guard.cuts import ways_of
from netgroupd.engine.session import CONSOLE, Session
from netgroupd.errors import GuardError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from tests.engine.desk import Desk

UPLINK = [
    Object("link", ("eth0",), {"kind": "", "up": True, "group": 0x4E470000, "mtu": 1500}),
    Object(
        "link", ("eth0.5",), {"kind": "vlan", "link": "eth0", "id": 5, "up": True, "group": 0x4E470000, "mtu": 1500}
    ),
    Object("address", ("eth0.5", "192.168.7.2/24", None), {}),
    Object("route", ("inet", 254, "0.0.0.0/0", 0, 0), {"via": "192.168.7.1", "dev": "eth0.5"}),
]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param("{}", "delete vlan eth0.5", id="deleting_the_link"),
        pytest.param(
            "links: {eth0: {up: false}, eth0.5: {addresses: [192.168.7.2/24]}}", "change link eth0", id="down"
        ),
        pytest.param("links: {eth0: {}, br0: {kind: bridge, ports: eth0.5}}", "change vlan eth0.5", id="into_a_bridge"),
        pytest.param("links: {eth0.5: {}}", "delete address eth0.5 192.168.7.2/24", id="the_address"),
        pytest.param("links: {eth0.5: {addresses: [192.168.7.2/24]}}", "delete route", id="the_default_route"),
    ],
)
def test_plan_that_would_cut_the_way_of_a_session_is_refused(desk: Desk, text: str, cut: str) -> None:
    desk.kernel = FakeKernel(UPLINK)
    desk.kernel.ways = {"198.51.100.9": Route("eth0.5", "192.168.7.2"), "192.0.2.1": Route("eth0.5", "192.168.7.2")}
    desk.wants(text)
    engine = Engine(desk.paths, session=Session("198.51.100.9", "192.168.7.2"), connect=lambda _netns: desk.kernel)
    with pytest.raises(GuardError, match=cut):
        engine.apply()
    assert desk.kernel.messages == 0


def test_default_route_that_names_no_link_is_told_by_the_one_that_it_leads_to(desk: Desk) -> None:
    desk.kernel = FakeKernel(BY_NEXTHOPS)
    desk.kernel.ways = {"192.0.2.1": Route("eth0.5", "192.168.7.2", nexthop=3)}
    nexthops = "".join(f"  {number}: {{{text}}}\n" for number, text in NEXTHOPS.items())
    desk.wants(f"{UPLINK_TEXT}nexthops:\n{nexthops}")
    with pytest.raises(GuardError, match=r"delete route 0\.0\.0\.0/0 .* --allow eth0\.5 says"):
        desk.engine.apply()


UPLINK_TEXT = "links: {eth0: {}, eth0.5: {addresses: [192.168.7.2/24]}}\n"
BY_NEXTHOPS = [
    *UPLINK[:-1],
    Object("route", ("inet", 254, "0.0.0.0/0", 0, 0), {"nhid": 3}),
    *(Object("nexthop", (n,), {"via": f"192.168.7.{n}", "dev": "eth0.5", "family": "inet"}) for n in (1, 2, 4)),
    Object("nexthop", (3,), {"group": ({"id": 1, "weight": 1}, {"id": 2, "weight": 1}), "group_type": "mpath"}),
]
NEXTHOPS = {1: "via: 192.168.7.1, dev: eth0.5", 2: "via: 192.168.7.2, dev: eth0.5", 3: "group: [{id: 1}, {id: 2}]"}


@pytest.mark.parametrize(
    ("changed", "cut"),
    [
        pytest.param({}, "", id="another"),
        pytest.param(
            {3: "group: [{id: 1, weight: 2}, {id: 2}, {id: 5}]", 5: "via: 192.168.7.5, dev: eth0.5"},
            "",
            id="a_member_comes",
        ),
        pytest.param({2: None, 3: "group: [{id: 1}]"}, "change nexthop 3", id="a_member_leaves"),
        pytest.param({2: "via: 192.168.7.9, dev: eth0.5"}, "change nexthop 2", id="a_member_leads_elsewhere"),
        pytest.param({1: None, 2: None, 3: "blackhole: true"}, "nexthop 3", id="nowhere"),
    ],
)
def test_plan_that_would_change_the_nexthop_of_a_way_is_refused(
    desk: Desk, changed: dict[int, str | None], cut: str
) -> None:
    desk.kernel = FakeKernel(BY_NEXTHOPS)
    desk.kernel.ways = {"192.0.2.1": Route("eth0.5", "192.168.7.2", nexthop=3)}
    wanted = "".join(f"  {number}: {{{text}}}\n" for number, text in {**NEXTHOPS, **changed}.items() if text)
    desk.wants(f"{UPLINK_TEXT}routes: [{{to: 0.0.0.0/0, nhid: 3}}]\nnexthops:\n{wanted}")
    if cut:
        with pytest.raises(GuardError, match=cut):
            desk.engine.apply()
        assert desk.kernel.messages == 0
    else:
        desk.engine.apply()
        assert (4,) not in desk.kernel.state.of("nexthop")


def test_cut_that_is_allowed_by_name_is_made(desk: Desk) -> None:
    desk.kernel = FakeKernel(UPLINK)
    desk.kernel.ways = {"192.0.2.1": Route("eth0.5", "192.168.7.2")}
    desk.wants("{}")
    desk.engine.apply(allow=frozenset({"eth0", "eth0.5"}))
    assert desk.kernel.state.link("eth0.5") is None
    assert desk.kernel.state.link("eth0") is not None


KEPT = """
links: {eth0: {}, eth0.5: {addresses: [192.168.7.2/24]}, d0: {kind: dummy, up: true%s}}
routes: [%s]
rules: [%s]
nexthops: {1: {dev: d0}, 2: {blackhole: true}, 3: {dev: eth0.5}, 4: {group: [{id: 1}]}, 5: {group: [{id: 1}, {id: 3}]}}
"""
SEVERAL = "{to: 198.51.100.0/24, nexthops: [{via: 192.168.7.8, dev: %s}, {via: 192.168.7.9, dev: %s}]}"
DEFAULT = "{to: 0.0.0.0/0, via: 192.168.7.1, dev: eth0.5}"


@pytest.mark.parametrize(
    ("on_dummy", "route", "rule", "cut"),
    [
        pytest.param("", "{to: 198.51.100.0/24, dev: d0}", "", "create route", id="longer_prefix"),
        pytest.param("", "{to: 128.0.0.0/1, type: blackhole}", "", "create route", id="half_of_everything"),
        pytest.param("", "{to: 128.0.0.0/1, dev: eth0.5}", "", "", id="by_the_same_link"),
        pytest.param("", "{to: 203.0.113.0/24, dev: d0}", "", "", id="to_somewhere_else"),
        pytest.param(
            "", "{to: 198.51.0.0/16, dev: d0, type: local, table: 255}", "", "create route", id="to_this_host"
        ),
        pytest.param("", "{to: 198.51.100.0/24, dev: d0, table: 9}", "", "", id="in_a_table_that_nobody_asks"),
        pytest.param(
            "", "{to: 198.51.100.0/24, dev: d0, table: 9}", "{pref: 9, lookup: 9}", "create rule", id="in_a_table"
        ),
        pytest.param(
            "", "{to: 0.0.0.0/0, dev: d0, table: 9}", "{pref: 9, from: 10.0.0.0/8, lookup: 9}", "", id="for_others"
        ),
        pytest.param(
            "", "{to: 0.0.0.0/0, dev: d0, table: 9}", "{pref: 9, from: default, lookup: 9}", "create rule", id="for_all"
        ),
        pytest.param(
            "", "{to: 0.0.0.0/0, dev: d0, table: 9}", "{pref: 9, lookup: 9, suppress_prefixlength: 0}", "", id="hidden"
        ),
        pytest.param(
            "",
            "{to: 128.0.0.0/1, dev: d0, table: 9}",
            "{pref: 9, lookup: 9, suppress_prefixlength: 0}",
            "create rule",
            id="longer_than_what_is_hidden",
        ),
        pytest.param("", "{to: 203.0.113.0/24, dev: d0, table: 9}", "{pref: 9, lookup: 9}", "", id="table_without_it"),
        pytest.param(
            "",
            "{to: 198.51.96.0/20, dev: d0, table: 9}, {to: 198.51.100.0/24, dev: eth0.5, table: 9}",
            "{pref: 9, lookup: 9}",
            "",
            id="table_with_a_longer_one_by_the_same_link",
        ),
        pytest.param(
            "",
            "{to: 0.0.0.0/0, dev: eth0.5, table: 9, metric: 9}, {to: 0.0.0.0/0, dev: d0, table: 9, metric: 5}",
            "{pref: 9, lookup: 9}",
            "create rule",
            id="table_with_a_better_one",
        ),
        pytest.param(
            "",
            "{to: 0.0.0.0/0, dev: d0, table: 9, metric: 9}, {to: 0.0.0.0/0, dev: eth0.5, table: 9, metric: 5}",
            "{pref: 9, lookup: 9}",
            "",
            id="table_with_a_worse_one",
        ),
        pytest.param("", "{to: 0.0.0.0/0, type: throw, table: 9}", "{pref: 9, lookup: 9}", "", id="back_from_a_table"),
        pytest.param("", "{to: 198.51.100.0/24, dev: d0, tos: 16}", "", "", id="of_a_type_of_service"),
        pytest.param(
            "",
            "",
            "{pref: 8, to: 198.51.100.9/32, lookup: main}, {pref: 8, to: 128.0.0.0/1, lookup: main}, "
            "{pref: 8, to: 0.0.0.0/1, lookup: main}, {pref: 9, action: prohibit}",
            "",
            id="behind_rules_for_all",
        ),
        pytest.param(
            "", "", "{pref: 8, to: 10.0.0.0/8, lookup: main}, {pref: 9, action: prohibit}", "rule", id="behind_another"
        ),
        pytest.param(
            "",
            "",
            "{pref: 8, lookup: main, suppress_prefixlength: 0}, {pref: 9, not: true, fwmark: 7, action: prohibit}",
            "create rule",
            id="behind_one_that_the_default_route_passes",
        ),
        pytest.param("", "", "{pref: 9, goto: 32767}", "create rule", id="past_the_rule_of_the_table"),
        pytest.param("", "", "{pref: 9, goto: 32766}", "", id="to_the_rule_of_the_table"),
        pytest.param("", "", "{pref: 9, fwmark: 7, action: prohibit}", "", id="rule_for_a_mark"),
        pytest.param("", "", "{pref: 9, not: true, fwmark: 7, action: prohibit}", "create rule", id="without_a_mark"),
        pytest.param("", "", "{pref: 9, dscp: 7, action: prohibit}", "", id="rule_for_a_class_of_traffic"),
        pytest.param("", "", "{pref: 9, ipproto: udp, action: prohibit}", "", id="rule_for_another_protocol"),
        pytest.param("", "", "{pref: 9, ipproto: tcp, action: prohibit}", "create rule", id="rule_for_the_protocol"),
        pytest.param("", "", "{pref: 9, ipproto: tcp, dport: 50-59, action: prohibit}", "", id="rule_for_other_ports"),
        pytest.param("", "", "{pref: 9, ipproto: tcp, sport: 22, action: prohibit}", "create rule", id="for_the_port"),
        pytest.param("", "", "{pref: 9, ipproto: tcp, dport: 60, action: prohibit}", "create rule", id="for_the_peers"),
        pytest.param("", "", "{pref: 9, iif: d0, action: prohibit}", "", id="rule_for_what_comes_in"),
        pytest.param("", "", "{pref: 9, iif: lo, action: prohibit}", "create rule", id="rule_for_what_is_sent"),
        pytest.param("", "", "{pref: 9, oif: d0, action: prohibit}", "", id="rule_for_who_is_bound"),
        pytest.param("", SEVERAL % ("d0", "d0"), "", "create route", id="several_ways"),
        pytest.param("", SEVERAL % ("d0", "eth0.5"), "", "", id="several_ways_one_of_them_the_same"),
        pytest.param("", "{to: 198.51.100.0/24, nhid: 1}", "", "create route", id="by_a_nexthop"),
        pytest.param("", "{to: 198.51.100.0/24, nhid: 2}", "", "create route", id="by_a_nexthop_to_nowhere"),
        pytest.param("", "{to: 198.51.100.0/24, nhid: 3}", "", "", id="by_a_nexthop_on_the_same_link"),
        pytest.param("", "{to: 198.51.100.0/24, nhid: 4}", "", "create route", id="by_a_group_of_nexthops"),
        pytest.param("", "{to: 198.51.100.0/24, nhid: 5}", "", "", id="by_a_group_with_one_on_the_same_link"),
        pytest.param("", "{to: 198.51.100.0/24, nhid: 9}", "", "", id="by_a_nexthop_of_others"),
        pytest.param("", "{family: mpls, to: 100, dev: d0}", "", "", id="label"),
        pytest.param("", "", "{pref: 9, to: 198.51.100.9/32, action: prohibit}", "create rule", id="rule_to_nowhere"),
        pytest.param("", "", "{pref: 32765, action: prohibit}", "create rule", id="last_rule_before_that_of_the_table"),
        pytest.param("", "", "{pref: 32766, action: prohibit}", "", id="rule_behind_that_of_the_table"),
        pytest.param(", addresses: [198.51.100.1/24]", "", "", "create address", id="subnet_of_an_address"),
        pytest.param(", addresses: [203.0.113.1/24]", "", "", "", id="subnet_of_an_address_elsewhere"),
    ],
)
def test_plan_that_would_lead_a_session_elsewhere_is_refused(
    desk: Desk, on_dummy: str, route: str, rule: str, cut: str
) -> None:
    desk.kernel = FakeKernel(UPLINK, foreign=[Object("nexthop", (9,), {"family": "inet", "blackhole": True})])
    desk.kernel.ways = {"198.51.100.9": Route("eth0.5", "192.168.7.2"), "192.0.2.1": Route("eth0.5", "192.168.7.2")}
    desk.wants(KEPT % (on_dummy, ", ".join(filter(None, (DEFAULT, route))), rule))
    engine = Engine(
        desk.paths, session=Session("198.51.100.9", "192.168.7.2", 60, 22), connect=lambda _netns: desk.kernel
    )
    if cut:
        with pytest.raises(GuardError, match=cut):
            engine.apply()
        assert desk.kernel.messages == 0
    else:
        engine.apply()


@pytest.mark.parametrize(
    ("has", "said", "way", "cut"),
    [
        pytest.param({}, "vlan_filtering: true", "br0.5", True, id="tagged"),
        pytest.param({"vlan_default_pvid": 1}, "vlan_filtering: true", "br0", False, id="untagged"),
        pytest.param({"vlan_default_pvid": 0}, "vlan_filtering: true", "br0", True, id="without_a_default"),
        pytest.param({"vlan_filtering": True}, "vlan_default_pvid: 7", "br0", True, id="another_default"),
        pytest.param({"vlan_filtering": False}, "vlan_default_pvid: 7", "br0", False, id="default_of_no_use"),
    ],
)
def test_filtering_of_vlans_that_keeps_back_what_a_way_sends_is_refused(
    desk: Desk, has: dict[str, Value], said: str, way: str, cut: bool
) -> None:
    bridge = Object("link", ("br0",), {"kind": "bridge", "up": True, "group": 0x4E470000, "mtu": 1500, **has})
    uplink = [Object("link", ("eth1",), {"kind": "", "up": True, "group": 0, "mtu": 1500, "master": "br0"})]
    vlan = UPLINK[1]._replace(key=("br0.5",), attrs={**UPLINK[1].attrs, "link": "br0"})
    desk.kernel = FakeKernel([bridge, vlan], foreign=uplink)
    desk.kernel.ways = {"192.0.2.1": Route(way)}
    desk.wants(f"links: {{br0: {{kind: bridge, {said}}}, br0.5: {{}}}}")
    with pytest.raises(GuardError, match="change bridge br0") if cut else nullcontext():
        desk.engine.apply()


@pytest.mark.parametrize(
    ("ways", "want"),
    [
        pytest.param({"192.0.2.1": Route("eth1", length=24), "198.51.100.1": Route("eth0")}, ["eth0"], id="elsewhere"),
        pytest.param({"192.0.2.1": Route("eth1", length=24)}, [], id="nowhere"),
        pytest.param({"192.0.2.1": Route("eth0", length=1), "2001:db8::1": Route("eth2")}, ["eth0", "eth2"], id="half"),
    ],
)
def test_way_of_the_default_route_is_none_that_a_network_has_of_its_own(
    ways: dict[str, Route], want: list[str]
) -> None:
    kernel = FakeKernel()
    kernel.ways = ways
    assert [way.link for way in ways_of(kernel, CONSOLE)] == want


@pytest.mark.parametrize(("vids", "more"), [(range(2, 4000), "3,995 more steps"), (range(2, 6), "1 more step")])
def test_of_many_steps_that_cut_one_link_some_are_told(desk: Desk, vids: range, more: str) -> None:
    vlans = [Object("bridge_vlan", ("eth0", vid), {}) for vid in vids]
    bridge = Object("link", ("br0",), {"kind": "bridge", "vlan_filtering": True, "up": True, "group": 0x4E470000})
    port = UPLINK[0]._replace(attrs={**UPLINK[0].attrs, "master": "br0"})
    desk.kernel = FakeKernel([bridge, port, *vlans])
    desk.kernel.ways = {"192.0.2.1": Route("br0")}
    desk.wants("links: {br0: {kind: bridge, vlan_filtering: true, up: true, ports: eth0}, eth0: {vlans: [4000]}}\n")
    with pytest.raises(GuardError) as caught:
        Engine(desk.paths, connect=lambda _netns: desk.kernel).apply()
    *some, last = str(caught.value).splitlines()
    assert [line.partition(" would")[0] for line in some] == [
        f"to delete bridge_vlan eth0 vid {vid}" for vid in (2, 3, 4)
    ]
    assert last == f"and {more} would cut 'eth0'"


_UPLINKS = """\
links: {eth1: {up: true, addresses: [10.1.1.2/24]}, eth2: {up: true, addresses: [10.1.2.2/24]}}
routes: [{to: default, via: 10.1.1.1, dev: eth1}, {to: default, via: 10.1.2.1, dev: eth2, metric: 100}]
"""


@pytest.fixture
def stand_in(desk: Desk) -> Desk:
    """A host whose uplink eth1 has just come back: what was on it is gone, and another carries on."""
    cards = [Object("link", (name,), {"kind": "", "up": False, "group": 0, "mtu": 1500}) for name in ("eth1", "eth2")]
    desk.kernel = FakeKernel(cards)
    desk.wants(_UPLINKS)
    desk.engine.apply()
    desk.kernel.state.add(cards[0])
    del desk.kernel.state.classes["address"]["eth1", "10.1.1.2/24", None]
    del desk.kernel.state.classes["route"]["inet", 254, "0.0.0.0/0", 0, 0]
    desk.kernel.ways = {"192.0.2.1": Route("eth2", "10.1.2.2", metric=100)}
    return desk


@pytest.mark.parametrize("by_itself", [True, False], ids=["by_itself", "by_hand"])
def test_uplink_that_comes_back_takes_over_from_its_stand_in(stand_in: Desk, by_itself: bool) -> None:
    _ = stand_in.engine.repair(frozenset({"eth1"})) if by_itself else stand_in.engine.apply()
    assert [key[4] for key in stand_in.kernel.state.of("route")] == [100, 0]
    assert not stand_in.engine.drift().steps


def test_session_from_the_network_of_an_uplink_that_comes_back_goes_over_to_it(stand_in: Desk) -> None:
    session = Session("10.1.1.9", "10.1.2.2")
    stand_in.kernel.ways[session.peer] = Route("eth2", session.local, metric=100)
    engine = Engine(stand_in.paths, session=session, connect=lambda _netns: stand_in.kernel)
    engine.apply()
    assert not engine.drift().steps


def test_uplink_of_other_files_is_asked_about(stand_in: Desk) -> None:
    stand_in.wants(f"{_UPLINKS}rules: [{{pref: 5, lookup: 7}}]\n")
    with pytest.raises(GuardError, match="to create route 0"):
        stand_in.engine.apply()


def test_way_that_somebody_has_changed_is_asked_about(stand_in: Desk) -> None:
    key = ("inet", 254, "0.0.0.0/0", 0, 100)
    stand_in.kernel.state.add(Object("route", key, {"via": "10.1.2.9", "dev": "eth2"}))
    with pytest.raises(GuardError, match="to change route 0"):
        stand_in.engine.apply()
