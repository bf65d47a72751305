# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic control that would lose the packets of a session or of the default route: refused where it surely would."""

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.layer3.ways import Route
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from tests.engine.desk import Desk
from tests.engine.guard_tc_cases import (
    DROP_ALL,
    FROM_PEER,
    IFBS,
    LOCAL,
    NO_ROOM,
    OF_SESSION,
    PEER,
    ROOM,
    SESSION,
    TO_PEER,
    TREES,
    by_ifb,
    hook,
)

ALL = frozenset({"eth1", "eth2", "eth1.5", "br0"})


def link(name: str, **attrs: int | str) -> Object:
    return Object("link", (name,), {"kind": "", "up": True, "mtu": 1500, **attrs})


LINKS = (link("eth1"), link("eth2"), link("ifb0", kind="ifb"), link("tun0", arp=0))
VLAN = link("eth1.5", kind="vlan", link="eth1", id=5, protocol="802.1q")


def refused(
    desk: Desk, now: str, then: str, way: str = "eth1", session: Session = SESSION, links: tuple[Object, ...] = LINKS
) -> str:
    """What the guard says of going from one configuration to another."""
    desk.kernel = FakeKernel(links)
    destination, source = (session.peer, session.local) if session.peer else ("192.0.2.1", LOCAL)
    desk.kernel.ways = {destination: Route(way, source)}
    engine = Engine(desk.paths, session=session, connect=lambda _netns: desk.kernel)
    if now:
        desk.wants(now)
        engine.apply(allow=ALL)
    messages = desk.kernel.messages
    desk.wants(then)
    try:
        engine.apply()
    except GuardError as error:
        assert desk.kernel.messages == messages
        return str(error)
    return ""


@pytest.mark.parametrize(("now", "then", "cut"), [pytest.param(*row[1:], id=row[0]) for row in OF_SESSION])
def test_rule_that_loses_what_comes_from_the_peer_is_refused(desk: Desk, now: str, then: str, cut: bool) -> None:
    told = refused(desk, hook(now) if now else "", hook(then))
    assert bool(told) == cut, told
    assert ("would cut the way of your session from 10.9.0.7; --allow eth1" in told) == cut


@pytest.mark.parametrize(
    ("rule", "cut"),
    [
        pytest.param(f"{{pref: 9, protocol: ip, flower: {{{TO_PEER}}}, action: drop}}", True, id="to_the_peer"),
        pytest.param(f"{{pref: 9, protocol: ip, flower: {{{FROM_PEER}}}, action: drop}}", False, id="from_the_peer"),
        pytest.param("{pref: 9, protocol: arp, flower: {arp_op: 1}, action: drop}", True, id="requests_of_arp"),
        pytest.param(
            "{pref: 9, matchall: {}, action: {mirred: {egress: redirect, dev: eth2}}}", True, id="by_another_link"
        ),
    ],
)
def test_rule_that_loses_what_goes_to_the_peer_is_refused(desk: Desk, rule: str, cut: bool) -> None:
    assert bool(refused(desk, "", hook(rule, "egress"))) == cut
    assert refused(desk, "", hook(rule, "egress", "eth2")) == ""


@pytest.mark.parametrize(
    ("rule", "cut"),
    [
        pytest.param(DROP_ALL, True, id="all"),
        pytest.param("{pref: 9, protocol: ip, flower: {}, action: drop}", True, id="all_of_ip"),
        pytest.param("{pref: 9, protocol: arp, matchall: {}, action: drop}", True, id="all_of_arp"),
        pytest.param("{pref: 9, protocol: ipv6, matchall: {}, action: drop}", False, id="all_of_ipv6"),
        pytest.param("{pref: 9, protocol: ip, flower: {ip_proto: tcp}, action: drop}", False, id="all_of_tcp"),
        pytest.param("{pref: 9, protocol: ip, flower: {src_ip: 10.0.0.0/8}, action: drop}", False, id="a_network"),
        pytest.param("{pref: 9, protocol: ip, u32: {match: 0x0/0x0 at 0}, action: drop}", True, id="u32_of_ip"),
    ],
)
def test_default_route_needs_some_packets_of_its_protocol(desk: Desk, rule: str, cut: bool) -> None:
    told = refused(desk, "", hook(rule), session=Session())
    assert ("would cut the way of the default route" in told) == cut
    told = refused(desk, "", hook(rule, "egress"), session=Session())
    assert ("would cut the way of the default route" in told) == cut


def test_replies_of_arp_are_needed_though_requests_of_the_peer_tell_as_much_for_a_while(desk: Desk) -> None:
    assert "--allow eth1" in refused(desk, "", hook("{pref: 9, protocol: arp, flower: {arp_op: 2}, action: drop}"))


