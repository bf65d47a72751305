# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of links that the guard refuses do end what goes over them, once they are allowed."""

import base64
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.netns import entered
from tests.engine.guard_tc_cases import LOCAL, PEER, SESSION
from tests.waiting import eventually

_HERE, _THERE = "here", "there"
_WAIT_S = 0.5
_CABLE = f"""\
netns add {_HERE}
netns add {_THERE}
-n {_HERE} link add eth1 type veth peer name eth1 netns {_THERE}
-n {_HERE} address add 192.0.2.1/24 dev eth1
-n {_THERE} address add 192.0.2.2/24 dev eth1
-n {_HERE} link set eth1 up
-n {_THERE} link set eth1 up
"""


def on(name: str, here: str, there: str = "") -> str:
    """The two ends of a link, with what makes them, and the addresses of the session on them."""
    made = [(_HERE, LOCAL, here), (_THERE, PEER, there or here)]
    lines = [f"-n {space} link add {name} {how}" for space, _, how in made if how != "-"]
    for space, address, how in made:
        device = "eth1" if how == "-" else name
        lines += [f"-n {space} address add {address}/8 dev {device}", f"-n {space} link set {device} up"]
    return "\n".join(lines)


def over_bridge(*ports: str) -> str:
    lines = [f"-n {_HERE} link add br0 up type bridge"]
    return "\n".join(lines + [f"-n {_HERE} link set {port} up master br0" for port in ports])


# Private keys of 32 times 1 and 2, with the public ones of these and of 3.
_PUBLIC = (
    "BPXykWLDGo3voY5udCIk7oBvwXGKJ4voWbpWIEArjzo=",
    "WdkiVHNFHv/+azbbyu/b97GJXeYghFCaf1tYvwHQZBg=",
    "ew1H2TQn+DERYHgcfHM/2J+IlwrvSQ2KoO4ZpMuKGxQ=",
)


def wireguard(own: int, other: int | None, more: str = "") -> str:
    """A file for one of two ends; 0 is here."""
    address = (LOCAL, PEER)[own]
    allowed = f"endpoint: '192.0.2.{2 - own}:51820', allowed_ips: [10.0.0.0/8]"
    peers = f"{{public_key: '{_PUBLIC[other]}', {allowed}}}" if other is not None else ""
    said = f"private_key_file: /run/key{own}, listen_port: 51820, addresses: [{address}/8], peers: [{peers}]"
    return f"links: {{wg0: {{kind: wireguard, up: true, {said}}}{more}}}"


class Case(NamedTuple):
    """What there is, what comes, what that is said to cut, and what happens by itself later."""

    then: str
    cut: str
    setup: str = ""
    later: tuple[str, ...] = ("true",)
    now: str = ""


