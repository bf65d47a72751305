# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has, as configuration."""

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.kernel.usual import Likeness
from netgroupd.model.kinds.wireguard import ANOTHER_KEY
from netgroupd.model.route import BEHIND
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.value import Value
from netgroupd.model.vf import USUAL as USUAL_OF_FUNCTION
from netgroupd.model.vlan_global import USUAL
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.tc.atomic import placed
from tests.config.reading import desired

HTB = Object("qdisc", ("v0", "root"), {"kind": "htb", "handle": "1:"})
TOP = Object("tclass", ("v0", "1:1"), {"kind": "htb", "parent": "1:", "rate": 1000})
CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "handle": "ffff:"})


def _rule(pref: int, action: str) -> Object:
    return Object("filter", ("v0", "ingress", 0, pref, ()), {"kind": "matchall", "actions": ({"kind": action},)})


def test_qdiscs_and_actions_that_no_file_can_say_are_left_out() -> None:
    kept = (HTB, TOP, CLSACT, _rule(2, "gact 7"))
    qfq = Object("qdisc", ("v1", "root"), {"kind": "qfq", "handle": "2:"})
    below = Object("qdisc", ("v1", "2:1"), {"kind": "pfifo", "handle": "3:"})
    pie = Object("qdisc", ("v0", "1:1"), {"kind": "pie", "handle": "4:"})
    text = captured(State((*kept, qfq, below, pie, *(_rule(pref, "skbmod") for pref in (7, 8)))), {}, {})
    assert [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("#")] == [
        "qdisc v0 1:1",
        "qdisc v1 root",
        "filter v0 ingress pref [7-8]",
    ]
    found = desired(text, "actions: {gact 7: drop}", known=("v0",)).state
    assert {obj.key for obj in found if obj.cls != "link"} == {*(obj.key for obj in kept), ("gact", 7)}


def test_rules_whose_packets_go_nowhere_any_more_are_left_out() -> None:
    lost = Object("action", ("mirred", 7), {"actions": ({"kind": "mirred", "egress": "redirect"},)})
    rules = [_rule(pref, kind) for pref, kind in enumerate(("mirred 7", "mirred", "gact", "gact 8"), 1)]
    text = captured(State([CLSACT, lost, *rules]), {}, {})
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert len(comments) == 1
    assert "there is no action mirred to a link that is gone in a configuration" in comments[0]
    assert comments[0].endswith(": action mirred 7, filter v0 ingress pref [1-2]")
    assert [key[3] for key in desired(text, "actions: {gact 8: drop}", known=("v0",)).state.of("filter")] == [3, 4]


def _given(address: str, **attrs: Value) -> Object:
    return Object("address", ("v0", address, None), {"scope": "global", **attrs})


CARD = Object("link", ("v0",), {"kind": "", "up": True})


def test_address_that_ipv4_sends_from_stays_the_first_of_its_subnet() -> None:
    labelled = _given("10.1.0.1/24", label="v0:1")
    last = [_given(f"10.0.0.{number}/24") for number in (5, 3, 4, 6)]
    text = captured(State([CARD, labelled, *last, _given("10.1.0.2/24")]), {}, {})
    assert '["10.0.0.[5-6]/24", {address: "10.1.0.1/24", label: "v0:1"}, "10.0.0.[3-4]/24", "10.1.0.2/24"]' in text
    addresses = [str(key[1]) for key in desired(text, known=("v0",)).state.of("address")]
    assert addresses.index("10.1.0.1/24") < addresses.index("10.1.0.2/24")
    assert min(addresses.index(f"10.0.0.{number}/24") for number in (3, 4, 6)) > addresses.index("10.0.0.5/24")


DETAILED = '{address: "2001:db8::2/64", nodad: true}'