@pytest.mark.parametrize("rule", ["{icmp_type: 136, ip_proto: icmpv6}", "{ip_proto: icmpv6}"])
def test_neighbours_of_ipv6_are_found(desk: Desk, rule: str) -> None:
    session = Session("2001:db8::7", "2001:db8:1::5")
    then = hook(f"{{pref: 9, protocol: ipv6, flower: {rule}, action: drop}}")
    assert "create filter eth1 ingress pref 9" in refused(desk, "", then, session=session)
    assert refused(desk, "", hook("{pref: 9, protocol: arp, flower: {}, action: drop}"), session=session) == ""


def test_link_without_arp_needs_none(desk: Desk) -> None:
    rule = hook("{pref: 9, protocol: arp, flower: {}, action: drop}", where="tun0")
    assert refused(desk, "", rule, links=(*LINKS[:-1], link("tun0", arp=False)), way="tun0") == ""


def test_unknown_ports_are_not_guessed(desk: Desk) -> None:
    unknown = SESSION._replace(local_port=0)
    rule = "{pref: 9, protocol: ip, flower: {ip_proto: tcp, dst_port: 22}, action: drop}"
    assert refused(desk, "", hook(rule), session=unknown) == ""
    passed = "{pref: 9, protocol: ip, flower: {ip_proto: tcp, dst_port: 22}}"
    arp = "{pref: 1, protocol: arp, flower: {}}"
    assert refused(desk, "", hook(f"{passed}, {arp}, {DROP_ALL}"), session=unknown) == ""


TAGGED = "links: {eth1: {}, eth1.5: {}}\n"


@pytest.mark.parametrize(
    ("where", "rule", "cut"),
    [
        pytest.param("eth1", DROP_ALL, True, id="all_below"),
        pytest.param("eth1", "{pref: 9, protocol: ip, flower: {}, action: drop}", False, id="untagged_below"),
        pytest.param("eth1", "{pref: 9, protocol: 802.1q, flower: {}, action: drop}", True, id="tagged_below"),
        pytest.param("eth1", "{pref: 9, protocol: 802.1q, flower: {vlan_id: 5}, action: drop}", True, id="its_vlan"),
        pytest.param("eth1", "{pref: 9, protocol: 802.1q, flower: {vlan_id: 6}, action: drop}", False, id="another"),
        pytest.param(
            "eth1",
            f"{{pref: 9, protocol: 802.1q, flower: {{vlan_id: 5, vlan_ethtype: ip, {FROM_PEER}}}, action: drop}}",
            True,
            id="its_peer_in_its_vlan",
        ),
        pytest.param(
            "eth1",
            "{pref: 9, protocol: 802.1q, flower: {vlan_id: 5, vlan_ethtype: ipv6}, action: drop}",
            False,
            id="another_protocol_in_its_vlan",
        ),
        pytest.param(
            "eth1", "{pref: 9, protocol: 802.1q, flower: {vlan_prio: 3}, action: drop}", False, id="a_priority"
        ),
        pytest.param("eth1", "{pref: 9, flower: {num_of_vlans: 1}, action: drop}", True, id="one_tag"),
        pytest.param("eth1.5", "{pref: 9, protocol: ip, flower: {}, action: drop}", True, id="untagged_above"),
        pytest.param("eth1.5", "{pref: 9, protocol: 802.1q, flower: {}, action: drop}", False, id="tagged_above"),
        pytest.param("eth2", DROP_ALL, False, id="elsewhere"),
    ],
)
def test_packets_of_a_vlan_have_its_tag_on_the_link_below(desk: Desk, where: str, rule: str, cut: bool) -> None:
    then = TAGGED + hook(rule, where=where)
    told = refused(desk, "", then, way="eth1.5", links=(*LINKS, VLAN))
    assert (f"--allow {where} " in told) == cut, told


def test_links_of_the_way_are_known_whole_where_a_plan_only_adds(desk: Desk) -> None:
    links = (*LINKS[:3], link("tun0", arp=False), VLAN)
    now = "links: {eth1: {}, eth1.5: {}, tun0: {}%s}\n"
    rule = hook("{pref: 9, protocol: 802.1q, flower: {vlan_id: 5}, action: drop}")
    added = now % ", d0: {kind: dummy}"
    assert "--allow eth1" in refused(desk, now % "", added + rule, way="eth1.5", links=links)
    rule = hook("{pref: 9, protocol: arp, flower: {}, action: drop}", where="tun0")
    assert refused(desk, now % "", added + rule, way="tun0", links=links) == ""


def test_port_of_the_bridge_of_the_way_is_looked_at(desk: Desk) -> None:
    links = (link("br0", kind="bridge"), link("eth1", master="br0"), link("eth2"))
    for where in ("br0", "eth1"):
        assert f"--allow {where}" in refused(desk, "", hook(DROP_ALL, where=where), way="br0", links=links)


