# SPDX-License-Identifier: GPL-2.0-or-later
"""Tunnels, cables and bridge ports that carry a session: what surely interrupts them is refused, and nothing else."""

import base64

import pytest

from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from tests.engine.desk import Desk
from tests.engine.test_guard import LOCAL, refused

ONE, TWO = (base64.b64encode(letter * 32).decode() for letter in (b"1", b"2"))
HERE, THERE, ELSEWHERE = "192.0.2.1", "192.0.2.9", "192.0.2.10"


def link(name: str, kind: str = "", **attrs: Value) -> Object:
    return Object("link", (name,), {"kind": kind, "up": True, "mtu": 1500, **attrs})


def peer(key: str, allowed: str, **more: Value) -> dict[str, Value]:
    return {"public_key": key, "allowed_ips": (allowed,), "persistent_keepalive": 0, **more}


WIREGUARD = link(
    "wg0",
    "wireguard",
    private_key_file="/keys/own",
    peers=(peer(ONE, "10.9.0.0/16", endpoint=f"{THERE}:51820"), peer(TWO, "10.8.0.0/16")),
)
FIRST = f"{{public_key: '{ONE}', allowed_ips: [10.9.0.0/16], endpoint: '{THERE}:51820'}}"
SECOND = f"{{public_key: '{TWO}', allowed_ips: [10.8.0.0/16]}}"


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param("peers: []", True, id="no_peer"),
        pytest.param(f"peers: [{SECOND}]", True, id="another_peer"),
        pytest.param(f"peers: [{FIRST.replace('10.9', '10.7')}, {SECOND}]", True, id="other_addresses"),
        pytest.param(f"peers: [{FIRST}, {SECOND.replace('10.8.0.0/16', '10.9.0.0/24')}]", True, id="nearer_peer"),
        pytest.param(f"peers: [{FIRST.replace(THERE, ELSEWHERE)}, {SECOND}]", True, id="another_endpoint"),
        pytest.param(f"peers: [{FIRST[:-1]}, preshared_key_file: /keys/psk}}, {SECOND}]", True, id="preshared_key"),
        pytest.param("private_key_file: /keys/another", True, id="private_key"),
        pytest.param(f"peers: [{FIRST}]", False, id="without_the_peer_of_others"),
        pytest.param(f"peers: [{FIRST.replace('10.9.0.0', '10.0.0.0').replace('/16', '/8')}]", False, id="wider"),
        pytest.param(f"peers: [{FIRST[:-1]}, persistent_keepalive: 25}}, {SECOND}]", False, id="keepalive"),
        pytest.param("listen_port: 51821", True, id="port"),
        pytest.param(
            f"listen_port: 51821, peers: [{FIRST[:-1]}, persistent_keepalive: 25}}, {SECOND}]",
            False,
            id="port_which_the_peer_learns",
        ),
    ],
)
def test_wireguard_keeps_the_peer_that_holds_the_other_end(
    desk: Desk, said: str, cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netgroupd.engine.key_files.key_in", lambda _path: bytes(32))
    told = refused(desk, [WIREGUARD], Route("wg0", LOCAL, 254, 16), f"links: {{wg0: {{kind: wireguard, {said}}}}}")
    assert ("to change wireguard wg0 would cut the way of your session" in told) == cut


@pytest.mark.parametrize(
    ("kind", "said", "cut"),
    [
        pytest.param("gre", f"remote: {ELSEWHERE}", True, id="remote"),
        pytest.param("ipip", f"remote: {ELSEWHERE}", True, id="remote_of_ipip"),
        pytest.param("vxlan", f"remote: {ELSEWHERE}", True, id="remote_of_vxlan"),
        pytest.param("geneve", f"remote: {ELSEWHERE}", True, id="remote_of_geneve"),
        pytest.param("gre", f"local: {ELSEWHERE}", True, id="local"),
        pytest.param("vxlan", f"local: {ELSEWHERE}", False, id="local_of_vxlan"),
        pytest.param("gre", "local: null", False, id="any_local"),
        pytest.param("gre", "okey: 7", True, id="key"),
        pytest.param("gre", "dev: eth2", True, id="link"),
        pytest.param("gre", "ocsum: true", True, id="checksums"),
        pytest.param("gre", "iseq: true", True, id="only_numbered"),
        pytest.param("gre", "oseq: true", False, id="numbered"),
        pytest.param("gre", "encap: fou", True, id="udp_around_it"),
        pytest.param("gre", "encap_dport: 7", False, id="port_of_no_udp"),
        pytest.param("gre", "ttl: 9", False, id="ttl"),
    ],
)
def test_tunnel_keeps_what_the_other_end_knows_of_it(desk: Desk, kind: str, said: str, cut: bool) -> None:
    ends = {"dev": "eth1", "local": HERE, "remote": THERE, "okey": 5} if kind != "geneve" else {"remote": THERE}
    there = [link("t0", kind, id=5, **ends)]
    number = "id: 5, " if kind in ("vxlan", "geneve") else ""
    told = refused(desk, there, Route("t0", LOCAL, 254, 16), f"links: {{t0: {{kind: {kind}, {number}{said}}}}}")
    assert (f"to change {kind} t0 would cut the way of your session" in told) == cut


def test_link_that_a_tunnel_is_bound_to_carries_it(desk: Desk) -> None:
    there = [link("v0", "vxlan", id=5, dev="eth1")]
    told = refused(desk, there, Route("v0", LOCAL), "links: {v0: {kind: vxlan, id: 5, dev: eth1}, eth1: {up: false}}")
    assert "to change link eth1 would cut the way of your session" in told


CABLE = [
    link("br0", "bridge"),
    link("eth3", master="br0"),
    link("v0", "veth", peer="v1"),
    link("v1", "veth", peer="v0", master="br0"),
    link("g0", "veth", master="br0"),
]


@pytest.mark.parametrize(
    ("way", "said", "cut"),
    [
        pytest.param("v0", "v1: {kind: veth, peer: v0, up: false}", "veth v1", id="other_end"),
        pytest.param("v0", "br1: {kind: bridge, ports: v1}", "link v1", id="other_end_in_another_bridge"),
        pytest.param("v0", "eth3: {up: false}", "link eth3", id="way_out_of_its_bridge"),
        pytest.param("br0", "eth3: {up: false}", "link eth3", id="way_out_of_the_bridge"),
        pytest.param("br0", "g0: {up: false}", "", id="a_guest_of_the_bridge"),
        pytest.param("br0", "v1: {kind: veth, peer: v0, up: false}", "", id="what_nothing_leaves_by"),
    ],
)
def test_way_goes_through_a_pair_of_veth(desk: Desk, way: str, said: str, cut: str) -> None:
    told = refused(desk, CABLE, Route(way, LOCAL), f"links: {{{said}}}")
    assert (f"{cut} would cut the way of your session" in told) == bool(cut)


def test_way_goes_from_bridge_to_bridge_by_a_pair_of_veth(desk: Desk) -> None:
    there = [*CABLE[:2], link("br1", "bridge"), *CABLE[3:], link("v0", "veth", peer="v1", master="br1")]
    for name in ("v0", "v1"):
        text = f"links: {{{name}: {{up: false}}}}"
        assert f"link {name} would cut" in refused(desk, there, Route("br1", LOCAL), text)
    assert refused(desk, there, Route("br0", LOCAL), text) == ""


def test_ports_on_one_link_both_lead_out(desk: Desk) -> None:
    ports = [link(f"eth1.{vid}", "vlan", link="eth1", id=vid, master="br0") for vid in (5, 6)]
    for name in ("eth1.5", "eth1.6"):
        text = f"links: {{{name}: {{up: false}}}}"
        assert f"link {name} would cut" in refused(desk, [link("br0", "bridge"), *ports], Route("br0", LOCAL), text)


def test_only_port_of_a_bridge_is_the_way_out_whatever_it_is(desk: Desk) -> None:
    there = [link("br0", "bridge"), link("g0", "veth", master="br0")]
    assert "link g0 would cut" in refused(desk, there, Route("br0", LOCAL), "links: {g0: {up: false}}")


PORTS = [
    link("br0", "bridge", vlan_filtering=True),
    link("eth3", master="br0"),
    link("v0", "veth", peer="v1"),
    Object("link", ("v1",), {**CABLE[3].attrs, "port.isolated": True}),
    link("br0.5", "vlan", link="br0", id=5),
]
BRIDGE = "links: {br0: {kind: bridge, ports: eth3}, eth3: {port: {%s}}}"
KNOWN = "\nfdb: [{dev: eth3, mac: '02:00:00:00:00:01', where: master}]"


@pytest.mark.parametrize(
    ("way", "said", "more", "cut"),
    [
        pytest.param("br0", "locked: true", "", True, id="locked"),
        pytest.param("br0", "locked: true", KNOWN, False, id="locked_to_those_who_are_known"),
        pytest.param("br0", "isolated: true", "", False, id="isolated_from_other_ports"),
        pytest.param("v0", "isolated: true", "", True, id="isolated_as_the_port_that_it_comes_by"),
        pytest.param("br0", "learning: false", "", False, id="learning"),
        pytest.param("br0", "flood: false", "", False, id="flood"),
        pytest.param("br0.5", "vlan_tunnel: true", "", False, id="tunnels_of_vlans"),
    ],
)
def test_port_that_the_way_goes_by_is_not_shut(desk: Desk, way: str, said: str, more: str, cut: bool) -> None:
    told = refused(desk, PORTS, Route(way, LOCAL), f"{BRIDGE % said}{more}")
    assert ("to change link eth3 would cut the way of your session" in told) == cut


@pytest.mark.parametrize(
    ("before", "other", "cut"),
    [
        pytest.param(False, ", v1: {port: {isolated: true}}", True, id="too"),
        pytest.param(True, ", v1: {port: {isolated: false}}", False, id="no_more"),
        pytest.param(False, "", False, id="never"),
    ],
)
def test_isolated_port_is_cut_off_from_those_that_are_then(desk: Desk, before: bool, other: str, cut: bool) -> None:
    there = [*PORTS[:3], Object("link", ("v1",), {**CABLE[3].attrs, "port.isolated": before})]
    text = "links: {br0: {kind: bridge, ports: [eth3, v1]}, eth3: {port: {isolated: true}}%s}"
    told = refused(desk, there, Route("v0", LOCAL), text % other)
    assert ("to change link eth3 would cut the way of your session" in told) == cut


HOST_ROUTE = Object("route", ("inet", 254, f"{THERE}/32", 0, 0), {"type": "unicast", "via": "10.0.0.1", "dev": "eth1"})
KEPT = f"routes: [{{to: {THERE}, via: 10.0.0.1, dev: eth1}}]\n"


@pytest.mark.parametrize(
    ("tunnel", "by"),
    [
        pytest.param(WIREGUARD, THERE, id="wireguard"),
        pytest.param(link("wg0", "wireguard", fwmark=7, peers=WIREGUARD.attrs["peers"]), f"7 {THERE}", id="marked"),
        pytest.param(link("wg0", "gre", remote=THERE, local=HERE), f"{HERE} {THERE}", id="gre"),
        pytest.param(link("wg0", "ipip", remote=THERE, dev="eth1"), f"eth1 {THERE}", id="bound"),
    ],
)
def test_way_of_what_a_tunnel_sends_is_guarded_too(desk: Desk, tunnel: Object, by: str) -> None:
    ways = {by: Route("eth1", HERE, 254, 32)}
    told = refused(desk, [tunnel, HOST_ROUTE], Route("wg0", LOCAL), f"{KEPT}links: {{eth1: {{up: false}}}}", ways)
    assert "to change link eth1 would cut the way of your session" in told
    told = refused(desk, [tunnel, HOST_ROUTE], Route("wg0", LOCAL), "routes: []", ways)
    assert f"to delete route {THERE}/32 would cut the way of your session" in told
    text = f"{KEPT}rules: [{{pref: 9, ipproto: gre, action: prohibit}}]"
    assert "to create rule" in refused(desk, [tunnel, HOST_ROUTE], Route("wg0", LOCAL), text, ways)
    assert refused(desk, [tunnel, HOST_ROUTE], Route("wg0", LOCAL), "routes: []") == ""


def test_way_of_a_tunnel_in_a_tunnel_is_guarded_and_one_in_itself_is_looked_at_once(desk: Desk) -> None:
    there = [WIREGUARD, link("t0", "gre", remote="10.9.0.9"), link("t1", "gre", remote="10.9.0.8")]
    ways = {"10.9.0.9": Route("wg0", LOCAL, 254, 16), THERE: Route("eth1", HERE), "10.9.0.8": Route("t1", LOCAL)}
    assert "link eth1 would cut" in refused(desk, there, Route("t0", LOCAL), "links: {eth1: {up: false}}", ways)
    assert "t1 would cut" in refused(desk, there, Route("t1", LOCAL), "links: {t1: {up: false}}", ways)


BOND = "links: {bond0: {kind: bond, ports: [%s]%s}, eth1: {%s}, eth2: {%s}}"


@pytest.mark.parametrize(
    ("said", "other", "cut"),
    [
        pytest.param(("eth2", "", "master: null", ""), {}, [], id="one_leaves"),
        pytest.param(("eth1, eth2", "", "up: false", ""), {}, [], id="one_is_down"),
        pytest.param(("eth2", "", "master: null", ""), {"up": False}, ["eth1"], id="the_other_is_down"),
        pytest.param(("eth2", "", "master: null", ""), {"carrier": False}, ["eth1"], id="the_other_has_no_carrier"),
        pytest.param(("eth2", ", min_links: 2", "master: null", ""), {}, ["bond0", "eth1"], id="the_other_is_too_few"),
        pytest.param(("eth1, eth2", ", min_links: 2", "", ""), {}, [], id="two_are_enough"),
        pytest.param(("eth1, eth2", ", min_links: 3", "", ""), {}, ["bond0"], id="two_are_too_few"),
        pytest.param(("eth1, eth2", ", min_links: 2", "", ""), {"carrier": False}, ["bond0"], id="one_is_too_few"),
        pytest.param(("eth1", "", "up: false", "master: null"), {}, ["eth1", "eth2"], id="neither_stays"),
        pytest.param(("", "", "master: null", "master: null"), {}, ["eth1", "eth2"], id="both_leave"),
        pytest.param(("eth1, eth2", ", up: false", "", ""), {}, ["bond0"], id="bond_itself"),
    ],
)
@pytest.mark.parametrize("way", ["bond0", "bond0.5"])
def test_bond_goes_on_with_another_port(
    desk: Desk, way: str, said: tuple[str, ...], other: dict[str, Value], cut: list[str]
) -> None:
    there = [
        link("bond0", "bond", group=GROUP_BASE, mode="802.3ad"),
        link("bond0.5", "vlan", link="bond0", id=5),
        link("eth1", master="bond0", carrier=True),
        link("eth2", "", master="bond0", **{"carrier": True, **other}),
    ]
    told = refused(desk, there, Route(way, LOCAL, 254, 16), BOND % said)
    assert [name for name in ("bond0", "eth1", "eth2") if f"--allow {name} " in told] == cut


@pytest.mark.parametrize(
    ("kind", "said", "cut"),
    [
        ("ipvlan", "mode: l3", True),
        ("ipvlan", "mode: l3s", False),
        ("macvlan", "mode: source", True),
        ("macvlan", "mode: source, macaddr: ['02:00:00:00:00:01']", False),
        ("macvlan", "mode: private", False),
    ],
)
def test_mode_in_which_a_link_hears_nobody_is_refused(desk: Desk, kind: str, said: str, cut: bool) -> None:
    there = [link("eth1"), link("x", kind, link="eth1", group=GROUP_BASE, mode="l2" if kind == "ipvlan" else "bridge")]
    text = f"links: {{x: {{kind: {kind}, link: eth1, {said}}}}}"
    assert ("--allow x " in refused(desk, there, Route("x", LOCAL, 254, 16), text)) is cut


@pytest.mark.parametrize(
    ("down", "cut"), [(["eth1"], []), (["eth1", "eth2"], ["eth1", "eth2"]), (["eth3"], ["eth3"]), (["hsr0"], ["hsr0"])]
)
def test_ring_goes_on_with_one_port(desk: Desk, down: list[str], cut: list[str]) -> None:
    ring = link("hsr0", "hsr", group=GROUP_BASE, slave1="eth1", slave2="eth2", interlink="eth3")
    there = [ring, *(link(name, carrier=True) for name in ("eth1", "eth2", "eth3"))]
    links = {"hsr0": "kind: hsr, slave1: eth1, slave2: eth2, interlink: eth3"}
    links |= {name: f"{links[name]}, up: false" if name in links else "up: false" for name in down}
    text = f"links: {{{', '.join(f'{name}: {{{said}}}' for name, said in links.items())}}}"
    told = refused(desk, there, Route("hsr0", LOCAL, 254, 16), text)
    assert [name for name in ("hsr0", "eth1", "eth2", "eth3") if f"--allow {name} " in told] == cut


def test_bond_without_lacp_needs_one_port(desk: Desk) -> None:
    there = [
        link("bond0", "bond", group=GROUP_BASE, mode="active-backup", min_links=2),
        *(link(name, master="bond0", carrier=True) for name in ("eth1", "eth2")),
    ]
    assert refused(desk, there, Route("bond0", LOCAL, 254, 16), BOND % ("eth1, eth2", "", "up: false", "")) == ""


@pytest.mark.parametrize(("off", "cut"), [(("eth1",), []), (("eth1", "eth2"), ["eth1", "eth2"])])
def test_port_of_a_team_that_is_not_used_any_more(desk: Desk, off: tuple[str, ...], cut: list[str]) -> None:
    names = ("eth1", "eth2")
    there = [
        link("team0", "team", group=GROUP_BASE),
        *(link(name, master="team0", carrier=True).having({"port.team_enabled": True}) for name in names),
    ]
    ports = ", ".join(f"{name}: {{port: {{team_enabled: {'false' if name in off else 'true'}}}}}" for name in names)
    text = f"links: {{team0: {{kind: team, ports: [eth1, eth2]}}, {ports}}}"
    told = refused(desk, there, Route("team0", LOCAL, 254, 16), text)
    assert [name for name in names if f"--allow {name} " in told] == cut


def test_what_goes_by_a_port_itself_does_not_go_on_by_its_bond(desk: Desk) -> None:
    there = [
        link("bond0", "bond", group=GROUP_BASE),
        link("eth1.5", "vlan", link="eth1", id=5),
        *(link(name, master="bond0", carrier=True) for name in ("eth1", "eth2")),
    ]
    told = refused(desk, there, Route("eth1.5", LOCAL, 254, 16), BOND % ("eth1, eth2", "", "up: false", ""))
    assert "--allow eth1 " in told


@pytest.mark.parametrize(
    ("said", "cut"), [("policy: blackhole", True), ("peer_policy: blackhole", True), ("policy: forward", False)]
)
def test_netkit_that_loses_what_no_program_decides_on_is_refused(desk: Desk, said: str, cut: bool) -> None:
    there = [link("n0", "netkit", group=GROUP_BASE, peer="n1", policy="forward", peer_policy="forward")]
    there += [link("n1", "netkit", group=GROUP_BASE, peer="n0")]
    text = f"links: {{n0: {{kind: netkit, peer: n1, {said}}}}}"
    assert ("--allow n0 " in refused(desk, there, Route("n0", LOCAL, 254, 16), text)) is cut
