# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guard refuses of addresses, tunnels, and what lies behind a router ends a session; of IPv6, too."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.netns import entered
from tests.engine.guard_tc_cases import LOCAL, PEER, SESSION
from tests.vm.test_guard_agrees import Case, agrees
from tests.vm.test_guard_links import engine_in, ip, on, reaches, server
from tests.waiting import eventually

__all__ = ["server"]

_OF_IPV6 = Session("2001:db8::2", "2001:db8::1", SESSION.peer_port, SESSION.local_port)
_ROUTED = Session("192.0.4.2", "192.0.3.1", SESSION.peer_port, SESSION.local_port)
_ROUTED_IPV6 = Session("2001:db8:4::2", "2001:db8:3::1", SESSION.peer_port, SESSION.local_port)
_ROUTER = "mid"
_BY_ROUTER = """\
-n here link add eth3 up type veth peer name eth3 netns mid
-n there link add eth4 up type veth peer name eth4 netns mid
-n mid link set eth3 up
-n mid link set eth4 up
netns exec mid sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
""" + "\n".join(
    f"""\
-n here address add {net}3{one}1{length} dev eth3
-n mid address add {net}3{one}9{length} dev eth3
-n mid address add {net}4{one}9{length} dev eth4
-n there address add {net}4{one}2{length} dev eth4
-n here route add {net}4{one}{zero} via {net}3{one}9
-n there route add {net}3{one}{zero} via {net}4{one}9"""
    for net, one, length, zero in (("192.0.", ".", "/24", "0/24"), ("2001:db8:", "::", "/64 nodad", "/64"))
)
_OTHER_END = f"-n there address add {PEER}/8 dev eth1\n-n here link add d9 up type dummy"
_OTHER_END_IPV6 = f"-n there address add {_OF_IPV6.peer}/64 dev eth1 nodad\n-n here link add d9 up type dummy"
# A veth pair of this host, whose other end is a port of the bridge that leads out.
_BY_BRIDGE = """\
-n here link add v0 up type veth peer name v1
-n here link add br0 up type bridge
-n here link set v1 up master br0
-n here link set eth1 master br0
-n here address add %s dev v0
-n there address add %s dev eth1"""
_ONLY = "links: {x: {kind: macvlan, link: eth1, mode: source, macaddr: ['%s']}}"
_SOURCED = f"""\
-n there link set eth1 address 02:00:00:00:09:09
-n there address add {PEER}/8 dev eth1
-n here link add x link eth1 type macvlan mode source macaddr set 02:00:00:00:09:09
-n here address add {LOCAL}/8 dev x
-n here link set x up"""
# A VXLAN that knows where to send to by what it is told alone.
_TOLD = f"""\
-n here link add x type vxlan id 5 dstport 4789 dev eth1 nolearning
-n there link add x address 02:00:00:00:09:09 type vxlan id 5 dstport 4789 dev eth1 remote 192.0.2.1
-n here address add {LOCAL}/8 dev x
-n there address add {PEER}/8 dev x
-n here link set x up
-n there link set x up"""
_ALL, _ONE = (f"{{mac: '{mac}', where: self, dst: 192.0.2.%d}}" for mac in ("00:00:00:00:00:00", "02:00:00:00:09:09"))


def _told(*entries: str) -> str:
    return f"links: {{x: {{kind: vxlan, id: 5, fdb: [{', '.join(entries)}]}}}}"


_OVER_ROUTER = f"{_BY_ROUTER}\n" + on(
    "x",
    f"type gre local {_ROUTED.local} remote {_ROUTED.peer} ttl 64",
    f"type gre local {_ROUTED.peer} remote {_ROUTED.local}",
)
_GRE = "links: {x: {kind: gre, %s}}"
_TAGGED = f"""\
-n here link add br0 up type bridge vlan_filtering 1
-n here link set eth1 master br0
-n here link add link br0 name v5 up type vlan id 5
-n here address add {LOCAL}/8 dev v5
-n there link add link eth1 name v5 up type vlan id 5
-n there address add {PEER}/8 dev v5
"""
_IN_5 = "links: {br0: {kind: bridge, %svlans: [{vid: 5}]}, eth1: {master: br0, vlans: [{vid: 5}]}}"

