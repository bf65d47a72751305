# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules see real packets: what is sent into a veth pair comes out at a third link only if the rules say so."""

import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.model.tc.action import ACTION
from netgroupd.model.tc.filter import RECORDS
from netgroupd.plan.assemble import assemble
from netgroupd.plan.hooks import ON_QDISCS
from netgroupd.plan.link import Owned
from netgroupd.plan.step import Op, Step
from tests.vm.tc_cases import CLSACT, SETUP, action, qdisc, rule
from tests.vm.tc_wire import ETH_P_ALL, MARK, Wire, arp, cfm, checksum, icmp, ip4, ip6, mpls, other, tagged, tcp, udp

_SOL_PACKET, _PACKET_AUXDATA = 263, 8
_OUT = {"mirred": {"egress": "redirect", "dev": "v2"}}


@pytest.fixture
def wire() -> Iterator[Wire]:
    """A veth pair whose near end is v0, and the dummy v2."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    opened = Wire()
    yield opened
    opened.close()


def _apply(*rules: Object) -> None:
    _put(CLSACT, *rules)


def _put(*objects: Object) -> None:
    with Kernel() as kernel:
        refused = kernel.apply([Step(Op.CREATE, None, obj, obj.attrs) for obj in objects])
        assert not refused, [str(one.refusal) for one in refused]


_AWAY = bytes.fromhex("020000000099")
FLOWER = [
    ("dst_mac", "all", {"dst_mac": "02:00:00:00:00:01"}, other(udp()), other(udp(), dst=_AWAY)),
    (
        "src_mac-masked",
        "all",
        {"src_mac": "02:00:00:00:00:02/ff:ff:ff:ff:ff:ff"},
        other(udp()),
        other(udp(), src=_AWAY),
    ),
    ("protocol", "ip", {}, ip4(udp()), ip6(udp())),
    ("ip_proto", "ip", {"ip_proto": "tcp"}, ip4(tcp(), 6), ip4(udp())),
    ("src_ip", "ip", {"src_ip": "10.1.0.0/16"}, ip4(udp(), src="10.1.2.3"), ip4(udp(), src="10.2.2.3")),
    ("dst_ip", "ip", {"dst_ip": "10.1.2.3"}, ip4(udp(), dst="10.1.2.3"), ip4(udp(), dst="10.1.2.4")),
    ("dst_ip-ipv6", "ipv6", {"dst_ip": "2001:db8::/64"}, ip6(udp()), ip6(udp(), dst="2001:db9::2")),
    ("src_port", "ip", {"ip_proto": "udp", "src_port": 1000}, ip4(udp()), ip4(udp(1001))),
    ("dst_port-span", "ip", {"ip_proto": "udp", "dst_port": "100-200"}, ip4(udp(1, 150)), ip4(udp(1, 201))),
    ("dst_port-masked", "ip", {"ip_proto": "udp", "dst_port": "0x10/0xf0"}, ip4(udp(1, 0x1F)), ip4(udp(1, 0x20))),
    ("tcp_flags", "ip", {"ip_proto": "tcp", "tcp_flags": "0x2/0x12"}, ip4(tcp(), 6), ip4(tcp(flags=0x12), 6)),
    ("ip_tos", "ip", {"ip_tos": "0x10/0xfc"}, ip4(udp(), tos=0x10), ip4(udp(), tos=0x20)),
    ("ip_ttl", "ip", {"ip_ttl": 9}, ip4(udp(), ttl=9), ip4(udp(), ttl=10)),
    ("ip_flags", "ip", {"ip_flags": "frag"}, ip4(udp(), frag=0x2000), ip4(udp())),
    ("icmp_type", "ip", {"ip_proto": "icmp", "icmp_type": 8}, ip4(icmp(8), 1), ip4(icmp(0), 1)),
    ("icmpv6_type", "ipv6", {"ip_proto": "icmpv6", "icmp_type": 1}, ip6(icmp(1), 58), ip6(icmp(2), 58)),
    ("vlan_id", "802.1q", {"vlan_id": 100}, tagged(100), tagged(101)),
    ("vlan_prio", "802.1q", {"vlan_prio": 5}, tagged(1, 5), tagged(1, 4)),
    ("vlan_ethtype", "802.1q", {"vlan_ethtype": "ip", "dst_ip": "10.0.0.2"}, tagged(1), ip4(udp())),
    ("num_of_vlans", "all", {"num_of_vlans": 1}, tagged(1), ip4(udp())),
    ("arp_sip", "arp", {"arp_sip": "10.0.0.1"}, arp(1, "10.0.0.1"), arp(1, "10.0.0.9")),
    ("arp_op", "arp", {"arp_op": 2}, arp(2, "10.0.0.1"), arp(1, "10.0.0.1")),
    ("mpls_label", "mpls_uc", {"mpls_label": 100}, mpls(100), mpls(101)),
    ("mpls_lse", "mpls_uc", {"mpls_lse": ["depth 1 label 5", "depth 2 label 100 bos 1"]}, mpls(5, 100), mpls(5, 101)),
    ("cfm", "cfm", {"cfm": "mdl 5 op 1"}, cfm(5, 1), cfm(5, 2)),
    ("indev", "all", {"indev": "v0"}, ip4(udp()), b""),
]


@pytest.mark.parametrize(("name", "protocol", "match", "fits", "does_not"), FLOWER, ids=[row[0] for row in FLOWER])
def test_flower_key_lets_its_packets_through(
    wire: Wire, name: str, protocol: str, match: dict[str, object], fits: bytes, does_not: bytes
) -> None:
    _apply(rule("flower", match, protocol=protocol, actions=_OUT))
    wire.send(*(frame for frame in (does_not, fits) if frame))
    assert wire.came_out()[-40:] == fits[-40:], name


_BPF_UDP = "6,40 0 0 12,21 0 3 2048,48 0 0 23,21 0 1 17,6 0 0 4294967295,6 0 0 0"
CLASSIFIERS = [
    ("u32", rule("u32", {"match": {"ip dst": "10.1.0.0/16"}}, protocol="ip", actions=_OUT)),
    ("u32-protocol", rule("u32", {"match": {"ip protocol": 6}}, protocol="ip", actions=_OUT)),
    ("basic", rule("basic", {"match": "cmp(u8 at 9 layer network eq 6) and not u32(0/1 at 16)"}, actions=_OUT)),
    (
        "basic-parentheses",
        rule("basic", {"match": "not (cmp(u8 at 9 layer network eq 17) or meta(pkt_len gt 1000))"}, actions=_OUT),
    ),
    ("bpf", rule("bpf", {"bytecode": _BPF_UDP.replace(" 17,", " 6,")}, actions=_OUT)),
]


@pytest.mark.parametrize(("name", "one"), CLASSIFIERS, ids=[row[0] for row in CLASSIFIERS])
def test_classifier_lets_its_packets_through(wire: Wire, name: str, one: Object) -> None:
    _apply(one)
    fits = ip4(tcp(), 6, dst="10.1.2.3")
    wire.send(ip4(udp()), fits)
    assert wire.came_out() == fits, name


_BPF_VERDICT = "6,40 0 0 12,21 0 3 2048,48 0 0 23,21 0 1 6,6 0 0 3,6 0 0 2"  # pipe for TCP, shot for others
_THERE = {"do": "set", "id": 5, "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2", "control": "continue"}
SEEN = {  # what is done to packets of one protocol, and the rule that sees it
    "skbedit-mark": ({"skbedit": {"mark": 7, "control": "continue"}}, rule("fw", {"mark": "0x7"}, pref=2)),
    "skbedit-priority": (
        {"skbedit": {"priority": 5, "control": "continue"}},
        rule("basic", {"match": "meta(priority eq 5) and meta(pkt_len gt 40)"}, pref=2),
    ),
    "ct": (
        [{"ct": {"commit": True, "zone": 3, "mark": "0x7"}}, "continue"],
        rule("flower", {"ct_state": "+trk", "ct_zone": 3, "ct_mark": "0x7"}, protocol="ip", pref=2),
    ),
    "connmark": (
        [{"ct": {"commit": True, "mark": "0x9"}}, {"connmark": {"control": "continue"}}],
        rule("fw", {"mark": "0x9"}, pref=2),
    ),
    "tunnel_key": (
        {"tunnel_key": _THERE},
        rule("flower", {"enc_key_id": 5, "enc_dst_ip": "192.0.2.2"}, protocol="ip", pref=2),
    ),
    "tunnel_key-options": (
        {"tunnel_key": {**_THERE, "geneve_opts": "0102:80:00880022"}},
        rule("flower", {"enc_key_id": 5, "geneve_opts": "0102:80:00880022"}, protocol="ip", pref=2),
    ),
    "goto": ("goto chain 7", rule("matchall", {}, chain=7)),
    "bpf": ([{"bpf": {"bytecode": _BPF_VERDICT}}, "continue"], rule("matchall", {}, pref=2)),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_an_action_does_is_seen_by_the_next_rule(wire: Wire, name: str) -> None:
    done, sees = SEEN[name]
    frames = {"tcp": ip4(tcp(), 6), "udp": ip4(udp())}
    fits = frames.pop("udp" if name in ("ct", "connmark") else "tcp")  # connection tracking wants a checksum of TCP
    proto = "tcp" if "udp" in frames else "udp"
    _apply(
        rule("flower", {} if name == "bpf" else {"ip_proto": proto}, protocol="ip", pref=1, actions=done),
        sees._replace(attrs={**sees.attrs, "actions": (ACTION.parse(_OUT),)}),
    )
    wire.send(*frames.values(), fits)
    assert wire.came_out() == fits


@pytest.mark.parametrize("kind", ["matchall", "basic"])
def test_rule_for_everything_comes_after_the_exception(wire: Wire, kind: str) -> None:
    _apply(
        rule("flower", {"ip_proto": "udp"}, protocol="ip", pref=1, actions="drop"),
        rule(kind, {}, pref=2, actions=_OUT),
    )
    fits = ip4(tcp(), 6)
    wire.send(ip4(udp()), fits)
    assert wire.came_out() == fits


def test_shared_policer_counts_what_all_its_rules_see(wire: Wire) -> None:
    policer = action("police", 7, {"police": {"rate": 10, "burst": 2000, "control": "drop", "conform": "pipe"}})
    _apply(
        policer,
        rule("flower", {"ip_proto": "udp"}, protocol="ip", pref=1, actions=["police 7", _OUT]),
        rule("flower", {"ip_proto": "tcp"}, protocol="ip", pref=2, actions=["police 7", _OUT]),
        rule("flower", {}, protocol="arp", pref=3, actions=_OUT),
    )
    wire.send(*[_PLAIN] * 100, ip4(tcp(), 6), arp(1, "10.0.0.1"))  # the first take what the bucket held
    protocols = {frame[23] for frame in iter(wire.came_out, arp(1, "10.0.0.1"))}
    assert protocols == {17}


def test_every_second_packet_is_dropped(wire: Wire) -> None:
    _apply(rule("matchall", {}, actions=[{"gact": {"control": "pipe", "random": "determ drop 2"}}, _OUT]))
    wire.send(*[ip4(udp(number)) for number in range(10)])
    assert [wire.came_out()[35] for _ in range(5)] == [0, 2, 4, 6, 8]


def test_flow_maps_marks_to_classes(wire: Wire) -> None:
    lossy = qdisc("netem", {"loss": 100}, parent="1:2", handle="2:")
    tree = (qdisc("prio", {"bands": 2, "priomap": [0] * 16}), lossy)
    flow = rule("flow", {"keys": ["mark"], "mode": "map", "baseclass": "1:1"}, parent="1:")
    _put(*tree, flow)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as near:
        near.bind(("v0", 0))
        wire.out.bind(("v1", ETH_P_ALL))
        for mark in (1, 0):  # into the second class, and into the first
            near.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            near.send(ip4(udp(mark)))
    assert wire.came_out() == ip4(udp(0))


def test_block_is_for_all_links_that_share_it(wire: Wire) -> None:
    shared = CLSACT._replace(attrs={**CLSACT.attrs, "ingress_block": 7})
    of_block = rule("flower", {"ip_proto": "tcp"}, protocol="ip", actions=_OUT)
    _put(shared, of_block._replace(key=("block 7", "", *of_block.key[2:])))
    fits = ip4(tcp(), 6)
    wire.send(ip4(udp()), fits)
    assert wire.came_out() == fits


def test_chain_with_a_template_refuses_what_does_not_fit(wire: Wire) -> None:
    template = {"protocol": "ip", "flower": RECORDS["flower"].parse({"dst_ip": "0.0.0.0/24"})}
    _apply(
        Object("chain", ("v0", "ingress", 7), template),
        rule("matchall", {}, actions="goto chain 7"),
        rule("flower", {"dst_ip": "10.0.7.0/24"}, protocol="ip", chain=7, actions=_OUT),
    )
    fits = ip4(udp(), dst="10.0.7.9")
    wire.send(ip4(udp()), fits)
    assert wire.came_out() == fits
    other_mask = rule("flower", {"dst_ip": "10.0.7.9"}, protocol="ip", chain=7, actions=_OUT)
    with Kernel() as kernel:
        (refused,) = kernel.apply([Step(Op.CREATE, None, other_mask, other_mask.attrs)])
    assert refused.refusal.sentence == "cls_flower: Mask does not fit the template"


_ATOMIC = Object("chain", ("v0", "ingress", 0), {"atomic": True})
_RULES = 200


def _policy(ttl: int) -> tuple[Object, ...]:
    """Many rules of which the last lets everything out, with a mark of the policy."""
    others = [
        rule("flower", {"dst_ip": f"192.0.2.{number}"}, protocol="ip", pref=ttl, actions="drop")
        for number in range(_RULES)
    ]
    return (*others, rule("matchall", {}, pref=100, actions=[{"pedit": {"munge": {"ip ttl": ttl}}}, _OUT]))


def _reach(kernel: Kernel, policy: tuple[Object, ...]) -> None:
    actual = kernel.dump(Selection(classes=ON_QDISCS, hooks=frozenset({("v0", "ingress")})))
    plan = assemble(State((CLSACT, _ATOMIC, *policy)), actual, Owned())
    refused = kernel.apply(plan.steps)
    assert not refused, [str(one.refusal) for one in refused]


def test_no_packet_meets_half_of_a_policy_that_is_replaced(wire: Wire) -> None:
    seen: list[int] = []
    stop = threading.Event()

    def one_after_the_other() -> None:
        while not stop.is_set():
            wire.send(_PLAIN)
            seen.append(wire.came_out()[22])  # what no rule meets does not come out

    with Kernel() as kernel, ThreadPoolExecutor(1) as pool:
        _reach(kernel, _policy(5))
        wire.send(_PLAIN)
        assert wire.came_out()[22] == 5
        sender = pool.submit(one_after_the_other)
        try:
            for ttl in (6, 7):
                _reach(kernel, _policy(ttl))
        finally:
            stop.set()
        sender.result()
        wire.send(_PLAIN)
        assert wire.came_out()[22] == 7
        rules = kernel.dump(Selection(classes=ON_QDISCS, hooks=frozenset({("v0", "ingress")}))).of("filter")
    assert seen == sorted(seen)
    assert len(rules) == _RULES + 2


_PLAIN = ip4(udp())
ACTIONS = [
    ("pedit-ttl", {"pedit": {"munge": {"ip ttl": 7}}}, _PLAIN, lambda out: out[22] == 7),
    ("pedit-add", {"pedit": {"munge": {"ip ttl": "add 255"}}}, _PLAIN, lambda out: out[22] == 63),
    ("pedit-mac", {"pedit": {"munge": {"eth dst": "02:00:00:00:00:55"}}}, _PLAIN, lambda out: out[5] == 0x55),
    (
        "pedit-src",
        {"pedit": {"munge": {"ip src": "192.0.2.7"}}},
        _PLAIN,
        lambda out: out[26:30] == bytes((192, 0, 2, 7)),
    ),
    ("pedit-port", {"pedit": {"munge": {"udp dport": 53}}}, _PLAIN, lambda out: out[36:38] == bytes((0, 53))),
    (
        "pedit-label",
        {"pedit": {"munge": {"ip6 flow_lbl": 0x12345}}},
        ip6(udp()),
        lambda out: out[14:18].hex() == "60012345",
    ),
    ("pedit-ipv6", {"pedit": {"munge": {"ip6 dst": "2001:db8::77"}}}, ip6(udp()), lambda out: out[53] == 0x77),
    (
        "nat",
        {"nat": {"direction": "ingress", "old": "10.0.0.2/32", "new": "192.0.2.9"}},
        _PLAIN,
        lambda out: out[30:34] == bytes((192, 0, 2, 9)) and checksum(out[14:34]) == 0,
    ),
    ("mpls", {"mpls": {"do": "push", "label": 100, "ttl": 9}}, _PLAIN, lambda out: out[12:18].hex() == "884700064109"),
    ("vlan-pop", {"vlan": {"do": "pop"}}, tagged(9), lambda out: out == _PLAIN),
    ("police", {"police": {"rate": 125000, "burst": 10000, "conform": "pipe"}}, _PLAIN, lambda out: out == _PLAIN),
    ("no_percpu", {"gact": {"control": "pipe", "no_percpu": True}}, _PLAIN, lambda out: out == _PLAIN),
    ("csum", {"csum": {"of": "iph", "control": "pipe"}}, _PLAIN, lambda out: checksum(out[14:34]) == 0),
]


@pytest.mark.parametrize(("name", "action", "sent", "holds"), ACTIONS, ids=[row[0] for row in ACTIONS])
def test_action_does_what_it_says(wire: Wire, name: str, action: object, sent: bytes, holds: object) -> None:
    _apply(rule("matchall", {}, actions=[action, _OUT]))
    wire.send(sent)
    out = wire.came_out()
    assert callable(holds)
    assert holds(out), (name, out.hex())


def test_vlan_tag_is_pushed(wire: Wire) -> None:
    _apply(rule("matchall", {}, actions=[{"vlan": {"do": "push", "id": 9, "priority": 3}}, _OUT]))
    wire.out.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)  # the tag travels beside the frame
    wire.send(_PLAIN)
    frame, told, _, _ = wire.out.recvmsg(2048, 256)
    while MARK not in frame:
        frame, told, _, _ = wire.out.recvmsg(2048, 256)
    within = struct.unpack_from(">H", frame, 14)[0] if frame[12:14] == b"\x81\0" else 0
    assert struct.unpack_from("=H", told[0][2], 16)[0] | within == 3 << 13 | 9


def test_mirrored_packet_goes_on(wire: Wire) -> None:
    _apply(
        rule("matchall", {}, pref=1, actions=[{"mirred": {"egress": "mirror", "dev": "v2", "control": "continue"}}]),
        rule("matchall", {}, pref=2, actions=[{"pedit": {"munge": {"ip ttl": 5}}}, _OUT]),
    )
    wire.send(_PLAIN)
    assert [wire.came_out()[22], wire.came_out()[22]] == [64, 5]


def test_police_drops_what_is_too_much(wire: Wire) -> None:
    _apply(
        rule(
            "matchall",
            {},
            actions=[{"police": {"rate": 1000, "burst": 2000, "control": "drop", "conform": "pipe"}}, _OUT],
        )
    )
    wire.send(*[_PLAIN] * 200)
    assert 0 < len(list(wire.rest())) < 150