def test_nothing_is_known_inside_of_a_tunnel(desk: Desk) -> None:
    links = (*LINKS, link("vx0", kind="vxlan", link="eth1"))
    peers = hook("{pref: 9, protocol: ip, flower: {src_ip: 10.0.0.0/8}, action: drop}")
    assert refused(desk, "", peers, way="vx0", links=links) == ""
    assert "--allow eth1" in refused(desk, "", hook(DROP_ALL), way="vx0", links=links)


IN_BLOCK = "tc: {eth1: {ingress_block: 7}, block 7: {filters: [%s]}}"
OF_ANOTHER = f"tc: {{block 7: {{filters: [{DROP_ALL}]}}, eth2: {{ingress_block: 7}}}}"
OF_BOTH = f"tc: {{block 7: {{filters: [{DROP_ALL}]}}, eth2: {{ingress_block: 7}}, eth1: {{ingress_block: 7}}}}"
ON_THE_WAY_OUT = f"tc: {{block 7: {{filters: [{DROP_ALL}]}}, eth1: {{egress_block: 7}}}}"
PASS_ALL = "{pref: 90, matchall: {}}"


@pytest.mark.parametrize(
    ("now", "then", "cut"),
    [
        pytest.param("", IN_BLOCK % DROP_ALL, True, id="hook_and_block"),
        pytest.param(IN_BLOCK % PASS_ALL, IN_BLOCK % DROP_ALL, True, id="rule_of_the_block"),
        pytest.param(
            OF_ANOTHER,
            OF_BOTH,
            True,
            id="hook_that_comes_into_it",
        ),
        pytest.param("", OF_ANOTHER, False, id="of_another_link"),
        pytest.param("", ON_THE_WAY_OUT, True, id="on_the_way_out"),
        pytest.param(IN_BLOCK % DROP_ALL, "tc: {eth1: {ingress: []}}", False, id="hook_that_leaves_it"),
    ],
)
def test_shared_block_that_a_hook_of_the_way_is_in_is_looked_at(desk: Desk, now: str, then: str, cut: bool) -> None:
    assert ("--allow eth1" in refused(desk, now, then)) == cut


@pytest.mark.parametrize(
    ("now", "then", "cut"), [("pass", "drop", True), ("drop", "pass", False)], ids=["to_drop", "to_pass"]
)
def test_shared_action_that_changes_alone_is_looked_at(desk: Desk, now: str, then: str, cut: bool) -> None:
    text = "{actions: {gact 7: {control: %s}}, tc: {eth1: {ingress: [{pref: 1, matchall: {}, action: gact 7}]}}}"
    told = refused(desk, text % now, text % then)
    assert ("change action gact 7 would cut" in told) == cut


def test_shared_action_that_rewrites_is_looked_at(desk: Desk) -> None:
    text = "{actions: {pedit 7: {munge: {ip dst: 10.0.0.9}}}, tc: {eth1: {ingress: [%s, action: pedit 7}]}}}"
    assert "--allow eth1" in refused(desk, "", text % "{pref: 9, protocol: ip, matchall: {}")
    assert refused(desk, "", text % "{pref: 9, protocol: ipv6, matchall: {}") == ""


def test_shared_action_that_decides_is_told_whatever_else_changes(desk: Desk) -> None:
    text = "actions: {gact 7: {control: %s}}\ntc: {eth1: {ingress: [%s{pref: 9, matchall: {}, action: gact 7}]}}"
    other = "{pref: 1, protocol: ip, flower: {src_ip: 10.9.0.8}}, "
    told = refused(desk, text % ("pass", other), text % ("drop", ""))
    assert told.startswith(f"{desk.config}/all.yaml:1: to change action gact 7 would cut")


ATOMIC = "tc: {eth1: {chains: [{parent: ingress, chain: 0, atomic: true}], ingress: [%s]}}"


def test_chain_that_is_replaced_as_a_whole_is_looked_at_as_it_will_be(desk: Desk) -> None:
    drop = f"{{pref: 9, protocol: ip, flower: {{{FROM_PEER}}}, action: drop}}"
    other = "{pref: 9, protocol: ip, flower: {src_ip: 10.9.0.8}, action: drop}"
    assert "all.yaml:1: to create filter eth1 ingress pref 9 src_ip 10.9.0.7 would" in refused(
        desk, ATOMIC % other, ATOMIC % f"{other}, {drop}"
    )
    assert refused(desk, ATOMIC % other, ATOMIC % f"{{pref: 1, matchall: {{}}}}, {drop}") == ""