_VXLAN = "type vxlan id 5 dstport 4789 dev eth1"
_VETH = f"{on('v0', 'type veth peer name v1', '-')}\n{over_bridge('v1', 'eth1')}"
_BRIDGE = f"{over_bridge('eth1')}\n-n {_HERE} address add {LOCAL}/8 dev br0\n-n {_THERE} address add {PEER}/8 dev eth1"
_FORGOTTEN = ("bridge", "-n", _HERE, "fdb", "flush", "dev", "br0", "nopermanent")
_OTHER_END = f"-n {_THERE} address add {PEER}/8 dev eth1"
_DIRECT = f"{_OTHER_END}\n-n {_HERE} address add {LOCAL}/8 dev eth1"
_IN_RED = f"""\
netns exec {_HERE} sysctl -qw net.ipv4.tcp_l3mdev_accept=1
-n {_HERE} link add red up type vrf table 77
-n {_HERE} link set eth1 master red
{_DIRECT}"""
_BY_TABLE_9 = "routes: [{to: 10.0.0.0/8, dev: eth1, table: 9}%s]\nrules: [{pref: %s, lookup: 9}]"
_RING = f"""\
-n {_HERE} link add d0 up type dummy
-n {_HERE} link add hsr0 type hsr slave1 eth1 slave2 d0
-n {_HERE} link set d0 down
-n {_HERE} address add {LOCAL}/8 dev hsr0
-n {_HERE} link set hsr0 up
-n {_THERE} link add d0 up type dummy
-n {_THERE} link add hsr0 type hsr slave1 eth1 slave2 d0
-n {_THERE} address add {PEER}/8 dev hsr0
-n {_THERE} link set hsr0 up"""
_ABOVE = (
    f"-n {_HERE} link add x link eth1 type %s\n"
    f"-n {_HERE} address add {LOCAL}/8 dev x\n-n {_HERE} link set x up\n{_OTHER_END}"
)
_BOND = f"""\
-n {_HERE} link add bond0 type bond mode 802.3ad miimon 100
-n {_HERE} address add {LOCAL}/8 dev bond0
-n {_HERE} link set eth1 down
-n {_HERE} link set eth1 master bond0
-n {_HERE} link set bond0 up
{_OTHER_END}"""
_TEAMING = f"kind: team, mode: roundrobin, up: true, ports: [eth1], addresses: [{LOCAL}/8]"
_TEAM = f"links: {{t: {{{_TEAMING}}}, eth1: {{port: {{%s}}}}}}"
_PORTS = "br0: {kind: bridge, ports: [%s]}"
CASES = {
    "no_peer_of_wireguard": Case(wireguard(0, None), "wg0", now=wireguard(0, 1)),
    "another_peer_of_wireguard": Case(wireguard(0, 2), "wg0", now=wireguard(0, 1)),
    "port_of_wireguard": Case(
        wireguard(0, 1).replace("listen_port: 51820", "listen_port: 51821"), "wg0", now=wireguard(0, 1)
    ),
    "below_wireguard": Case(wireguard(0, 1, ", eth1: {up: false}"), "eth1", now=wireguard(0, 1)),
    "remote_of_vxlan": Case(
        "links: {x: {kind: vxlan, id: 5, remote: 192.0.2.3}}", "x",
        on("x", f"{_VXLAN} nolearning remote 192.0.2.2", f"{_VXLAN} remote 192.0.2.1"),
    ),
    "below_vxlan": Case("links: {eth1: {up: false}}", "eth1", on("x", f"{_VXLAN} group 239.1.1.1")),
    "key_of_gre": Case(
        "links: {x: {kind: gre, okey: 7}}", "x",
        on("x", "type gre local 192.0.2.1 remote 192.0.2.2 key 5", "type gre local 192.0.2.2 remote 192.0.2.1 key 5"),
    ),
    "checksums_of_gre": Case(
        "links: {x: {kind: gre, ocsum: true}}", "x",
        on("x", "type gre local 192.0.2.1 remote 192.0.2.2", "type gre local 192.0.2.2 remote 192.0.2.1"),
    ),
    "numbers_of_gre": Case(
        "links: {x: {kind: gre, iseq: true}}", "x",
        on("x", "type gre local 192.0.2.1 remote 192.0.2.2", "type gre local 192.0.2.2 remote 192.0.2.1"),
    ),
    "rule_for_the_packets_of_gre": Case(
        "rules: [{pref: 9, ipproto: gre, action: prohibit}]", "eth1",
        on("x", "type gre local 192.0.2.1 remote 192.0.2.2", "type gre local 192.0.2.2 remote 192.0.2.1"),
    ),
    "other_end_of_veth": Case("links: {v1: {up: false}}", "v1", _VETH),
    "behind_the_other_end_of_veth": Case("links: {eth1: {up: false}}", "eth1", _VETH),
    "isolated_port": Case(
        f"links: {{{_PORTS % 'eth1, v1'}, eth1: {{port: {{isolated: true}}}}}}", "eth1",
        f"{_VETH}\n-n {_HERE} link set v1 type bridge_slave isolated on",
    ),
    "locked_port": Case(
        f"links: {{{_PORTS % 'eth1'}, eth1: {{port: {{locked: true}}}}}}", "eth1", _BRIDGE, later=_FORGOTTEN
    ),
    "filtering_without_a_default_vlan": Case(
        "links: {br0: {kind: bridge, vlan_filtering: true}}", "br0",
        f"{_BRIDGE}\n-n {_HERE} link set br0 type bridge vlan_default_pvid 0",
    ),
    "default_vlan_of_a_bridge": Case(
        "links: {br0: {kind: bridge, vlan_default_pvid: 0}}", "br0",
        f"{_BRIDGE}\n-n {_HERE} link set br0 type bridge vlan_filtering 1",
    ),
    "links_that_a_bond_needs": Case("links: {bond0: {kind: bond, min_links: 2}}", "bond0", _BOND),
    "port_of_a_team": Case(_TEAM % "team_enabled: false", "eth1", _OTHER_END, now=_TEAM % ""),
    "neighbour": Case(
        f"neighbours: [{{dev: eth1, ip: {PEER}, lladdr: '02:00:00:00:00:09'}}]", "eth1", _DIRECT
    ),
    "rule_for_what_is_sent": Case("rules: [{pref: 9, iif: lo, action: prohibit}]", "eth1", _DIRECT),
    "rule_for_what_has_no_mark": Case("rules: [{pref: 9, not: true, fwmark: 7, action: prohibit}]", "eth1", _DIRECT),
    "rule_for_the_port": Case(
        f"rules: [{{pref: 9, ipproto: tcp, sport: {SESSION.local_port}, action: prohibit}}]", "eth1", _DIRECT
    ),
    "nexthop_to_nowhere": Case(
        f"{{routes: [{{to: {PEER}/32, nhid: 5}}], nexthops: {{5: {{blackhole: true}}}}}}", "eth1",
        f"{_DIRECT}\n-n {_HERE} link set lo up",
    ),
    "rule_for_what_comes_into_a_vrf": Case("rules: [{pref: 9, iif: eth1, action: prohibit}]", "eth1", _IN_RED),
    "rule_for_the_peer_in_a_vrf": Case(f"rules: [{{pref: 9, from: {PEER}, action: prohibit}}]", "eth1", _IN_RED),
    "rule_for_the_port_in_a_vrf": Case(
        f"rules: [{{pref: 9, ipproto: tcp, dport: {SESSION.local_port}, action: prohibit}}]", "eth1", _IN_RED
    ),
    "table_for_what_comes_into_a_vrf": Case(
        _BY_TABLE_9 % ("", 9),
        "eth1", _IN_RED,
    ),
    "rule_moved_behind_the_kernels": Case(
        _BY_TABLE_9 % (f", {{to: {PEER}, type: blackhole}}", 32800), "eth1", f"{_DIRECT} noprefixroute",
        now=_BY_TABLE_9 % ("", 9),
    ),
    "last_port_of_a_ring": Case("links: {eth1: {up: false}}", "eth1", _RING),
    "rule_past_the_table": Case("rules: [{pref: 9, goto: 32767}]", "eth1", _DIRECT),
    "route_to_this_host": Case(f"routes: [{{to: {PEER}/32, type: local, dev: eth1, table: local}}]", "eth1", _DIRECT),
    "mode_of_macvlan": Case(
        "links: {x: {kind: macvlan, link: eth1, mode: source}}", "x", _ABOVE % "macvlan mode bridge"
    ),
    "mode_of_ipvlan": Case("links: {x: {kind: ipvlan, link: eth1, mode: l3}}", "x", _ABOVE % "ipvlan mode l2"),
    "subnet_with_a_lower_metric": Case(
        "links: {d0: {kind: dummy, up: true, addresses: [10.7.7.7/8]}}", "eth1", f"{_DIRECT} metric 9"
    ),
}  # fmt: skip