@pytest.mark.parametrize(
    ("told", "want"),
    [
        pytest.param((3, 2, 1), '"2001:db8::[1-3]/64"', id="by_number"),
        pytest.param((2, 3, 1), '"2001:db8::[1,3]/64", "2001:db8::2/64"', id="not_by_number"),
        pytest.param((3, -2, 1), f'"2001:db8::1/64", {DETAILED}, "2001:db8::3/64"', id="bare"),
        pytest.param((-2, 3, 1), f'"2001:db8::[1,3]/64", {DETAILED}', id="detailed"),
    ],
)
def test_ipv6_address_that_is_sent_from_is_the_last_that_is_given(told: tuple[int, ...], want: str) -> None:
    given = [_given(f"2001:db8::{abs(number)}/64", nodad=number < 0) for number in told]
    assert f"addresses: [{want}]" in captured(State([CARD, *given]), {}, {})


def test_what_a_vlan_has_from_the_link_below_it_goes_without_saying() -> None:
    usual: Attrs = {"up": False, "arp": True, "multicast": True, "gso_max_size": 65536}
    card = CARD._replace(attrs={**CARD.attrs, "arp": True, "multicast": False, "gso_max_size": 16000})
    vlan: Attrs = {"kind": "vlan", "link": "v0", "up": True, "arp": True}
    alike = Object("link", ("v0.5",), {**vlan, "id": 5, "multicast": False, "gso_max_size": 16000})
    other = Object("link", ("v0.6",), {**vlan, "id": 6, "multicast": True, "gso_max_size": 9000})
    down = Object("link", ("v0.7",), {**alike.attrs, "id": 7, "up": False})
    loose = Object("link", ("v0.8",), {**down.attrs, "id": 8, "loose_binding": True})
    text = captured(State((card, alike, other, down, loose)), {Likeness("vlan"): {**usual, "loose_binding": False}}, {})
    assert text == (
        "links:\n  v0:\n    up: true\n  v0.5:\n    kind: vlan\n    up: true\n"
        "  v0.6:\n    kind: vlan\n    up: true\n    multicast: true\n    gso_max_size: 9000\n"
        "  v0.7:\n    kind: vlan\n    up: false\n  v0.8:\n    kind: vlan\n    loose_binding: true\n"
    )


def test_option_that_a_bond_keeps_of_another_mode_is_left_out() -> None:
    bond = Object("link", ("b",), {"kind": "bond", "mode": "balance-xor", "lacp_rate": "fast"})
    assert "lacp" not in captured(State([bond]), {}, {})


def test_links_whose_names_only_quotes_can_hold() -> None:
    names = ["#c1", "#c2", 'a"b', "back\\s", "1e5", "yes", "*a", "é", "&a1", "&a2", "it's", "-a", "-", "007"]
    links = [Object("link", (name,), {"kind": "dummy"}) for name in names]
    found = desired(captured(State(links), {}, {})).state
    assert {key[0] for key in found.of("link")} == {*names}


def test_links_that_no_file_can_name_are_left_out_with_what_refers_to_them() -> None:
    unnamed = Object("link", ("g[1]",), {"kind": "", "up": True})
    with_it = [
        Object("link", ("up",), {"kind": "vlan", "link": "g[1]", "id": 5}),
        Object("address", ("up", "10.0.0.1/24", None), {}),
        Object("nexthop", (7,), {"dev": "g[1]"}),
        Object("nexthop", (8,), {"group": ({"id": 7, "weight": 1},)}),
        Object("route", ("inet", 254, "10.1.0.0/16", 0, 0), {"type": "unicast", "nhid": 8}),
        Object("route", ("inet", 254, "10.2.0.0/16", 0, 0), {"type": "unicast", "nexthops": ({"dev": "g[1]"},)}),
        Object("rule", ("inet", 9, ()), {"action": "lookup", "iif": "g[1]", "lookup": 5}),
        Object("sysctl", ("net/ipv4/conf/g[1]/forwarding",), {"value": "1"}),
    ]
    kept = CARD._replace(attrs={"kind": "", "up": True, "alias": "g[1]"})
    text = captured(State([unnamed, *with_it, kept, _given("10.0.0.1/24")]), {}, {})
    assert text.startswith("# left out with what refers to them (no file can name such links): g[1]\nlinks:\n  v0:\n")
    assert [obj.key for obj in desired(text, known=("v0",)).state] == [CARD.key, ("v0", "10.0.0.1/24", None)]


