# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guard refuses ends a session that comes in, and what it lets pass does not: each row is asked of both."""

import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from tests.engine.guard_tc_cases import LOCAL, PEER, SESSION
from tests.vm.test_guard_links import engine_in, ip, on, reaches, server
from tests.waiting import eventually

__all__ = ["Case", "agrees", "server"]

_OTHER_MAC = "02:00:00:00:09:09"
_OTHER_END = f"-n there link set eth1 address {_OTHER_MAC}\n-n there address add {PEER}/8 dev eth1"
_DIRECT = f"-n here address add {LOCAL}/8 dev eth1\n{_OTHER_END}"
_IN_RED = f"""\
netns exec here sysctl -qw net.ipv4.tcp_l3mdev_accept=1
-n here link add red up type vrf table 77
-n here link set eth1 master red
{_DIRECT}"""
# A router that answers for itself alone, and asks as itself.
_ROUTED = f"""\
netns exec there sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
-n here address add {LOCAL}/32 dev eth1
-n there address add {PEER}/32 dev lo
-n there link set lo up
-n there route add {LOCAL}/32 via 192.0.2.1
-n here route add 10.9.0.0/16 via 192.0.2.2"""
_NEAR = (
    f"{_OTHER_END}\n-n here route add {PEER}/32 dev eth1\n-n here link set lo up\n-n here address add {LOCAL}/32 dev "
)
_BRIDGED = f"""\
-n here link add d9 up type dummy
-n here link add br0 up address 02:00:00:00:09:08 type bridge vlan_filtering 1
-n here link set eth1 master br0
-n here address add {LOCAL}/8 dev br0
{_OTHER_END}"""
_VXLAN = "type vxlan id 5 dstport 4789 dev eth1"
_TUNNEL = f"""\
-n here link add x {_VXLAN} remote 192.0.2.2
-n there link add x address {_OTHER_MAC} {_VXLAN} remote 192.0.2.1
-n here address add {LOCAL}/8 dev x
-n there address add {PEER}/8 dev x
-n here link set x up
-n there link set x up"""
# What comes for an address of one link is answered by another.
_APART = f"""\
-n here link add eth2 up type veth peer name eth2 netns there
-n there link set eth2 up
-n here address add {LOCAL}/24 dev eth2
-n there address add 10.0.0.1/24 dev eth2
-n there address add {PEER}/32 dev lo
-n there link set lo up
-n here route add {PEER}/32 via 192.0.2.2"""
# Who comes by a gateway, which leads by the only address there is.
_AROUND = f"""\
-n here address flush dev eth1
-n there address add 10.0.0.1/24 dev eth1
-n there address add {PEER}/32 dev lo
-n there link set lo up"""
_GRE = "type gre local 192.0.2.%d remote 192.0.2.%d"
_KEY = "00112233445566778899aabbccddeeff"


def _secured() -> str:
    lines = []
    for space, own, other, address in (("here", 1, 2, LOCAL), ("there", 2, 1, PEER)):
        lines += [
            f"-n {space} link add link eth1 name sec0 address 02:00:00:00:01:0{own} type macsec port 1 encrypt on",
            f"-n {space} macsec add sec0 tx sa 0 pn 1 on key 01 {_KEY}",
            f"-n {space} macsec add sec0 rx port 1 address 02:00:00:00:01:0{other}",
            f"-n {space} macsec add sec0 rx port 1 address 02:00:00:00:01:0{other} sa 0 pn 1 on key 01 {_KEY}",
            f"-n {space} address add {address}/8 dev sec0",
            f"-n {space} link set dev sec0 up",
        ]
    return "\n".join(lines)