_OUT = "{vid: 1, member: false}"
_WITHOUT_1 = (_IN_5 % "").replace("{vid: 5}", f"{{vid: 5}}, {_OUT}")


def _own(*more: str, address: str = f"{LOCAL}/8") -> str:
    more = ("nodad: true", *more) if ":" in address else more
    return f"links: {{eth1: {{addresses: [{{address: '{address}', {', '.join(more)}}}]}}}}"


# Two gateways, by one of which the session leaves.
_TWO_WAYS = f"""\
-n here link add eth2 up type veth peer name eth2 netns there
-n there link set eth2 up
-n here address add 192.0.5.1/24 dev eth2
-n there address add 192.0.5.2/24 dev eth2
-n here address add {LOCAL}/32 dev eth1
-n there address add {PEER}/32 dev lo
-n there link set lo up
-n there route add {LOCAL}/32 via 192.0.2.1"""
_HOPS = {"eth1": "via: 192.0.2.%d, dev: eth1", "eth2": "via: 192.0.5.%d, dev: eth2"}
_BESIDE, _BESIDE_IPV6 = (f"-n here route add {net} dev d9 metric 50" for net in ("10.0.0.0/8", "2001:db8::/64"))
_OWN_IPV6 = f"{_OF_IPV6.local}/64"
_HOPLIMIT = f"routes: [{{to: {_ROUTED.peer}/32, via: 192.0.3.9%s}}]"
CASES = {
    "ttl_that_ends_at_the_router": (_ROUTED, Case(_BY_ROUTER, "sysctl: {net.ipv4.ip_default_ttl: 1}", True)),
    "ttl_to_the_other_end": (_ROUTED, Case(_BY_ROUTER, "sysctl: {net.ipv4.ip_default_ttl: 2}", False)),
    "ttl_without_a_router": (
        SESSION, Case(_OTHER_END, f"{_own()}\nsysctl: {{net.ipv4.ip_default_ttl: 1}}", False, _own())
    ),
    **{
        f"hop_limit_of_{link}": (_ROUTED_IPV6, Case(_BY_ROUTER, f"sysctl: {{net.ipv6.conf.{link}.hop_limit: 1}}", ends))
        for link, ends in (("eth3", True), ("eth1", False), ("all", False))
    },
    "route_that_ends_at_the_router": (_ROUTED, Case(_BY_ROUTER, _HOPLIMIT % ", hoplimit: 1", True)),
    "route_that_comes_to_end_at_the_router": (
        _ROUTED, Case(_BY_ROUTER, _HOPLIMIT % ", hoplimit: 1", True, _HOPLIMIT % "")
    ),
    "tunnel_that_ends_at_the_router": (SESSION, Case(_OVER_ROUTER, _GRE % "ttl: 1", True)),
    "tunnel_with_a_mark_that_a_rule_refuses": (
        SESSION, Case(f"{_OVER_ROUTER}\n-n here rule add fwmark 7 prohibit", _GRE % "fwmark: 7", True)
    ),
    **{
        f"rule_for_{name}_below_a_tunnel": (
            SESSION,
            Case(_OVER_ROUTER, f"tc: {{eth3: {{egress: [{{pref: 9, protocol: ip, flower: {{{match}}},"
                 " action: drop}]}}", ends),
        )
        for name, match, ends in (
            ("its_protocol", "ip_proto: 47", True), ("another_protocol", "ip_proto: udp", False),
            ("what_is_inside", f"dst_ip: {PEER}", False), ("its_other_end", f"dst_ip: {_ROUTED.peer}", True),
        )
    },
    "tunnel_with_a_mark_of_no_rule": (SESSION, Case(_OVER_ROUTER, _GRE % "fwmark: 7", False)),
    "address_without_its_route": (SESSION, Case(_OTHER_END, _own("noprefixroute: true"), True, _own("metric: 7"))),
    "address_of_ipv6_without_its_route": (
        _OF_IPV6, Case(_OTHER_END_IPV6, _own("noprefixroute: true", address=_OWN_IPV6), True, _own(address=_OWN_IPV6))
    ),
    "address_with_a_route_of_ours": (
        SESSION,
        Case(
            _OTHER_END, f"{_own('noprefixroute: true')}\nroutes: [{{to: 10.0.0.0/8, dev: eth1}}]", False,
            _own("noprefixroute: false"),
        ),
    ),
    "address_of_ipv6_with_a_route_of_ours": (
        _OF_IPV6,
        Case(
            _OTHER_END_IPV6,
            f"{_own('noprefixroute: true', address=_OWN_IPV6)}\nroutes: [{{to: '2001:db8::/64', dev: eth1}}]", False,
            _own(address=_OWN_IPV6),
        ),
    ),
    **{
        f"address_with_a_metric_{where}": (
            session, Case(setup, _own(f"metric: {metric}", address=own), ends, _own("metric: 7", address=own), beside)
        )
        for where, session, setup, own, metric, ends, beside in (
            ("behind_another", SESSION, _OTHER_END, f"{LOCAL}/8", 90, True, _BESIDE),
            ("before_another", SESSION, _OTHER_END, f"{LOCAL}/8", 40, False, _BESIDE),
            ("of_ipv6_behind_another", _OF_IPV6, _OTHER_END_IPV6, _OWN_IPV6, 90, True,
             _BESIDE_IPV6),
            ("of_ipv6_before_another", _OF_IPV6, _OTHER_END_IPV6, _OWN_IPV6, 40, False,
             _BESIDE_IPV6),
        )
    },
    **{
        f"default_vlan_{vid}_of_who_has_a_tag": (
            SESSION, Case(_TAGGED, _IN_5 % f"vlan_default_pvid: {vid}, ", False, _IN_5 % "")
        )
        for vid in (0, 5, 7)
    },
    "untagged_packets_come_into_the_vlan_of_who_has_a_tag": (
        SESSION, Case(_TAGGED, (_IN_5 % "").replace("master: br0, vlans: [{vid: 5}",
                      "master: br0, vlans: [{vid: 5, pvid: true}"), False, _IN_5 % ""),
    ),
    **{
        f"what_has_no_tag_comes_to_{what}": (
            SESSION, Case(_TAGGED, _WITHOUT_1.replace(_OUT, "{vid: 7, pvid: true, untagged: true}", count), False,
                          _WITHOUT_1),
        )
        for what, count in (("the_bridge", 1), ("the_bridge_and_its_port", 2))
    },
    **{
        f"{option.partition(':')[0]}_of_the_port_that_{where}_by_{session.local}": (
            session,
            Case(
                _BY_BRIDGE % tuple(f"{end}/{length}" for end in (session.local, session.peer)),
                f"links: {{br0: {{kind: bridge, ports: [eth1, v1]}}, {port}: {{port: {{{option}}}}}}}", ends,
                "links: {br0: {kind: bridge, ports: [eth1, v1]}}",
            ),
        )
        for option in ("mcast_flood: false", "neigh_suppress: true")
        for session, length, port, where, ends in (
            (_OF_IPV6, "64 nodad", "v1", "it_comes_in", True),
            (_OF_IPV6, "64 nodad", "eth1", "it_leaves", False),
            (SESSION, "8", "v1", "it_comes_in", False),
        )
    },
    **{
        f"macvlan_for_{what}": (SESSION, Case(_SOURCED, _ONLY % mac, ends))
        for what, mac, ends in (("another", "02:00:00:00:09:0a", True), ("the_other_end", "02:00:00:00:09:09", False))
    },
    **{
        f"vxlan_{name}": (SESSION, Case(_TOLD, _told(*then), ends, _told(_ALL % 2, *now)))
        for name, now, then, ends in (
            ("that_floods_nowhere", (), (), True),
            ("that_floods_elsewhere", (), (_ALL % 9,), True),
            ("that_floods_to_others_too", (), (_ALL % 2, _ALL % 9), False),
            ("that_floods_nowhere_but_knows_one", (_ONE % 2,), (_ONE % 2,), False),
            ("that_knows_one_elsewhere", (), (_ALL % 2, _ONE % 9), True),
            ("that_is_told_another_place_of_one", (_ONE % 2,), (_ALL % 2, _ONE % 9), True),
            ("that_knows_one_no_more", (_ONE % 2,), (_ALL % 2,), False),
            ("with_another_id_for_one", (), (_ALL % 2, (_ONE % 2).replace("}", ", vni: 9}")), True),
            ("with_the_same_id_for_one", (), (_ALL % 2, (_ONE % 2).replace("}", ", vni: 5}")), False),
        )
    },
    "throw_out_of_the_table_of_this_host": (
        _OF_IPV6,
        Case(
            f"-n here link set lo up\n-n here address add {_OWN_IPV6} dev eth1 nodad\n{_OTHER_END_IPV6}",
            f"routes: [{{to: '{_OF_IPV6.peer}/128', type: throw, table: local}}]", False,
        ),
    ),
    "throw_out_of_the_table_of_this_host_that_is_also_the_main_one": (
        SESSION,
        Case(
            f"-n here link set lo up\n-n here address add {LOCAL}/8 dev eth1\n{_OTHER_END}",
            f"routes: [{{to: {PEER}/32, type: throw, table: local}}]", True,
        ),
    ),
}  # fmt: skip