def test_route_by_where_packets_come_from_is_left_out() -> None:
    route = Object("route", ("inet6", 254, "2001:db8::/32 from fd00::/8", 0, 1024), {"type": "unicast", "dev": "v0"})
    text = captured(State([CARD, route]), {}, {})
    assert text.splitlines()[0].endswith(": 2001:db8::/32 from fd00::/8 table 254")
    assert not desired(text, known=("v0",)).state.of("route")


@pytest.mark.parametrize(
    "led",
    [
        Object("route", ("inet", 255, "192.0.2.0/24", 0, 0), {"type": "local", "dev": "lo"}),
        Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "unicast", "nexthops": ({"dev": "lo"},)}),
        Object("nexthop", (5,), {"dev": "lo"}),
        Object("nexthop", (5,), {"blackhole": True}),
    ],
    ids=lambda led: f"{led.cls} {[*led.attrs.values()]}",
)
def test_lo_is_up_where_something_leads_there(led: Object) -> None:
    loopback = Object("link", ("lo",), {"kind": "", "up": True})
    assert captured(State((loopback, led)), {}, {}).startswith("links:\n  lo:\n    up: true\n\n")
    assert captured(State((loopback,)), {}, {}) == "{}\n"


def test_address_that_others_have_given_for_a_time_is_left_out_and_told() -> None:
    passing = {"valid_lft": 5000, "preferred_lft": 4000}
    theirs, ours = _given("10.0.0.1/24", **passing, foreign_protocol=0), _given("10.0.1.1/24", **passing)
    text = captured(State((CARD, theirs, ours)), {}, {})
    assert text.splitlines()[0].endswith(" as DHCP does): address v0 10.0.0.1/24")
    assert [key[1] for key in desired(text, known=("v0",)).state.of("address")] == ["10.0.1.1/24"]


@pytest.mark.parametrize("cls", ["neighbour", "fdb"])
def test_what_the_kernel_keeps_in_a_hash_table_is_in_order(cls: str) -> None:
    link, keys = Object("link", ("v0",), {"kind": "bridge"}), []
    for number in (9, 10, 1, 30):
        mac = f"02:00:00:00:00:{number:02}"
        keys.append(("v0", f"10.0.0.{number}", False) if cls == "neighbour" else ("v0", mac, 0, "self", None, None))
    odd: Attrs = {"lladdr": "02:00:00:00:00:07"} if cls == "neighbour" else {"state": "static"}
    told = [Object(cls, key, odd if place % 2 else {**odd, "router": True}) for place, key in enumerate(keys)]
    text = captured(State((link, *told)), {}, {})
    assert captured(State((link, *reversed(told))), {}, {}) == text


def test_classes_are_in_order() -> None:
    root = Object("qdisc", ("v0", "root"), {"kind": "htb", "handle": "1:"})
    rates = {"1:6": 1000, "1:10": 2000, "1:2": 3000}
    told = [Object("tclass", ("v0", key), {"kind": "htb", "parent": "1:", "rate": rate}) for key, rate in rates.items()]
    assert captured(State((CARD, root, *reversed(told))), {}, {}) == captured(State((CARD, root, *told)), {}, {})


def test_neighbour_without_arp_is_captured_unless_its_link_has_none() -> None:
    link = CARD._replace(attrs={**CARD.attrs, "mac": "02:00:00:00:00:01"})
    found = [
        Object("neighbour", ("v0", f"10.0.0.{number}", False), {"state": "noarp", "lladdr": mac, "foreign_protocol": 4})
        for number, mac in ((1, "02:00:00:00:00:01"), (2, "02:00:00:00:00:02"))
    ]
    text = captured(State((link, *found)), {}, {})
    assert text.endswith('neighbours:\n  - {dev: v0, ip: "10.0.0.2", state: noarp, lladdr: "02:00:00:00:00:02"}\n')