_SIDE = f"""\
-n here link add s1 type dummy
-n here link add s2 type dummy
{_OTHER_END}"""
_RING = (
    "links: {s1: {up: true}, s2: {up: %s}, eth1: {up: %s}, h: {kind: hsr, slave1: s1, slave2: s2, interlink: eth1,"
    f" supervision: 45, version: 1, up: true, addresses: [{LOCAL}/8]}}}}"
)
_OF_TABLE_9 = "routes: [{to: 10.0.0.0/8, dev: eth1, table: 9}]\nrules: [%s{pref: 9, lookup: 9}, {pref: 50, lookup: 10}]"
_PORT = "links: {br0: {kind: bridge, ports: [eth1, d9]}, eth1: {%s}, d9: {%s}}"
_PLAIN = _PORT % ("", "")
_NO_MORE = "port: {flood: false, learning: false}"


def _entry(mac: str, more: str = "") -> str:
    return f"fdb: [{{mac: '{mac}', where: master{more}}}]"


def _vlan(untagged: str) -> str:
    return _PORT % (f"vlans: [{{vid: 1, pvid: true, untagged: {untagged}}}]", "")


class Case(NamedTuple):
    """What there is, what comes, whether that ends the session, what there is of it by files, and beside these."""

    setup: str
    then: str
    ends: bool
    now: str = ""
    beside: str = ""


def _here(attrs: str, link: str = "d8") -> str:
    return f"links: {{{link}: {{{'kind: dummy, up: true, ' * (link == 'd8')}addresses: [{attrs}]}}}}"