def ip(text: str) -> None:
    # One after the other: a batch cannot be about several namespaces.
    for line in text.splitlines():
        subprocess.run(["ip", *line.split()], check=True)


def engine_in(space: str, directory: Path, text: str, session: Session = SESSION) -> Engine:
    file = directory / f"{space}.yaml"
    file.write_text(text)
    return Engine(Paths((file,), directory / space, directory / "group"), netns=space, session=session)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    ip(_CABLE)
    with entered(_HERE):
        listening = socket.create_server(("", SESSION.local_port))
    yield listening
    listening.close()
    ip(f"netns del {_HERE}\nnetns del {_THERE}")


def reaches(server: socket.socket, session: Session = SESSION) -> bool:
    """Whether a session begins, with nobody resolved beforehand."""
    ip(f"-n {_HERE} neigh flush all\n-n {_THERE} neigh flush all")
    with entered(_THERE), closing(socket.socket(server.family)) as client:
        client.settimeout(_WAIT_S)
        client.bind((session.peer, 0))
        try:
            client.connect((session.local, session.local_port))
        except OSError:
            return False
        server.accept()[0].close()
        return True


@pytest.mark.vm("stock")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_is_refused_would_end_the_session(server: socket.socket, tmp_path: Path, case: Case) -> None:
    for own in (0, 1):
        Path(f"/run/key{own}").write_text(base64.b64encode(str(own + 1).encode() * 32).decode())
    ip(case.setup)
    if case.now:
        engine_in(_HERE, tmp_path, case.now).apply()
    if "wireguard" in case.now:
        engine_in(_THERE, tmp_path, wireguard(1, 0)).apply()
    eventually(lambda: reaches(server), told=lambda: "nothing came before")  # a handshake of WireGuard takes a while
    engine = engine_in(_HERE, tmp_path, case.then)
    with pytest.raises(GuardError, match=f"your session from {PEER}; --allow {case.cut}"):
        engine.apply()
    engine.apply(allow=frozenset({case.cut}))
    subprocess.run(case.later, check=True)
    assert not reaches(server)


@pytest.mark.vm("stock")
@pytest.mark.parametrize("selector", ["oif: red", "oif: eth1", "iif: red"])
def test_rule_that_may_come_into_a_vrf_leaves_the_session(server: socket.socket, tmp_path: Path, selector: str) -> None:
    ip(_IN_RED)
    eventually(lambda: reaches(server), told=lambda: "nothing came before")
    engine_in(_HERE, tmp_path, f"rules: [{{pref: 9, {selector}, action: prohibit}}]").apply()
    assert reaches(server)


@pytest.mark.vm("stock")
def test_what_comes_by_ipv6_is_in_its_vrf_before_rules_are_asked(server: socket.socket, tmp_path: Path) -> None:
    session = Session("2001:db8::2", "2001:db8::1", local_port=SESSION.local_port)
    ip(f"{_IN_RED}\n-n {_HERE} address add {session.local}/64 dev eth1 nodad")
    ip(f"-n {_THERE} address add {session.peer}/64 dev eth1 nodad")
    with entered(_HERE):
        listening = socket.create_server(("", SESSION.local_port), family=socket.AF_INET6)
    with closing(listening):
        eventually(lambda: reaches(listening, session), told=lambda: "nothing came before")
        text = "rules: [{pref: 9, family: inet6, iif: %s, action: prohibit}]"
        engine_in(_HERE, tmp_path, text % "eth1", session).apply()
        assert reaches(listening, session)
        engine = engine_in(_HERE, tmp_path, text % "red", session)
        with pytest.raises(GuardError, match="--allow eth1"):
            engine.apply()
        engine.apply(allow=frozenset({"eth1"}))
        assert not reaches(listening, session)