@pytest.mark.parametrize(("below", "want"), [(1500, True), (1400, False)])
def test_vxlan_is_captured_with_an_mtu_that_it_can_have(below: int, *, want: bool) -> None:
    dev = Object("link", ("d0",), {"kind": "dummy", "mtu": below})
    vxlan = Object("link", ("x0",), {"kind": "vxlan", "id": 7, "dev": "d0", "mtu": 1450})
    assert ("mtu: 1450" in captured(State((dev, vxlan)), {}, {})) is want


def test_what_is_off_is_said_where_it_need_not_be_at_all() -> None:
    key = ("mpls", 254, "100", 0, 0)
    routes = [
        Object("route", (*key[:2], f"10{number}", 0, 0), {"dev": "v0", "onlink": False, **more})
        for number, more in enumerate(({"ttl_propagate": False}, {"ttl_propagate": True}, {}))
    ]
    found = desired(captured(State((CARD, *routes)), {}, {}), known=("v0",)).state.of("route").values()
    assert [route.attrs.get("ttl_propagate") for route in found] == [False, True, None]


def test_route_behind_another_is_told() -> None:
    first = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "unicast", "via": "10.0.0.2", "dev": "v0"})
    behind = Object("route", ("inet", 254, "10.0.0.0/8 via 10.0.0.3 dev v0", 0, 0), {BEHIND: True})
    text = captured(State((CARD, first, behind)), {}, {})
    assert text.splitlines()[0].endswith(" come before them): 10.0.0.0/8 via 10.0.0.3 dev v0 table 254")
    assert list(desired(text, known=("v0",)).state.of("route")) == [first.key]


def test_routes_beside_each_other_that_are_not_one_with_several_ways_are_left_out() -> None:
    ways: tuple[Value, ...] = ({"via": "2001:db8::9", "dev": "v0"}, {"dev": "v0"})
    routes = [
        Object("route", (family, 254, destination, 0, 1024), {"type": "unicast", "nexthops": ways})
        for family, destination in (("inet6", "2001:db8:1::/48"), ("inet", "10.0.0.0/8"))
    ]
    text = captured(State((CARD, *routes)), {}, {})
    assert text.splitlines()[0].endswith(": 2001:db8:1::/48 table 254")
    assert list(desired(text, known=("v0",)).state.of("route")) == [routes[1].key]


@pytest.mark.parametrize("numbers", [(None,), (0, 5)], ids=["hook", "chains"])
def test_policy_that_is_replaced_at_once_is_captured_as_such(numbers: tuple[int | None, ...]) -> None:
    where = [Object("chain", ("v0", "ingress", number), {"atomic": True}) for number in numbers]
    goto: Value = ({"kind": "gact", "control": "goto chain 5"},)
    rules = [
        Object("filter", ("v0", "ingress", number, 10, ()), {"kind": "flower", "protocol": "all", "actions": actions})
        for number, actions in ((0, goto), (5, ({"kind": "gact", "control": "drop"},)))
    ]
    want = State((CARD, CLSACT, *where, *rules))
    have = placed(want, State())
    found = desired(captured(have, {}, {}), known=("v0",)).state
    assert [list(found.of(cls)) for cls in ("chain", "filter")] == [list(want.of(cls)) for cls in ("chain", "filter")]
    assert {step.object.cls for step in singles(assemble(found, have, Owned()).steps)} == {"link"}