@pytest.fixture
def router() -> Iterator[None]:
    ip(f"netns add {_ROUTER}")
    yield
    ip(f"netns del {_ROUTER}")


@pytest.mark.vm("stock")
@pytest.mark.usefixtures("router")
@pytest.mark.parametrize(("session", "case"), CASES.values(), ids=CASES.keys())
def test_what_ends_the_session_is_refused(server: socket.socket, tmp_path: Path, session: Session, case: Case) -> None:
    with entered("here"):
        of_ipv6 = socket.create_server(("", SESSION.local_port), family=socket.AF_INET6)
    with closing(of_ipv6):
        agrees(of_ipv6 if ":" in session.peer else server, tmp_path, case, session)


def _of_nexthops(*hops: str) -> str:
    numbered = [f"{hop[-1]}: {{{hop}}}" for hop in hops]
    group = ", ".join(f"{{id: {hop[-1]}}}" for hop in hops)
    return f"nexthops: {{{', '.join(numbered)}, 9: {{group: [{group}]}}}}\nroutes: [{{to: {PEER}/32, nhid: 9}}]"


def _of_ways(*hops: str) -> str:
    several = ", ".join(f"{{{hop}}}" for hop in hops)
    return f"routes: [{{to: {PEER}/32, {hops[0] if len(hops) == 1 else f'nexthops: [{several}]'}}}]"