CASES = {
    **{
        f"{kind}_to_the_own_address_in_{where}": Case(
            setup, f"routes: [{{to: {LOCAL}/32, type: {kind}{dev}, table: {table}}}]", kind != "local"
        )
        for where, setup, table in (("a_vrf", _IN_RED, "77"), ("the_table_of_this_host", _DIRECT, "local"))
        for kind, dev in (
            ("blackhole", ""), ("unreachable", ""), ("prohibit", ""), ("throw", ""), ("broadcast", ", dev: eth1"),
            ("local", ", dev: eth1"),
        )
    },
    "blackhole_behind_the_own_address_in_a_vrf": Case(
        _IN_RED, f"routes: [{{to: {LOCAL}/32, type: blackhole, table: 77, metric: 5}}]", False
    ),
    "blackhole_around_the_own_address_in_a_vrf": Case(
        _IN_RED, "routes: [{to: 10.0.0.0/24, type: blackhole, table: 77}]", False
    ),
    "blackhole_to_the_own_address_in_main": Case(_DIRECT, f"routes: [{{to: {LOCAL}/32, type: blackhole}}]", False),
    "goto_to_where_no_rule_is": Case(_DIRECT, "rules: [{pref: 9, goto: 40000}]", False),
    "goto_to_a_rule_behind": Case(_DIRECT, "rules: [{pref: 9, goto: 40000}, {pref: 40000, lookup: 9}]", True),
    "goto_to_the_last_rule": Case(_DIRECT, "rules: [{pref: 9, goto: 32767}]", True),
    "goto_over_others": Case(_DIRECT, "rules: [{pref: 9, goto: 50}, {pref: 50, lookup: 10}]", False),
    "goto_over_the_one_in_use": Case(
        _DIRECT.replace(f"{LOCAL}/8 dev eth1", f"{LOCAL}/8 dev eth1 noprefixroute", 1),
        _OF_TABLE_9 % "{pref: 5, goto: 50}, ", True, _OF_TABLE_9 % "",
    ),
    "rule_for_no_mark": Case(_DIRECT, "rules: [{pref: 9, fwmark: 0x0/0xff, action: prohibit}]", True),
    "rule_for_a_mark": Case(_DIRECT, "rules: [{pref: 9, fwmark: 0x1/0xff, action: prohibit}]", False),
    "rule_for_root": Case(_DIRECT, "rules: [{pref: 9, uidrange: 0-999, action: prohibit}]", True),
    "rule_for_another_user": Case(_DIRECT, "rules: [{pref: 9, uidrange: 1000-9999, action: prohibit}]", False),
    "route_by_another_gateway": Case(_ROUTED, f"routes: [{{to: {PEER}/32, via: 192.0.2.9}}]", True),
    "route_by_the_same_gateway": Case(_ROUTED, f"routes: [{{to: {PEER}/32, via: 192.0.2.2}}]", False),
    "route_past_the_gateway": Case(_ROUTED, f"routes: [{{to: {PEER}/32, dev: eth1}}]", True),
    "route_with_labels": Case(
        _ROUTED, f"routes: [{{to: {PEER}/32, via: 192.0.2.2, dev: eth1, encap: {{type: mpls, labels: [5]}}}}]", True
    ),
    "route_that_the_connected_one_covers": Case(
        _DIRECT, "links: {eth1: {}}", False, f"routes: [{{to: {PEER}/32, dev: eth1}}]"
    ),
    "route_that_another_of_ours_covers": Case(
        _ROUTED, "routes: [{to: 10.9.0.0/20, via: 192.0.2.2}]", False,
        f"routes: [{{to: {PEER}/32, via: 192.0.2.2}}, {{to: 10.9.0.0/20, via: 192.0.2.2}}]",
    ),
    "route_that_one_of_others_covers": Case(
        _ROUTED, "links: {eth1: {}}", False, f"routes: [{{to: {PEER}/32, via: 192.0.2.2}}]"
    ),
    "route_in_front_of_one_of_others_that_leads_elsewhere": Case(
        f"{_DIRECT}\n-n here link add d9 up type dummy\n-n here link set lo up\n-n here route add 10.9.0.0/16 dev d9",
        "links: {eth1: {}}", True, f"routes: [{{to: {PEER}/32, dev: eth1}}]",
    ),
    "route_in_front_of_one_that_goes_too": Case(
        _ROUTED.replace("\n-n here route add 10.9.0.0/16 via 192.0.2.2", ""), "links: {eth1: {}}", True,
        f"routes: [{{to: {PEER}/32, via: 192.0.2.2}}, {{to: 10.9.0.0/20, via: 192.0.2.2}}]",
    ),
    "subnet_past_the_gateway": Case(_ROUTED, _here("10.9.0.1/24", "eth1"), True),
    "address_of_the_other_end": Case(_DIRECT, _here(f"{PEER}/32"), True),
    "address_of_the_other_end_on_the_same_link": Case(_DIRECT, _here(f"{PEER}/32", "eth1"), True),
    "broadcast_to_the_other_end": Case(_DIRECT, _here(f"{{address: 10.7.0.1/24, broadcast: {PEER}}}"), True),
    "broadcast_to_the_own_address": Case(_DIRECT, _here(f"{{address: 10.7.0.1/24, broadcast: {LOCAL}}}"), False),
    "broadcast_to_the_gateway": Case(_ROUTED, _here("{address: 192.0.2.77/24, broadcast: 192.0.2.2}", "eth1"), True),
    "subnet_that_the_other_end_is_the_last_of": Case(_DIRECT, _here("10.9.0.6/29", "eth1"), True),
    "subnet_that_the_other_end_is_within": Case(_DIRECT, _here("10.9.0.6/28", "eth1"), False),
    "no_arp_for_other_links": Case(f"{_NEAR}lo", "sysctl: {net.ipv4.conf.eth1.arp_ignore: 1}", True),
    "no_arp_for_other_links_than_its_own": Case(f"{_NEAR}eth1", "sysctl: {net.ipv4.conf.eth1.arp_ignore: 1}", False),
    "no_arp_out_of_other_subnets": Case(
        _OTHER_END + f"\n-n here route add {PEER}/32 dev eth1", _here(f"{LOCAL}/32", "eth1")
        + "\nsysctl: {net.ipv4.conf.eth1.arp_ignore: 2}", True, _here(f"{LOCAL}/32", "eth1"),
    ),
    **{
        f"{name}_on_{where}": Case(setup, f"sysctl: {{net.ipv4.conf.{link}.{name}: {value}}}", ends)
        for where, setup, name, link, value, ends in (
            ("the_link_that_it_comes_by", _APART, "rp_filter", "eth2", 1, True),
            ("all", _APART, "rp_filter", "all", 1, True),
            ("the_link_that_it_leaves_by", _APART, "rp_filter", "eth1", 1, False),
            ("the_only_link", _DIRECT, "rp_filter", "eth1", 1, False),
            ("the_link_that_it_comes_by", _APART, "arp_filter", "eth2", 1, True),
            ("the_only_link", _DIRECT, "arp_filter", "eth1", 1, False),
        )
    },
    "loose_rp_filter": Case(_APART, "sysctl: {net.ipv4.conf.eth2.rp_filter: 2}", False),
    "rp_filter_that_is_loose_for_all": Case(
        _APART, "sysctl: {net.ipv4.conf.eth2.rp_filter: 1, net.ipv4.conf.all.rp_filter: 2}", False
    ),
    "rp_filter_that_is_loose_for_all_already": Case(
        f"{_APART}\nnetns exec here sysctl -qw net.ipv4.conf.all.rp_filter=2",
        "sysctl: {net.ipv4.conf.eth2.rp_filter: 1}", False,
    ),
    **{
        f"rp_filter_that_is_loose_for_{link}_no_more": Case(
            f"{_APART}\nnetns exec here sysctl -qw net.ipv4.conf.{link}.rp_filter=2 net.ipv4.conf.{other}.rp_filter=1",
            f"sysctl: {{net.ipv4.conf.{link}.rp_filter: 0}}", True,
        )
        for link, other in (("all", "eth2"), ("eth2", "all"))
    },
    "rp_filter_on_a_link_of_nobody": Case(
        f"-n here link add d9 up type dummy\n-n here link set lo up\n{_NEAR}d9",
        "sysctl: {net.ipv4.conf.all.rp_filter: 1}", False,
    ),
    **{
        f"dev_of_{kind}_where_none_was_{where}": Case(
            f"-n here link add d9 up type dummy\n{on('x', f'{_GRE % (1, 2)}', _GRE % (2, 1)).replace('gre', kind)}",
            f"links: {{x: {{kind: {kind}, dev: {dev}}}}}", ends,
        )
        for kind in ("gre", "ipip", "gretap")
        for where, dev, ends in (("elsewhere", "d9", True), ("where_it_leaves", "eth1", False))
    },
    **{
        f"local_of_gre_where_none_was_{where}": Case(
            f"-n here address add 192.0.2.11/24 dev eth1\n{on('x', 'type gre remote 192.0.2.2', _GRE % (2, 1))}",
            f"links: {{x: {{kind: gre, local: {local}}}}}", ends,
        )
        for where, local, ends in (("another", "192.0.2.11", True), ("that_it_sends_from", "192.0.2.1", False))
    },
    "gateway_for_who_needs_none": Case(_DIRECT, f"routes: [{{to: {PEER}/32, via: 10.0.0.99}}]", True),
    "gateway_that_is_the_other_end_itself": Case(_DIRECT, f"routes: [{{to: {PEER}/32, via: {PEER}}}]", False),
    **{
        f"{what.partition(':')[0]}_of_the_own_address": Case(
            _AROUND, _here(f"{{address: {LOCAL}/24, {what}}}", "eth1"), False, _here(f"{LOCAL}/24", "eth1"),
            f"-n here route add {PEER} via 10.0.0.1",
        )
        for what in ("label: 'eth1:a'", "scope: link")
    },
    **{
        f"arp_ignore_{name}": Case(
            f"{setup}\nnetns exec here sysctl -qw net.ipv4.conf.{was}", f"sysctl: {{net.ipv4.conf.{then}}}", ends
        )
        for name, setup, was, then, ends in (
            ("that_is_higher_for_the_link", f"{_NEAR}lo", "eth1.arp_ignore=4", "all.arp_ignore: 1", False),
            ("out_of_other_subnets_of_an_address_of_others", f"{_NEAR}eth1", "eth1.arp_ignore=1",
             "all.arp_ignore: 2", True),
            ("that_is_so_for_all_already", f"{_NEAR}eth1", "all.arp_ignore=3", "eth1.arp_ignore: 2", False),
            ("for_what_others_cannot_use", f"{_NEAR}eth1 scope host", "eth1.arp_ignore=0",
             "eth1.arp_ignore: 3", True),
            ("for_what_others_can_use", f"{_NEAR}eth1", "eth1.arp_ignore=0", "eth1.arp_ignore: 3", False),
            ("of_a_subnet_that_both_are_in", f"{_NEAR}eth1\n-n here address add 10.0.0.99/8 dev eth1",
             "eth1.arp_ignore=0", "eth1.arp_ignore: 2", False),
            ("where_it_comes_by_another", _APART, "eth2.arp_ignore=0", "eth2.arp_ignore: 8", True),
        )
    },
    "no_vrf_for_who_listens_in_none": Case(_IN_RED, "sysctl: {net.ipv4.tcp_l3mdev_accept: 0}", True),
    "neighbour_that_ages": Case(
        _DIRECT, f"neighbours: [{{dev: eth1, ip: {PEER}, lladdr: '02:00:00:00:00:09', state: reachable}}]", False
    ),
    "neighbour_that_does_not_age": Case(
        _DIRECT, f"neighbours: [{{dev: eth1, ip: {PEER}, lladdr: '02:00:00:00:00:09', state: noarp}}]", True
    ),
    "no_arp_out_of_other_subnets_behind_a_router": Case(_ROUTED, "sysctl: {net.ipv4.conf.eth1.arp_ignore: 2}", False),
    **{
        f"rule_for_{name}": Case(
            f"-n here link set eth1 address 02:00:00:00:09:44\n{_DIRECT}",
            f"tc: {{eth1: {{ingress: [{{pref: 9, flower: {{{mac}}}, action: drop}}]}}}}", ends,
        )
        for name, mac, ends in (
            ("the_own_mac", "dst_mac: '02:00:00:00:09:44'", True),
            ("the_mac_of_the_other_end", f"src_mac: '{_OTHER_MAC}'", True),
            ("another_mac", "src_mac: '02:00:00:00:09:45'", False),
        )
    },
    "port_that_neither_learns_nor_floods": Case(_BRIDGED, _PORT % (_NO_MORE, ""), True, _PLAIN),
    "port_with_an_entry_that_neither_learns_nor_floods": Case(
        _BRIDGED, _PORT % (f"{_NO_MORE}, {_entry(_OTHER_MAC)}", ""), False, _PLAIN
    ),
    "port_that_does_not_flood": Case(_BRIDGED, _PORT % ("port: {flood: false}", ""), False, _PLAIN),
    "port_that_does_not_learn": Case(_BRIDGED, _PORT % ("port: {learning: false}", ""), False, _PLAIN),
    "port_that_sends_with_a_tag": Case(_BRIDGED, _vlan("false"), True, _vlan("true")),
    "entry_of_the_other_end_that_stays_elsewhere": Case(
        _BRIDGED, _PORT % ("", _entry(_OTHER_MAC, ", sticky: true")), True, _PLAIN
    ),
    "own_entry_of_the_other_end_elsewhere": Case(
        _BRIDGED, _PORT % ("", _entry(_OTHER_MAC, ", state: permanent")), True, _PLAIN
    ),
    "entry_of_the_other_end_that_moves": Case(_BRIDGED, _PORT % ("", _entry(_OTHER_MAC)), False, _PLAIN),
    "entry_of_the_other_end_where_it_is": Case(
        _BRIDGED, _PORT % (_entry(_OTHER_MAC, ", sticky: true"), ""), False, _PLAIN
    ),
    "entry_of_the_bridge_elsewhere": Case(_BRIDGED, _PORT % ("", _entry("02:00:00:00:09:08")), True, _PLAIN),
    "entry_of_the_other_end_as_the_bridge": Case(
        _BRIDGED, f"links: {{br0: {{kind: bridge, ports: [eth1, d9], "
        f"{_entry(_OTHER_MAC).replace('master', 'self')}}}}}", True, _PLAIN,
    ),
    "entry_of_the_other_end_as_a_card": Case(
        _BRIDGED, _PORT % (_entry(_OTHER_MAC).replace("master", "self"), ""), False, _PLAIN
    ),
    "entry_of_a_vxlan_for_another_end": Case(
        _TUNNEL, f"links: {{x: {{kind: vxlan, id: 5, fdb: [{{mac: '{_OTHER_MAC}', where: self, dst: 192.0.2.9}}]}}}}",
        True,
    ),
    "entry_of_a_vxlan_for_the_end": Case(
        _TUNNEL, f"links: {{x: {{kind: vxlan, id: 5, fdb: [{{mac: '{_OTHER_MAC}', where: self, dst: 192.0.2.2}}]}}}}",
        False,
    ),
    "rule_for_the_usual_ttl_of_what_leaves": Case(
        _DIRECT, "tc: {eth1: {egress: [{pref: 9, protocol: ip, flower: {ip_ttl: 64}, action: drop}]}}", True
    ),
    "said_to_be_for_others_on_its_way_out": Case(
        _DIRECT, "tc: {eth1: {egress: [{pref: 9, matchall: {}, action: {skbedit: {ptype: otherhost}}}]}}", False
    ),
    "another_association": Case(_secured(), "links: {sec0: {kind: macsec, link: eth1, encodingsa: 1}}", True),
    "unprotected": Case(_secured(), "links: {sec0: {kind: macsec, link: eth1, protect: false}}", True),
    "unencrypted": Case(_secured(), "links: {sec0: {kind: macsec, link: eth1, encrypt: false}}", False),
    "interlink_of_a_ring": Case(_SIDE, _RING % ("true", "false"), True, _RING % ("true", "true")),
    "rules_on_the_interlink": Case(
        _SIDE, f"{_RING % ('true', 'true')}\ntc: {{eth1: {{ingress: [{{pref: 1, protocol: ip,"
        f" flower: {{src_ip: {PEER}}}, action: drop}}]}}}}", True, _RING % ("true", "true"),
    ),
    "one_port_of_a_ring": Case(_SIDE, _RING % ("false", "true"), False, _RING % ("true", "true")),
}  # fmt: skip
_ALLOWED = frozenset({"eth1", "v1", "d8", "d9", "br0", "x", "sec0", "h", "s1", "s2", "red", "lo", "eth3"})


def agrees(server: socket.socket, directory: Path, case: Case, session: Session = SESSION) -> None:
    """Ask both."""
    ip(case.setup)
    if case.now:
        engine_in("here", directory, case.now, session).apply(allow=_ALLOWED)
        ip(case.beside)
    eventually(lambda: reaches(server, session), told=lambda: "nothing came before")
    engine = engine_in("here", directory, case.then, session)
    refused = ""
    try:
        engine.apply()
    except GuardError as error:
        refused = str(error)
        engine.apply(allow=_ALLOWED)
    if "br0" in case.setup:
        subprocess.run(["bridge", "-n", "here", "fdb", "flush", "dev", "br0", "nopermanent", "nostatic"], check=True)
    told = f"your session from {session.peer}" in refused
    assert (told, not reaches(server, session)) == (case.ends, case.ends)


@pytest.mark.vm("stock")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_ends_the_session_is_refused_and_nothing_else(server: socket.socket, tmp_path: Path, case: Case) -> None:
    agrees(server, tmp_path, case)