def test_keys_are_in_files_that_a_comment_tells_how_to_write() -> None:
    peer: Attrs = {"public_key": f"{'A' * 41}/A=", "allowed_ips": ("10.0.0.0/24",)}
    attrs: Attrs = {"kind": "wireguard", "private_key_file": ANOTHER_KEY}
    tunnels = [
        Object("link", ("wg0",), {**attrs, "peers": ({**peer, "preshared_key_file": ANOTHER_KEY},)}),
        Object("link", ("wg1",), {**attrs, "peers": (peer,)}),
        Object("link", ("wg2",), {"kind": "wireguard"}),
    ]
    text = captured(State(tunnels), {}, {})
    assert "#   umask 077" in text
    found = {link.name: link.attrs for link in desired(text).state.of("link").values()}
    assert [found[name].get("private_key_file") for name in ("wg0", "wg1", "wg2")] == [
        "/etc/wireguard/wg0.key",
        "/etc/wireguard/wg1.key",
        None,
    ]
    assert found["wg0"]["peers"] == ({**peer, "preshared_key_file": f"/etc/wireguard/wg0.{'A' * 41}-A=.psk"},)
    assert found["wg1"]["peers"] == (peer,)
    assert captured(State([tunnels[2]]), {}, {}).startswith("links:")


@pytest.mark.parametrize(
    ("bridge", "group", "vid", "kept"),
    [
        pytest.param({}, "239.1.1.1", 0, True, id="usual"),
        pytest.param({"vlan_filtering": True}, "239.1.1.1", 7, True, id="of_a_vlan"),
        pytest.param({"vlan_filtering": True}, "239.1.1.1", 0, False, id="from_before_vlans_were_told_apart"),
        pytest.param({"mcast_snooping": False}, "239.1.1.1", 0, False, id="from_before_it_ceased_to_look"),
        pytest.param({}, "2001:db8::1", 0, False, id="of_an_address_that_is_no_group"),
    ],
)
def test_groups_that_their_bridge_would_not_be_told_now_are_left_out(
    bridge: dict[str, Value], group: str, vid: int, kept: bool
) -> None:
    links = [
        Object("link", ("br",), {"kind": "bridge", "up": True, **bridge}),
        Object("link", ("p1",), {"kind": "dummy", "master": "br"}),
    ]
    entry = Object("mdb", ("br", "p1", group, vid, None), {"filter_mode": "exclude"})
    text = captured(State([*links, entry]), {}, {})
    assert [*desired(text).state.of("mdb")] == ([entry.key] if kept else [])
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments == ([] if kept else [f"# left out (they have what no configuration can say): mdb br p1 {group}"])


TREES: dict[str, Value] = {"kind": "bridge", "vlan_filtering": True, "mcast_vlan_snooping": True}


def _options(bridge: str, vid: int, **attrs: Value) -> Object:
    return Object("vlan_global", (bridge, vid), {**USUAL, **attrs})


def test_options_of_vlans_are_told_where_they_are_not_those_of_a_new_one() -> None:
    options = [
        _options("br", 1, mcast_startup_query_interval=3124),
        *(_options("br", vid, mcast_querier=True, mcast_igmp_version=3) for vid in (10, 11, 12, 20)),
        _options("br", 13, mcast_snooping=False, mcast_query_interval=500),
    ]
    vlans = [Object("bridge_vlan", ("br", vid), {}) for vid in (1, 10, 11, 12, 13, 20)]
    text = captured(State([Object("link", ("br",), TREES), *vlans, *options]), {}, {})
    assert (
        '    vlan_global: [{vid: "[10-12,20]", mcast_igmp_version: 3, mcast_querier: true}, '
        "{vid: 13, mcast_snooping: false, mcast_query_interval: 500}]\n"
    ) in text
    found = desired(text).state.of("vlan_global")
    assert {key: dict(obj.attrs) for key, obj in found.items()} == {
        **{("br", vid): {"mcast_querier": True, "mcast_igmp_version": 3} for vid in (10, 11, 12, 20)},
        ("br", 13): {"mcast_snooping": False, "mcast_query_interval": 500},
    }


