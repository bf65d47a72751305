# SPDX-License-Identifier: GPL-2.0-or-later
"""What carries a session and is taken away or changed: refused, unless something equal stands in for it."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.fake.cards import FakeCards
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model import rule
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan import present
from tests.engine.desk import Desk

PEER, LOCAL = "10.9.0.7", "10.0.0.5"
LINKS = [Object("link", (name,), {"kind": "", "up": True, "mtu": 1500}) for name in ("eth1", "eth2")]
OFFICE, ANYWHERE = "10.9.0.0/16", "0.0.0.0/0"
VIA = "via: 10.0.0.1, dev: eth1"


def route(to: str, table: int = 254, metric: int = 0, tos: int = 0, via: str = "10.0.0.1") -> Object:
    key = ("inet", table, to, tos, metric)
    return Object("route", key, {"type": "unicast", "scope": "global", "via": via, "dev": "eth1", "onlink": False})


def looks_up(pref: int, table: int, **selectors: Value) -> Object:
    attrs: dict[str, Value] = {"action": "lookup", "not": False, "tos": 0, "lookup": table, **selectors}
    return Object("rule", rule.key("inet", pref, attrs), attrs)


def refused(
    desk: Desk, there: list[Object], way: Route, text: str, others: Mapping[str, Route] = MappingProxyType({})
) -> str:
    """What the guard says of going from what is there to a configuration, with somebody at the other end of a way."""
    desk.kernel = FakeKernel([*LINKS, *there])
    desk.kernel.ways = {PEER: way, **others}
    desk.wants(text)
    engine = Engine(desk.paths, session=Session(PEER, LOCAL), connect=lambda _netns: desk.kernel)
    warned = [told for told in engine.diff().warnings if told.startswith("apply refuses this: ")]
    said = ""
    try:
        engine.apply()
    except GuardError as error:
        assert desk.kernel.messages == 0
        said = str(error)
    assert warned == [f"apply refuses this: {told}" for told in said.splitlines()]
    return said


@pytest.mark.parametrize(
    ("key", "way", "text"),
    [
        pytest.param((OFFICE,), (254, 16, 0), "", id="deleted"),
        pytest.param((OFFICE,), (254, 16, 0), f"{{to: {OFFICE}, via: 10.0.0.2, dev: eth1}}", id="another_gateway"),
        pytest.param((OFFICE,), (254, 16, 0), f"{{to: {OFFICE}, dev: eth2}}", id="another_link"),
        pytest.param(
            (OFFICE,), (254, 16, 0), f"{{to: {OFFICE}, via: 10.0.0.1, dev: eth2}}", id="its_gateway_by_another_link"
        ),
        pytest.param((OFFICE,), (254, 16, 0), f"{{to: {OFFICE}, type: blackhole}}", id="nowhere"),
        pytest.param((OFFICE, 77, 5), (77, 16, 5), "", id="of_another_table"),
        pytest.param((ANYWHERE, 1001), (1001, 0, 0), "", id="default_of_a_vrf"),
        pytest.param((ANYWHERE,), (254, 16, 0), "", id="default_where_no_way_tells_which_it_is"),
        pytest.param(
            (OFFICE,), (254, 16, 0), f"{{to: {OFFICE}, via: 10.0.0.2, dev: eth1, metric: 9}}", id="not_the_same_instead"
        ),
        pytest.param(
            (OFFICE,),
            (254, 16, 0),
            f"{{to: {OFFICE}, dev: eth2, metric: 5}}, {{to: {OFFICE}, {VIA}, metric: 9}}",
            id="the_same_behind_another",
        ),
    ],
)
def test_route_in_use_that_goes_or_leads_elsewhere_is_refused(
    desk: Desk, key: tuple[str, int, int], way: tuple[int, int, int], text: str
) -> None:
    told = refused(desk, [route(*key)], Route("eth1", LOCAL, *way), f"routes: [{text}]")
    assert f"route {' '.join(present.title(route(*key)))} would cut the way of" in told


@pytest.mark.parametrize(
    ("there", "way", "text"),
    [
        pytest.param([route("10.8.0.0/16")], (254, 16, 0), "", id="of_others"),
        pytest.param([route("10.9.0.0/17")], (254, 24, 0), "", id="shorter_than_the_one_in_use"),
        pytest.param([route(OFFICE, metric=9)], (254, 16, 0), "", id="behind_the_one_in_use"),
        pytest.param([route(OFFICE, tos=8)], (254, 16, 0), "", id="of_another_type_of_service"),
        pytest.param([route(OFFICE, 77)], (254, 16, 0), "", id="of_a_table_not_in_use"),
        pytest.param([route(ANYWHERE, 1001)], (254, 16, 0), "", id="default_of_a_table_not_in_use"),
        pytest.param([route(ANYWHERE, metric=9)], (254, 0, 5), "", id="default_behind_the_one_in_use"),
        pytest.param([route(OFFICE)], (254, 16, 0), f"{{to: {OFFICE}, {VIA}, metric: 9}}", id="equal_one_instead"),
        pytest.param([route(ANYWHERE)], (254, 0, 0), f"{{to: default, {VIA}, metric: 9}}", id="equal_default_instead"),
        pytest.param([route(OFFICE)], (254, 16, 0), f"{{to: {OFFICE}, {VIA}, mtu: 1400}}", id="same_way"),
    ],
)
def test_route_that_is_not_in_use_or_has_an_equal_goes(
    desk: Desk, there: list[Object], way: tuple[int, int, int], text: str
) -> None:
    assert refused(desk, there, Route("eth1", LOCAL, *way), f"routes: [{text}]") == ""


@pytest.mark.parametrize(
    ("said", "metric", "cut"),
    [
        pytest.param("addresses: [10.9.0.1/16]", 9, True, id="lower_metric"),
        pytest.param("addresses: [10.9.0.1/16]", 0, False, id="the_same"),
        pytest.param("addresses: [{address: 10.9.0.1/16, metric: 10}]", 9, False, id="higher_metric"),
        pytest.param("addresses: [10.8.0.1/15]", 9, False, id="shorter_prefix"),
        pytest.param("addresses: [10.9.0.1/24], up: false", 9, False, id="of_a_link_that_is_down"),
    ],
)
def test_subnet_of_an_address_on_another_link(desk: Desk, said: str, metric: int, cut: bool) -> None:
    told = refused(desk, [], Route("eth1", LOCAL, 254, 16, metric), f"links: {{eth2: {{{said}}}}}")
    assert ("to create address" in told) is cut


@pytest.mark.parametrize("said", ["up: false", "carrier: false", "protodown: true", "arp: false"])
def test_link_of_the_way_that_nothing_goes_through_any_more_is_refused(desk: Desk, said: str) -> None:
    told = refused(desk, [], Route("eth1", LOCAL), f"links: {{eth1: {{{said}}}}}")
    assert "to change link eth1 would cut the way of" in told
    assert refused(desk, [], Route("eth1", LOCAL), f"links: {{eth2: {{{said}}}}}") == ""


@pytest.mark.parametrize(("state", "cut"), [("blocking", True), ("forwarding", False)])
def test_vlan_of_a_port_of_the_way_that_is_shut_is_refused(desk: Desk, state: str, cut: bool) -> None:
    there = [
        Object("link", ("br0",), {"kind": "bridge", "up": True, "mtu": 1500, "group": 0x4E470000}),
        Object("link", ("p",), {"kind": "", "up": True, "mtu": 1500, "master": "br0"}),
        Object("bridge_vlan", ("p", 5), {"pvid": False, "untagged": False}),
    ]
    text = f"links: {{br0: {{kind: bridge}}, p: {{master: br0, vlans: [{{vid: 5, state: {state}}}]}}}}"
    assert ("change bridge_vlan p vid 5" in refused(desk, there, Route("br0", LOCAL), text)) == cut


@pytest.mark.parametrize(
    ("local", "token", "cut"),
    [
        pytest.param("2001:db8::5", "::6", True, id="made_with_the_one_before"),
        pytest.param("2001:db8::5", "::", True, id="made_with_the_one_that_goes"),
        pytest.param("2001:db8::7", "::6", False, id="made_otherwise"),
        pytest.param("10.0.0.5", "::6", False, id="of_the_other_protocol"),
    ],
)
def test_token_that_takes_the_address_of_the_way_along_is_refused(
    desk: Desk, local: str, token: str, cut: bool
) -> None:
    there = [Object("token", ("eth1",), {"token": "::5"})]
    told = refused(desk, there, Route("eth1", local), f"links: {{eth1: {{token: '{token}'}}}}")
    assert ("change token eth1" in told) == cut


@pytest.mark.parametrize(
    ("tree", "states", "cut"),
    [
        pytest.param(3, "{msti: 3, state: blocking}", "change mst p msti 3", id="state_that_shuts"),
        pytest.param(3, "{msti: 3, state: forwarding}", "", id="state_that_opens"),
        pytest.param(4, "", "change vlan_global br0 vid 5", id="tree_that_is_new"),
        pytest.param(4, "{msti: 4, state: forwarding}", "", id="tree_that_is_opened"),
    ],
)
def test_port_of_the_way_that_is_shut_in_a_tree_is_refused(desk: Desk, tree: int, states: str, cut: str) -> None:
    there = [
        Object("link", ("br0",), {"kind": "bridge", "up": True, "mst_enabled": True, "group": 0x4E470000}),
        Object("link", ("p",), {"kind": "", "up": True, "mtu": 1500, "master": "br0"}),
        Object("bridge_vlan", ("p", 5), {"pvid": False, "untagged": False}),
        Object("vlan_global", ("br0", 5), {"msti": 3}),
        Object("mst", ("p", 3), {"state": "learning"}),
    ]
    bridge = f"br0: {{kind: bridge, mst_enabled: true, vlan_global: [{{vid: 5, msti: {tree}}}]}}"
    text = f"links: {{{bridge}, p: {{master: br0, vlans: [5], mst: [{states}]}}}}"
    told = refused(desk, there, Route("br0", LOCAL), text)
    assert (cut in told) if cut else not told


GATEWAY, MAC = "10.0.0.1", "02:00:00:00:00:01"


@pytest.mark.parametrize(
    ("hop", "said", "cut"),
    [
        pytest.param((GATEWAY, MAC), "lladdr: '02:00:00:00:00:09'", True, id="another"),
        pytest.param((GATEWAY, MAC), f"lladdr: '{MAC}'", False, id="the_same"),
        pytest.param((GATEWAY, ""), "lladdr: '02:00:00:00:00:09'", False, id="where_none_was_known"),
        pytest.param((GATEWAY, MAC), "proxy: true", False, id="to_answer_for"),
        pytest.param(("10.0.0.3", MAC), "lladdr: '02:00:00:00:00:09'", False, id="of_others"),
    ],
)
def test_neighbour_that_sends_the_packets_of_the_way_to_another_address_is_refused(
    desk: Desk, hop: tuple[str, str], said: str, cut: bool
) -> None:
    text = f"neighbours: [{{dev: eth1, ip: {GATEWAY}, {said}}}]"
    told = refused(desk, [], Route("eth1", LOCAL, gateway=hop[0], lladdr=hop[1]), text)
    assert (f"to create neighbour eth1 {GATEWAY} would cut the way of your session" in told) == cut


def test_route_in_use_that_becomes_netgroupds_as_it_is_passes(desk: Desk) -> None:
    hops = tuple({"via": via, "dev": "eth1", "weight": 1, "onlink": False} for via in ("10.0.0.1", "10.0.0.2"))
    theirs = Object("route", ("inet", 254, OFFICE, 0, 0), {"type": "unicast", "nexthops": hops})
    desk.kernel = FakeKernel(LINKS, foreign=[theirs])
    desk.kernel.ways = {PEER: Route("eth1", LOCAL, 254, 16)}
    desk.wants(f"routes: [{{to: {OFFICE}, nexthops: [{{{VIA}}}, {{via: 10.0.0.2, dev: eth1}}]}}]")
    engine = Engine(desk.paths, session=Session(PEER, LOCAL), connect=lambda _netns: desk.kernel)
    assert engine.apply().plan.steps


FROM_HERE = {"from": "10.0.0.0/24"}
IN_77 = [route(OFFICE, 77)]
KEPT_IN_77 = f"routes: [{{to: {OFFICE}, {VIA}, table: 77}}]\n"


@pytest.mark.parametrize(
    ("rules", "way", "text", "cut"),
    [
        pytest.param([looks_up(9, 77, **FROM_HERE)], (77, 16, 0), "", True, id="deleted"),
        pytest.param(
            [looks_up(9, 77, **FROM_HERE)], (77, 16, 0), "{pref: 7, from: 10.0.0.0/24, lookup: 77}", False, id="moved"
        ),
        pytest.param(
            [looks_up(9, 77, **FROM_HERE), looks_up(8, 77)], (77, 16, 0), "{pref: 8, lookup: 77}", False, id="spare"
        ),
        pytest.param(
            [looks_up(9, 77)],
            (77, 16, 0),
            "{pref: 9, lookup: 77, suppress_prefixlength: 16}",
            True,
            id="hides_the_route_from_now_on",
        ),
        pytest.param(
            [looks_up(9, 77), looks_up(1000, 0, l3mdev=True)],
            (77, 16, 0),
            "{pref: 1000, l3mdev: true}",
            True,
            id="before_the_one_of_vrfs",
        ),
        pytest.param([looks_up(9, 77)], (77, 16, 0), "{pref: 32800, lookup: 77}", False, id="behind_the_kernels"),
        pytest.param([looks_up(9, 77, **{"from": "10.1.0.0/16"})], (77, 16, 0), "", False, id="for_others"),
        pytest.param([looks_up(9, 77, fwmark="0x1")], (77, 16, 0), "", False, id="by_a_mark"),
        pytest.param([looks_up(9, 78, **FROM_HERE)], (77, 16, 0), "", False, id="of_a_table_not_in_use"),
        pytest.param([looks_up(9, 254, **FROM_HERE)], (254, 16, 0), "", False, id="to_where_the_kernels_rule_leads"),
    ],
)
def test_rule_that_alone_leads_to_the_route_in_use_stays(
    desk: Desk, rules: list[Object], way: tuple[int, int, int], text: str, cut: bool
) -> None:
    told = refused(desk, [*IN_77, *rules], Route("eth1", LOCAL, *way), f"{KEPT_IN_77}rules: [{text}]")
    assert ("delete rule" in told or "change rule" in told) == cut


def test_way_of_a_session_is_the_one_of_its_own_address(desk: Desk) -> None:
    ways = {PEER: Route("eth1", LOCAL), f"{LOCAL} {PEER}": Route("eth1", LOCAL, 77, 16)}
    desk.kernel = FakeKernel([*LINKS, *IN_77, looks_up(9, 77, **FROM_HERE)])
    desk.kernel.ways = ways
    desk.wants(KEPT_IN_77)
    with pytest.raises(GuardError, match="delete rule"):
        Engine(desk.paths, session=Session(PEER, LOCAL), connect=lambda _netns: desk.kernel).apply()


def test_rule_that_keeps_packets_from_another_one_stays(desk: Desk) -> None:
    there = [looks_up(9, 254, to=OFFICE), looks_up(10, 77), route(ANYWHERE, 77)._replace(attrs={"dev": "eth2"})]
    text = "routes: [{to: default, dev: eth2, table: 77}]\nrules: [{pref: 10, lookup: 77}]"
    assert f"to delete rule 9 inet to {OFFICE} would" in refused(desk, there, Route("eth1", LOCAL, 254, 16), text)


RED = Object("link", ("red",), {"kind": "vrf", "up": True, "table": 77})
IN_RED = [
    RED,
    Object("link", ("eth1",), {"kind": "", "up": True, "mtu": 1500, "master": "red"}),
    Object("address", ("eth1", f"{LOCAL}/24", None), {}),
]
RULES = [looks_up(1000, 0, l3mdev=True)]
KEPT_RED = f"links: {{red: {{kind: vrf, table: 77, links: [eth1]}}, eth1: {{addresses: [{LOCAL}/24]}}}}\n"
_OWN = "type: local, dev: eth1, table: 80"
ROUTE_IN_RED = f"{{to: {OFFICE}, {VIA}, table: 77}}"


@pytest.mark.parametrize(
    ("text", "step"),
    [
        pytest.param(
            f"{KEPT_RED}rules: [{{pref: 1000, l3mdev: true}}]", "delete route 10.9.0.0/16 table 77", id="its_route"
        ),
        pytest.param(f"{KEPT_RED}routes: [{ROUTE_IN_RED}]", "delete rule", id="the_rule_of_vrfs"),
        *(
            pytest.param(
                f"{KEPT_RED}routes: [{ROUTE_IN_RED}]\nrules: [{{pref: {pref}, l3mdev: true, action: unreachable}}]",
                f"{step} rule 1000",
                id=f"the_rule_of_vrfs_for_one_that_refuses_at_{pref}",
            )
            for pref, step in ((1000, "change"), (2000, "delete"))
        ),
        pytest.param(
            f"{KEPT_RED}routes: [{ROUTE_IN_RED}, {{to: {OFFICE}, dev: eth2, table: 78}}]\n"
            "rules: [{pref: 1000, l3mdev: true}, {pref: 9, lookup: 78}]",
            "create rule",
            id="a_rule_before_it",
        ),
        pytest.param(
            f"{KEPT_RED}routes: [{ROUTE_IN_RED}, {{to: {PEER}, via: 10.0.0.3, table: 77}}]\n"
            "rules: [{pref: 1000, l3mdev: true}]",
            "create route 10.9.0.7/32 table 77",
            id="a_route_by_a_gateway_that_the_vrf_has_elsewhere",
        ),
    ],
)
def test_session_in_a_vrf_keeps_what_the_vrf_leads_it_by(desk: Desk, text: str, step: str) -> None:
    assert f"to {step}" in refused_in_red(desk, text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"routes: [{ROUTE_IN_RED}]", id="all_that_is_there"),
        pytest.param(f"routes: [{ROUTE_IN_RED}, {{to: {PEER}, dev: eth2}}]", id="a_route_of_the_main_table"),
    ],
)
def test_session_in_a_vrf_leaves_what_is_outside_alone(desk: Desk, text: str) -> None:
    rules = "rules: [{pref: 1000, l3mdev: true}, {pref: 2000, lookup: 254}]"
    assert refused_in_red(desk, f"{KEPT_RED}{text}\n{rules}") == ""


@pytest.mark.parametrize(
    ("rule", "cut"),
    [
        ("pref: 9, iif: eth1, action: prohibit", True),
        ("pref: 9, lookup: 78", True),
        ("pref: 9, lookup: 79", False),
        ("pref: 9, lookup: 80", False),
        ("pref: 9, lookup: 78, suppress_prefixlength: 8", False),
        ("pref: 9, oif: red, action: prohibit", False),
        (f"pref: 9, from: {PEER}, to: {LOCAL}, action: prohibit", True),
        ("pref: 9, iif: eth2, action: prohibit", False),
        ("pref: 9, iif: red, action: prohibit", False),
        (f"pref: 2000, from: {PEER}, action: prohibit", False),
        (f"pref: 9, from: {PEER}, to: {PEER}, action: prohibit", False),
    ],
)
def test_rule_in_front_of_a_vrf_must_leave_to_it_what_the_session_gets(desk: Desk, rule: str, cut: bool) -> None:
    others = (
        f"{{to: 10.0.0.0/8, {VIA}, table: 78}}, {{to: 10.0.0.0/8, type: throw, table: 79}}, {{to: {LOCAL}, {_OWN}}}"
    )
    rules = f"rules: [{{pref: 1000, l3mdev: true}}, {{{rule}}}]"
    told = refused_in_red(desk, f"{KEPT_RED}routes: [{ROUTE_IN_RED}, {others}]\n{rules}")
    assert ("to create rule" in told) == cut


def test_rule_about_what_comes_is_not_asked_where_the_address_is_found_before(desk: Desk) -> None:
    assert refused(desk, [], Route("eth1", LOCAL), "rules: [{pref: 9, iif: eth1, action: prohibit}]") == ""


def refused_in_red(desk: Desk, text: str) -> str:
    """What the guard says when the session ends inside a VRF, and outside of it another way leads to the peer."""
    desk.kernel = FakeKernel([LINKS[1], *IN_RED, *RULES, *IN_77])
    desk.kernel.ways = {
        PEER: Route("eth2", LOCAL),
        f"red {PEER}": Route("eth1", LOCAL, 77, 16),
        "10.0.0.3": Route("eth1"),
        "red 10.0.0.3": Route("eth2"),
    }
    desk.wants(text)
    try:
        Engine(desk.paths, session=Session(PEER, LOCAL), connect=lambda _netns: desk.kernel).apply()
    except GuardError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param("num_vfs: 4", True, id="another_number"),
        pytest.param("num_vfs: 0", True, id="none"),
        pytest.param("num_vfs: 2, vfs: {0: {vlan: 5}}", False, id="the_same_number"),
    ],
)
@pytest.mark.parametrize("card", ["eth2", "eth3"])
def test_card_keeps_the_functions_that_packets_leave_by(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, text: str, card: str, *, cut: bool
) -> None:
    there = [Object("link", ("eth3",), {"kind": "", "up": True}), Object("sriov", ("eth2",), {"num_vfs": 2})]
    monkeypatch.setattr(FakeCards, "cards", {"eth1": card})
    told = refused(desk, there, Route("eth1", LOCAL), f"links: {{eth2: {{{text}}}}}")
    assert ("sriov eth2 would cut the way of your session" in told) == (cut and card == "eth2")
    assert bool(told) == (cut and card == "eth2")