@pytest.mark.vm("stock")
@pytest.mark.parametrize("route", [_of_nexthops, _of_ways])
def test_of_several_ways_the_session_needs_its_own(
    server: socket.socket, tmp_path: Path, route: Callable[..., str]
) -> None:
    ip(_TWO_WAYS)
    engine_in("here", tmp_path, route(*(hop % 2 for hop in _HOPS.values()))).apply()
    get = ["ip", "-n", "here", "route", "get", PEER, "from", LOCAL]
    found = subprocess.run(get, check=True, capture_output=True, text=True).stdout
    own, other = sorted(_HOPS, key=lambda link: f"dev {link}" not in found)

    def engine(**ends: int) -> Engine:
        hops = (hop % ends[link] for link, hop in _HOPS.items() if link in ends)
        return engine_in("here", tmp_path, route(*hops))

    for ends in ({own: 2, other: 9}, {own: 2}, {own: 2, other: 2}):
        engine(**ends).apply()
        assert reaches(server)
    for ends in ({own: 9, other: 2}, {other: 2}):
        with pytest.raises(GuardError, match=f"your session from {PEER}; --allow {own}"):
            engine(**ends).apply()


@pytest.mark.vm("stock")
def test_address_that_runs_out_is_refused_before_it_has(server: socket.socket, tmp_path: Path) -> None:
    ip(_OTHER_END)
    engine_in("here", tmp_path, _own("metric: 7")).apply()
    eventually(lambda: reaches(server), told=lambda: "nothing came before")
    engine = engine_in("here", tmp_path, _own("metric: 7", "valid_lft: 2", "preferred_lft: 2"))
    with pytest.raises(GuardError, match=f"your session from {PEER}; --allow eth1"):
        engine.apply()
    engine.apply(allow=frozenset({"eth1"}))
    eventually(lambda: not reaches(server))