def test_options_that_no_file_can_say_are_left_out() -> None:
    options = [_options("br", 10, mcast_querier=True), _options("br", 11, mcast_membership_interval=1 << 40)]
    vlans = [Object("bridge_vlan", ("br", vid), {}) for vid in (10, 11)]
    text = captured(State([Object("link", ("br",), TREES), *vlans, *options]), {}, {})
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# left out (they have what no configuration can say): vlan_global br vid 11"
    ]
    assert [*desired(text).state.of("vlan_global")] == [("br", 10)]


def _in_trees(**bridge: Value) -> str:
    """A port that is shut in VLAN 10, which is in a tree of its own, and open in VLAN 12."""
    links = [
        Object("link", ("br",), {**TREES, **bridge}),
        Object("link", ("p1",), {"kind": "dummy", "master": "br"}),
    ]
    vlans = [
        Object("bridge_vlan", ("p1", vid), {"state": "blocking" if vid < 12 else "forwarding"}) for vid in (10, 12)
    ]
    states = [Object("mst", ("p1", 3), {"state": "blocking"})] if bridge else []
    options = _options("br", 10, msti=3, mcast_querier=True)
    return captured(State([*links, *vlans, *states, options]), {}, {})


def test_spanning_trees_of_vlans_and_states_of_ports_in_them_are_told() -> None:
    text = _in_trees(mst_enabled=True)
    found = desired(text)
    assert "#" not in text
    assert found.problems == ()
    assert {(obj.cls, *obj.key): dict(obj.attrs) for obj in found.state if obj.cls != "link"} == {
        ("bridge_vlan", "p1", 10): {},
        ("bridge_vlan", "p1", 12): {},
        ("mst", "p1", 3): {"state": "blocking"},
        ("vlan_global", "br", 10): {"mcast_querier": True, "msti": 3},
    }


def test_spanning_tree_of_a_bridge_that_keeps_one_state_is_told_to_be_left_out() -> None:
    text = _in_trees()
    found = desired(text)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# left out (their bridges keep one spanning tree state for all VLANs, msti): br vid 10"
    ]
    assert found.problems == ()
    assert {(obj.cls, *obj.key): dict(obj.attrs) for obj in found.state if obj.cls != "link"} == {
        ("bridge_vlan", "p1", 10): {"state": "blocking"},
        ("bridge_vlan", "p1", 12): {},
        ("vlan_global", "br", 10): {"mcast_querier": True},
    }


def _function(card: str, number: int, **attrs: Value) -> Object:
    return Object("vf", (card, number), {**USUAL_OF_FUNCTION, "spoofchk": False, **attrs})


def test_functions_are_written_as_ranges_beside_the_macs_that_each_has() -> None:
    cards = [Object("link", (name,), {"kind": "", "up": True}) for name in ("eth0", "eth1")]
    numbers = [Object("sriov", (name,), {"num_vfs": 4}) for name in ("eth0", "eth1")]
    functions = [
        _function(name, number, mac=f"02:00:00:00:0{card}:0{number}", trust=number > 0, vlan=10 + card)
        for card, name in enumerate(("eth0", "eth1"))
        for number in range(4)
    ]
    actual = State([*cards, *numbers, *functions])
    text = captured(actual, {}, {})
    found = desired(text, known=("eth0", "eth1"))
    assert found.problems == ()
    assert {key: dict(obj.attrs) for key, obj in found.state.of("vf").items()} == {
        vf.key: {name: value for name, value in vf.attrs.items() if USUAL_OF_FUNCTION.get(name) != value}
        for vf in functions
    }
    assert {key: dict(obj.attrs) for key, obj in found.state.of("sriov").items()} == {
        one.key: dict(one.attrs) for one in numbers
    }
    assert '"[1-3]": {vlan: ' in text


def test_cards_without_functions_say_nothing_of_them() -> None:
    card = Object("link", ("eth0",), {"kind": "", "up": True})
    text = captured(State([card, Object("sriov", ("eth0",), {"num_vfs": 0})]), {}, {})
    assert "vfs" not in text