def test_step_that_decides_is_told(desk: Desk) -> None:
    others = ", ".join(f"{{pref: {n}, protocol: ip, flower: {{src_ip: 10.9.1.{n}}}}}" for n in range(1, 9))
    told = refused(desk, hook(others), hook(f"\n {others},\n {DROP_ALL}"))
    assert told.splitlines() == [
        f"{desk.config}/all.yaml:3: to create filter eth1 ingress pref 90 would cut the way of your session from "
        "10.9.0.7; --allow eth1 says that it is meant"
    ]
    keep = f"{{pref: 9, matchall: {{}}}}, {DROP_ALL}"
    assert refused(desk, hook(keep), hook(DROP_ALL)).startswith("to delete filter eth1 ingress pref 9 would cut")


@pytest.mark.parametrize(("now", "then", "cut"), [pytest.param(*row[1:], id=row[0]) for row in IFBS])
def test_ifb_that_loses_what_is_redirected_to_it_is_refused(desk: Desk, now: str, then: str, cut: bool) -> None:
    told = refused(desk, now, then)
    assert ("would cut the way of your session from 10.9.0.7; --allow eth1" in told) == cut, told


def test_step_that_makes_an_ifb_lose_all_is_told(desk: Desk) -> None:
    told = refused(desk, by_ifb(ROOM), by_ifb(NO_ROOM))
    assert "to create qdisc ifb0 root would cut" in told or "to change qdisc ifb0 root would cut" in told


def test_ifb_behind_another_one_is_looked_at_and_one_that_leads_to_itself_not_for_ever(desk: Desk) -> None:
    links = (*LINKS, link("ifb1", kind="ifb"))
    on = "egress: [{pref: 1, matchall: {}, action: {mirred: {egress: redirect, dev: %s}}}]"
    behind = by_ifb(on % "ifb1")[:-1] + ", ifb1: {%s}}"
    assert "eth1" in refused(desk, behind % ROOM, behind % NO_ROOM, links=links)
    assert "eth1" in refused(desk, by_ifb(""), by_ifb(on % "ifb0"), links=links)


_THEIR_HOOK = (
    Object("qdisc", ("eth1", "clsact"), {"kind": "clsact", "handle": "ffff:", "hooks": ()}),
    Object(
        "filter",
        ("eth1", "ingress", 0, 1, ()),
        {"kind": "matchall", "protocol": "all", "actions": ({"kind": "mirred", "egress": "redirect", "dev": "ifb0"},)},
    ),
)


def test_ifb_that_another_tool_redirects_the_session_to_is_looked_at(desk: Desk) -> None:
    lost = f"tc: {{ifb0: {{{NO_ROOM}}}}}"
    assert "--allow eth1" in refused(desk, "", lost, links=(*LINKS, *_THEIR_HOOK))
    assert refused(desk, "", lost) == ""


def test_queue_of_a_link_that_is_no_ifb_is_nothing_to_what_is_mirrored_to_it(desk: Desk) -> None:
    mirrored = "tc: {eth1: {ingress: [{pref: 9, matchall: {}, action: {mirred: {egress: mirror, dev: eth2}}}]}, "
    assert refused(desk, "", f"{mirrored} eth2: {{{NO_ROOM}}}}}") == ""


@pytest.mark.parametrize(("then", "cut"), [pytest.param(*row[1:], id=row[0]) for row in TREES])
def test_tree_of_qdiscs_that_loses_all_is_refused(desk: Desk, then: str, cut: bool) -> None:
    told = refused(desk, "", then)
    assert ("--allow eth1" in told) == cut, told


def test_cut_that_is_allowed_is_made(desk: Desk) -> None:
    desk.kernel = FakeKernel(LINKS)
    desk.kernel.ways = {PEER: Route("eth1", LOCAL)}
    desk.wants(hook(DROP_ALL))
    engine = Engine(desk.paths, session=SESSION, connect=lambda _netns: desk.kernel)
    engine.apply(allow=frozenset({"eth1"}))
    assert not engine.diff().steps


def test_ports_of_a_session_are_read() -> None:
    assert Session.from_ssh("::ffff:10.9.0.7 40000 10.0.0.5 22") == SESSION
    assert Session.from_ssh("10.9.0.7 x 10.0.0.5 22") == SESSION._replace(peer_port=0)


class _Counting(FakeKernel):
    """Counts how often it is asked for links."""

    asked = 0

    def dump(self, selection: Selection) -> State:
        self.asked += "link" in selection.classes
        return super().dump(selection)


def test_links_that_a_plan_knows_are_not_asked_for_again(desk: Desk) -> None:
    counts = []
    for count in (1, 50):
        ports = [link(f"p{number}") for number in range(count)]
        desk.kernel = kernel = _Counting((*LINKS, *ports))
        kernel.ways = {PEER: Route("eth1", LOCAL)}
        desk.wants("tc: {" + ", ".join(f"{port.name}: {{{NO_ROOM}}}" for port in ports) + "}")
        engine = Engine(desk.paths, session=SESSION, connect=lambda _netns: desk.kernel)
        engine.apply()
        counts.append(kernel.asked)
    assert counts[0] == counts[1]
