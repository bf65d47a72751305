# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules, the frames that are sent to them, and which of these come out: every key that matches, every action."""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.state import Object
from netgroupd.model.tc.action import ACTION
from tests.vm.tc_cases import rule
from tests.vm.tc_ftp import CONTROL, RELATED
from tests.vm.tc_wire import (
    arp,
    cfm,
    checksum,
    icmp,
    ip4,
    ip6,
    mpls,
    other,
    payload_checksum,
    pppoe,
    sctp,
    summed,
    tag,
    tagged,
    tcp,
    twice,
    udp,
    words,
)

OUT = {"mirred": {"egress": "redirect", "dev": "v2"}}
PLAIN = ip4(udp())
SECOND_MARK = 0xFFFE
_AWAY = bytes.fromhex("020000000099")


class Row(NamedTuple):
    """Rules of one chain, what goes into it, and what must be true of what comes out."""

    name: str
    rules: tuple[Object, ...]
    sent: tuple[bytes, ...]
    holds: Callable[[list[bytes]], bool]


def _exactly(*frames: bytes) -> Callable[[list[bytes]], bool]:
    return lambda out: out == list(frames)


def _each(holds: Callable[[bytes], bool]) -> Callable[[list[bytes]], bool]:
    return lambda out: len(out) == 1 and holds(out[0])


_Match = Mapping[str, object]
_FLOWER: list[tuple[str, str, _Match, bytes, bytes]] = [
    ("dst_mac", "all", {"dst_mac": "02:00:00:00:00:01"}, other(udp()), other(udp(), dst=_AWAY)),
    ("src_mac", "all", {"src_mac": "02:00:00:00:00:02/ff:ff:ff:ff:ff:ff"}, other(udp()), other(udp(), src=_AWAY)),
    ("protocol", "ip", {}, PLAIN, ip6(udp())),
    ("ip_proto", "ip", {"ip_proto": "tcp"}, ip4(tcp(), 6), PLAIN),
    ("src_ip", "ip", {"src_ip": "10.1.0.0/16"}, ip4(udp(), src="10.1.2.3"), ip4(udp(), src="10.2.2.3")),
    ("dst_ip", "ip", {"dst_ip": "10.1.2.3"}, ip4(udp(), dst="10.1.2.3"), ip4(udp(), dst="10.1.2.4")),
    ("src_ip-ipv6", "ipv6", {"src_ip": "2001:db8::7"}, ip6(udp(), src="2001:db8::7"), ip6(udp())),
    ("dst_ip-ipv6", "ipv6", {"dst_ip": "2001:db8::/64"}, ip6(udp()), ip6(udp(), dst="2001:db9::2")),
    ("src_port", "ip", {"ip_proto": "udp", "src_port": 1000}, PLAIN, ip4(udp(1001))),
    ("src_port-span", "ip", {"ip_proto": "udp", "src_port": "900-1000"}, PLAIN, ip4(udp(1001))),
    ("dst_port-tcp", "ip", {"ip_proto": "tcp", "dst_port": 80}, ip4(tcp(), 6), ip4(tcp(81), 6)),
    ("dst_port-sctp", "ipv6", {"ip_proto": "sctp", "dst_port": 80}, ip6(sctp(), 132), ip6(sctp(81), 132)),
    ("dst_port-span", "ip", {"ip_proto": "udp", "dst_port": "100-200"}, ip4(udp(1, 150)), ip4(udp(1, 201))),
    ("dst_port-masked", "ip", {"ip_proto": "udp", "dst_port": "0x10/0xf0"}, ip4(udp(1, 0x1F)), ip4(udp(1, 0x20))),
    ("tcp_flags", "ip", {"ip_proto": "tcp", "tcp_flags": "0x2/0x12"}, ip4(tcp(), 6), ip4(tcp(flags=0x12), 6)),
    ("ip_tos", "ip", {"ip_tos": "0x10/0xfc"}, ip4(udp(), tos=0x10), ip4(udp(), tos=0x20)),
    ("ip_tos-ipv6", "ipv6", {"ip_tos": "0x10"}, ip6(udp(), tos=0x10), ip6(udp(), tos=0x20)),
    ("ip_ttl", "ip", {"ip_ttl": 9}, ip4(udp(), ttl=9), ip4(udp(), ttl=10)),
    ("ip_ttl-ipv6", "ipv6", {"ip_ttl": 9}, ip6(udp(), ttl=9), ip6(udp(), ttl=10)),
    ("ip_flags", "ip", {"ip_flags": "frag"}, ip4(udp(), frag=0x2000), PLAIN),
    ("icmp_type", "ip", {"ip_proto": "icmp", "icmp_type": 8}, ip4(icmp(8), 1), ip4(icmp(0), 1)),
    ("icmp_code", "ip", {"ip_proto": "icmp", "icmp_code": 4}, ip4(icmp(3, 4), 1), ip4(icmp(3, 5), 1)),
    ("icmpv6_type", "ipv6", {"ip_proto": "icmpv6", "icmp_type": 1}, ip6(icmp(1), 58), ip6(icmp(2), 58)),
    ("icmpv6_code", "ipv6", {"ip_proto": "icmpv6", "icmp_code": 4}, ip6(icmp(1, 4), 58), ip6(icmp(1, 5), 58)),
    ("vlan_id", "802.1q", {"vlan_id": 100}, tagged(100), tagged(101)),
    ("vlan_prio", "802.1q", {"vlan_prio": 5}, tagged(1, 5), tagged(1, 4)),
    ("vlan_ethtype", "802.1q", {"vlan_ethtype": "ip", "dst_ip": "10.0.0.2"}, tagged(1), tag(ip6(udp()), 1)),
    ("cvlan_id", "802.1ad", {"vlan_ethtype": "802.1q", "cvlan_id": 7}, twice(7), twice(8)),
    ("cvlan_prio", "802.1ad", {"vlan_ethtype": "802.1q", "cvlan_prio": 3}, twice(7, 3), twice(7, 2)),
    (
        "cvlan_ethtype",
        "802.1ad",
        {"vlan_ethtype": "802.1q", "cvlan_ethtype": "ipv6"},
        twice(7, payload=ip6(udp())),
        twice(7),
    ),
    ("num_of_vlans", "all", {"num_of_vlans": 1}, tagged(1), PLAIN),
    ("num_of_vlans-2", "all", {"num_of_vlans": 2}, twice(7), tagged(1)),
    ("arp_sip", "arp", {"arp_sip": "10.0.0.1"}, arp(1, "10.0.0.1"), arp(1, "10.0.0.9")),
    ("arp_tip", "arp", {"arp_tip": "10.0.1.0/24"}, arp(1, "10.0.0.1", tip="10.0.1.7"), arp(1, "10.0.0.1")),
    ("arp_op", "arp", {"arp_op": 2}, arp(2, "10.0.0.1"), arp(1, "10.0.0.1")),
    ("arp_sha", "arp", {"arp_sha": "02:00:00:00:00:99"}, arp(1, "10.0.0.1", sha=_AWAY), arp(1, "10.0.0.1")),
    ("arp_tha", "arp", {"arp_tha": "02:00:00:00:00:99"}, arp(1, "10.0.0.1", tha=_AWAY), arp(1, "10.0.0.1")),
    ("mpls_label", "mpls_uc", {"mpls_label": 100}, mpls(100), mpls(101)),
    ("mpls_tc", "mpls_uc", {"mpls_tc": 5}, mpls(100, traffic=5), mpls(100)),
    ("mpls_bos", "mpls_uc", {"mpls_bos": 0}, mpls(100, 200), mpls(100)),
    ("mpls_ttl", "mpls_uc", {"mpls_ttl": 9}, mpls(100, ttl=9), mpls(100)),
    ("mpls_lse", "mpls_uc", {"mpls_lse": ["depth 1 label 5", "depth 2 label 100 bos 1"]}, mpls(5, 100), mpls(5, 101)),
    ("mpls_lse-ttl", "mpls_uc", {"mpls_lse": ["depth 2 tc 3 ttl 9"]}, mpls(5, 6, ttl=9, traffic=3), mpls(5, 6, ttl=9)),
    ("cfm-level", "cfm", {"cfm": "mdl 5"}, cfm(5, 1), cfm(4, 1)),
    ("cfm-operation", "cfm", {"cfm": "mdl 5 op 1"}, cfm(5, 1), cfm(5, 2)),
    ("pppoe_sid", "ppp_ses", {"pppoe_sid": 5}, pppoe(5), pppoe(6)),
    ("ppp_proto", "ppp_ses", {"ppp_proto": "ip"}, pppoe(5), pppoe(5, 0xC021)),
    ("l2tpv3_sid", "ip", {"ip_proto": "l2tp", "l2tpv3_sid": 5}, ip4(words(5), 115), ip4(words(6), 115)),
    ("spi-esp", "ip", {"ip_proto": "esp", "spi": "0x5"}, ip4(words(5, 1), 50), ip4(words(6, 1), 50)),
    ("spi-ah", "ip", {"ip_proto": "ah", "spi": "0x5/0xf"}, ip4(words(0, 0x15, 1), 51), ip4(words(0, 6, 1), 51)),
]


def _flower() -> Iterator[Row]:
    for name, protocol, match, fits, does_not in _FLOWER:
        one = rule("flower", match, protocol=protocol, actions=OUT)
        yield Row(name, (one,), (does_not, fits), _exactly(fits))
    for name, match, out in (
        ("indev", {"indev": "v0"}, [PLAIN]),
        ("indev-other", {"indev": "v1"}, []),
    ):
        yield Row(name, (rule("flower", match, actions=OUT),), (PLAIN,), _exactly(*out))
    even, odd = (
        rule("flower", {"hash": f"0x{bit}/0x1"}, actions=[{"pedit": {"munge": {"ip ttl": 5 + bit}}}, OUT])
        for bit in (0, 1)
    )
    ports = tuple(ip4(udp(number)) for number in range(32))
    yield Row("hash", (even, odd), ports, lambda out: len(out) == 32 and {frame[22] for frame in out} == {5, 6})


_THERE = {"do": "set", "id": 5, "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2", "dst_port": 4789, "tos": 8, "ttl": 9}
_SIX = {"do": "set", "src_ip": "2001:db8::1", "dst_ip": "2001:db8::2"}
_GENEVE = "0102:80:00880022,0103:01:0000000000000001"
_COMMIT = {"commit": True, "zone": 3, "mark": "0x7", "label": "0x5"}
_BEHIND: list[tuple[str, _Match, _Match | None, _Match | None]] = [
    # What is matched, the tunnel with which it fits, and one with which it does not; None is none.
    ("enc_key_id", {"enc_key_id": 5}, _THERE, {**_THERE, "id": 6}),
    ("enc_src_ip", {"enc_src_ip": "192.0.2.1"}, _THERE, {**_THERE, "src_ip": "192.0.2.3"}),
    ("enc_dst_ip", {"enc_dst_ip": "192.0.2.0/30"}, _THERE, {**_THERE, "dst_ip": "192.0.2.4"}),
    ("enc_src_ip-ipv6", {"enc_src_ip": "2001:db8::1"}, _SIX, {**_SIX, "src_ip": "2001:db8::3"}),
    ("enc_dst_ip-ipv6", {"enc_dst_ip": "2001:db8::2"}, _SIX, {**_SIX, "dst_ip": "2001:db8::4"}),
    ("enc_src_port", {"enc_src_port": 0, "enc_key_id": 5}, _THERE, None),
    ("enc_dst_port", {"enc_dst_port": 4789}, _THERE, {**_THERE, "dst_port": 4790}),
    ("enc_tos", {"enc_tos": "0x8/0xfc"}, _THERE, {**_THERE, "tos": 16}),
    ("enc_ttl", {"enc_ttl": 9}, _THERE, {**_THERE, "ttl": 10}),
    ("enc_flags", {"enc_flags": "+df-csum"}, {**_THERE, "nofrag": True, "csum": False}, {**_THERE, "csum": False}),
    (
        "geneve_opts",
        {"geneve_opts": _GENEVE},
        {**_THERE, "geneve_opts": _GENEVE},
        {**_THERE, "geneve_opts": _GENEVE[:16]},
    ),
    ("vxlan_opts", {"vxlan_opts": "5/0xff"}, {**_THERE, "vxlan_opts": 0x105 & 0x48FFFF}, {**_THERE, "vxlan_opts": 6}),
    ("erspan_opts-1", {"erspan_opts": "1:5"}, {**_THERE, "erspan_opts": "1:5"}, {**_THERE, "erspan_opts": "1:6"}),
    (
        "erspan_opts-2",
        {"erspan_opts": "2:1:17"},
        {**_THERE, "erspan_opts": "2:1:17"},
        {**_THERE, "erspan_opts": "2:0:17"},
    ),
]
# The beginning of a TCP connection, and never UDP: the kernel takes connections of UDP into a flow table, which it
# frees after the counters of a namespace that ends, so that counting there overwrites what is in their place by then.
_TRACKABLE = summed(ip4(tcp(), 6))
_TRACKED: list[tuple[str, _Match, _Match]] = [
    ("ct_state", {"ct_state": "+trk+new"}, {"ct_state": "+trk+est"}),
    ("ct_zone", {"ct_state": "+trk", "ct_zone": 3}, {"ct_state": "+trk", "ct_zone": 4}),
    ("ct_mark", {"ct_state": "+trk", "ct_mark": "0x7"}, {"ct_state": "+trk", "ct_mark": "0x8"}),
    ("ct_label", {"ct_state": "+trk", "ct_label": "0x5/0xf"}, {"ct_state": "+trk", "ct_label": "0x6"}),
]


def _behind_another() -> Iterator[Row]:
    """Rules that match what the action of the rule before them did."""
    for name, match, fits, does_not in _BEHIND:
        sees = rule("flower", match, protocol="ip", pref=2, actions=OUT)
        for said, out in ((fits, [PLAIN]), (does_not, [])):
            done: object = {"tunnel_key": {**said, "control": "continue"}} if said else "continue"
            first = rule("matchall", {}, pref=1, actions=done)
            yield Row(f"{name}{'' if out else ' of another'}", (first, sees), (PLAIN,), _exactly(*out))
    tracks = rule("matchall", {}, pref=1, actions=[{"ct": _COMMIT}, "continue"])
    for name, fitting, other_ in _TRACKED:
        for match, out in ((fitting, [_TRACKABLE]), (other_, [])):
            sees = rule("flower", match, protocol="ip", pref=2, actions=OUT)
            yield Row(f"{name}{'' if out else ' of another'}", (tracks, sees), (_TRACKABLE,), _exactly(*out))
    related = rule("flower", {"ct_state": "+trk+rel"}, protocol="ip", pref=2, actions=OUT)
    for zone, helped, out in ((21, {"helper": "ipv4-tcp-ftp"}, [RELATED]), (22, {}, [])):
        tracks = rule("matchall", {}, pref=1, actions=[{"ct": {"commit": True, "zone": zone, **helped}}, "continue"])
        yield Row(f"ct-helper{'' if out else ' of none'}", (tracks, related), (*CONTROL, RELATED), _exactly(*out))
    unset = rule("matchall", {}, pref=2, actions=[{"tunnel_key": {"do": "unset", "control": "continue"}}])
    first = rule("matchall", {}, pref=1, actions=[{"tunnel_key": {**_THERE, "control": "continue"}}])
    sees = rule("flower", {"enc_key_id": 5}, protocol="ip", pref=3, actions=OUT)
    yield Row("tunnel_key-unset", (first, unset, sees), (PLAIN,), _exactly())


_BPF_UDP = "6,40 0 0 12,21 0 3 2048,48 0 0 23,21 0 1 17,6 0 0 4294967295,6 0 0 0"
_BPF_VERDICT = "6,40 0 0 12,21 0 3 2048,48 0 0 23,21 0 1 6,6 0 0 3,6 0 0 2"  # pipe for TCP, shot for others
_FITS = ip4(tcp(), 6, dst="10.1.2.3")
_HASHED = (  # by the third byte of the source into one of four buckets, then by the last one; TCP behind options
    rule("u32", {"table": 1, "divisor": 4}, protocol="ip"),
    rule("u32", {"table": 2, "divisor": 256}, protocol="ip"),
    rule("u32", {"match": {"ip protocol": 6}, "link": 1, "hashkey": "0xff00 at 12"}, protocol="ip"),
    rule(
        "u32",
        {"table": 1, "bucket": 3, "link": 2, "hashkey": "0xff at 12", "offset": "mask 0xf00 at 0 shift 6"},
        protocol="ip",
    ),
    rule("u32", {"table": 2, "bucket": 9, "match": {"tcp dst": 80}}, protocol="ip", actions=OUT),
    rule("u32", {"match": {"ip src": "10.0.3.9"}}, protocol="ip", actions="drop"),
)


def _tcp_from(source: str, port: int = 80) -> bytes:
    return ip4(tcp(port), 6, src=source)


def _classifiers() -> Iterator[Row]:
    for name, one in {
        "u32": rule("u32", {"match": {"ip dst": "10.1.0.0/16"}}, protocol="ip", actions=OUT),
        "u32-protocol": rule("u32", {"match": {"ip protocol": 6}}, protocol="ip", actions=OUT),
        "basic": rule("basic", {"match": "cmp(u8 at 9 layer network eq 6) and not u32(0/1 at 16)"}, actions=OUT),
        "basic-parentheses": rule(
            "basic", {"match": "not (cmp(u8 at 9 layer network eq 17) or meta(pkt_len gt 1000))"}, actions=OUT
        ),
        "bpf": rule("bpf", {"bytecode": _BPF_UDP.replace(" 17,", " 6,")}, actions=OUT),
    }.items():
        yield Row(name, (one,), (PLAIN, _FITS), _exactly(_FITS))
    six = ip6(udp(), dst="2001:db8:7000::1")
    to_six = rule("u32", {"match": {"ip6 dst": "2001:db8:7000::/36"}}, protocol="ipv6", actions=OUT)
    yield Row("u32-ip6", (to_six,), (ip6(udp()), six), _exactly(six))
    for link, out in (("v0", [PLAIN]), ("v2", [])):
        yield Row(f"u32-indev-{link}", (rule("u32", {"indev": link}, actions=OUT),), (PLAIN,), _exactly(*out))
    first = rule("matchall", {}, pref=1, actions=[{"skbedit": {"mark": "0x25", "control": "continue"}}])
    for mark, out in (("0x5/0xf", [PLAIN]), ("0x6/0xf", [])):
        sees = rule("u32", {"mark": mark}, pref=2, actions=OUT)
        yield Row(f"u32-mark-{mark}", (first, sees), (PLAIN,), _exactly(*out))
    fits = [_tcp_from("10.0.3.9"), _tcp_from("10.1.7.9")]  # 7 is in the bucket of 3
    does_not = [_tcp_from("10.0.3.8"), _tcp_from("10.0.2.9"), _tcp_from("10.0.3.9", 81), PLAIN]
    yield Row("u32-tables", _HASHED, (*does_not, *fits), _exactly(*fits))


def _seen() -> Iterator[Row]:
    """What an action does to packets of one protocol, and the rule that sees it."""
    for name, proto, done, sees in (
        ("skbedit-mark", "tcp", {"skbedit": {"mark": 7, "control": "continue"}}, rule("fw", {"mark": "0x7"}, pref=2)),
        (
            "skbedit-priority",
            "tcp",
            {"skbedit": {"priority": 5, "control": "continue"}},
            rule("basic", {"match": "meta(priority eq 5) and meta(pkt_len gt 40)"}, pref=2),
        ),
        (
            "connmark",
            "tcp",
            [{"ct": {"commit": True, "mark": "0x9"}}, {"connmark": {"control": "continue"}}],
            rule("fw", {"mark": "0x9"}, pref=2),
        ),
        ("bpf", "", [{"bpf": {"bytecode": _BPF_VERDICT}}, "continue"], rule("matchall", {}, pref=2)),
    ):
        first = rule("flower", {"ip_proto": proto} if proto else {}, protocol="ip", pref=1, actions=done)
        second = sees._replace(attrs={**sees.attrs, "actions": (ACTION.parse(OUT),)})
        yield Row(name, (first, second), (PLAIN, _TRACKABLE), _exactly(_TRACKABLE))
    for name, edit, sees_, frame in (
        ("skbedit-ptype", {"ptype": "host"}, "meta(pkt_type eq 0)", other(udp(), dst=_AWAY)),
        ("skbedit-inheritdsfield", {"inheritdsfield": True}, "meta(priority eq 4)", ip4(udp(), tos=0x10)),
    ):
        sees = rule("basic", {"match": sees_}, pref=2, actions=OUT)
        for said, out in ((edit, [frame]), ({"priority": 9}, [])):
            first = rule("matchall", {}, pref=1, actions=[{"skbedit": {**said, "control": "continue"}}])
            yield Row(f"{name}{'' if out else ' not'}", (first, sees), (frame,), _exactly(*out))


_NEW_ENDS = {"dst_mac": "02:00:00:00:00:55", "src_mac": "02:00:00:00:00:66"}
_SPOILT = PLAIN[:24] + b"\xde\xad" + PLAIN[26:]
_ONE = ip4(struct.pack(">HHHH", 1000, 2000, 25, 0xDEAD) + udp()[8:])


_ACTIONS: list[tuple[str, object, bytes, Callable[[bytes], bool]]] = [
    ("pedit-ttl", {"pedit": {"munge": {"ip ttl": 7}}}, PLAIN, lambda out: out[22] == 7),
    ("pedit-add", {"pedit": {"munge": {"ip ttl": "add 255"}}}, PLAIN, lambda out: out[22] == 63),
    ("pedit-eth-dst", {"pedit": {"munge": {"eth dst": "02:00:00:00:00:55"}}}, PLAIN, lambda out: out[5] == 0x55),
    ("pedit-eth-src", {"pedit": {"munge": {"eth src": "02:00:00:00:00:55"}}}, PLAIN, lambda out: out[11] == 0x55),
    ("pedit-eth-type", {"pedit": {"munge": {"eth type": "0x88b5"}}}, PLAIN, lambda out: out[12:14].hex() == "88b5"),
    ("pedit-dsfield", {"pedit": {"munge": {"ip dsfield": 8}}}, PLAIN, lambda out: out[15] == 8),
    ("pedit-protocol", {"pedit": {"munge": {"ip protocol": 6}}}, PLAIN, lambda out: out[23] == 6),
    ("pedit-src", {"pedit": {"munge": {"ip src": "192.0.2.7"}}}, PLAIN, lambda out: out[26:30].hex() == "c0000207"),
    ("pedit-dst", {"pedit": {"munge": {"ip dst": "192.0.2.7"}}}, PLAIN, lambda out: out[30:34].hex() == "c0000207"),
    ("pedit-udp-src", {"pedit": {"munge": {"udp sport": 53}}}, PLAIN, lambda out: out[34:36].hex() == "0035"),
    ("pedit-udp-dst", {"pedit": {"munge": {"udp dport": 53}}}, PLAIN, lambda out: out[36:38].hex() == "0035"),
    ("pedit-tcp-src", {"pedit": {"munge": {"tcp sport": 53}}}, ip4(tcp(), 6), lambda out: out[34:36].hex() == "0035"),
    ("pedit-tcp-dst", {"pedit": {"munge": {"tcp dport": 53}}}, ip4(tcp(), 6), lambda out: out[36:38].hex() == "0035"),
    ("pedit-tcp-flags", {"pedit": {"munge": {"tcp flags": 0x12}}}, ip4(tcp(), 6), lambda out: out[47] == 0x12),
    ("pedit-class", {"pedit": {"munge": {"ip6 traffic_class": 8}}}, ip6(udp()), lambda out: out[14:16].hex() == "6080"),
    (
        "pedit-label",
        {"pedit": {"munge": {"ip6 flow_lbl": 0x12345}}},
        ip6(udp()),
        lambda out: out[14:18].hex() == "60012345",
    ),
    ("pedit-nexthdr", {"pedit": {"munge": {"ip6 nexthdr": 6}}}, ip6(udp()), lambda out: out[20] == 6),
    ("pedit-hoplimit", {"pedit": {"munge": {"ip6 hoplimit": 9}}}, ip6(udp()), lambda out: out[21] == 9),
    ("pedit-ip6-src", {"pedit": {"munge": {"ip6 src": "2001:db8::77"}}}, ip6(udp()), lambda out: out[37] == 0x77),
    ("pedit-ip6-dst", {"pedit": {"munge": {"ip6 dst": "2001:db8::77"}}}, ip6(udp()), lambda out: out[53] == 0x77),
    (
        "nat",
        {"nat": {"direction": "ingress", "old": "10.0.0.2/32", "new": "192.0.2.9"}},
        PLAIN,
        lambda out: out[30:34].hex() == "c0000209" and checksum(out[14:34]) == 0,
    ),
    (
        "nat-egress",
        {"nat": {"direction": "egress", "old": "10.0.0.0/24", "new": "192.0.2.0"}},
        PLAIN,
        lambda out: out[26:30].hex() == "c0000201" and checksum(out[14:34]) == 0,
    ),
    (
        "ct-nat",
        {"ct": {"commit": True, "zone": 9, "nat_src": "192.0.2.9 port 5000-5000"}},
        summed(ip4(tcp(7), 6)),
        lambda out: out[26:30].hex() == "c0000209" and out[34:36] == struct.pack(">H", 5000),
    ),
    (
        "ct-nat-dst",
        {"ct": {"commit": True, "zone": 10, "nat_dst": "192.0.2.9"}},
        summed(ip4(tcp(8), 6)),
        lambda out: out[30:34].hex() == "c0000209",
    ),
    ("mpls", {"mpls": {"do": "push", "label": 100, "ttl": 9}}, PLAIN, lambda out: out[12:18].hex() == "884700064109"),
    ("mpls-modify", {"mpls": {"do": "modify", "label": 7}}, mpls(100), lambda out: out[12:18].hex() == "884700007140"),
    ("mpls-dec_ttl", {"mpls": {"do": "dec_ttl"}}, mpls(100), lambda out: out[17] == 63),
    ("mpls-pop", {"mpls": {"do": "pop", "protocol": "ip"}}, mpls(100), lambda out: out[12:14] == b"\x08\0"),
    (
        "mpls-mac_push",
        {"mpls": {"do": "mac_push", "label": 100, "ttl": 9}},
        PLAIN,
        lambda out: out[:4].hex() == "00064109" and out[4:] == PLAIN,
    ),
    ("vlan-push", {"vlan": {"do": "push", "id": 9, "priority": 3}}, PLAIN, lambda out: out == tag(PLAIN, 9, 3)),
    ("vlan-modify", {"vlan": {"do": "modify", "id": 7}}, tagged(9, 3), lambda out: out == tagged(7, 3)),
    ("vlan-pop", {"vlan": {"do": "pop"}}, tagged(9), lambda out: out == PLAIN),
    (
        "vlan-eth",
        [{"vlan": {"do": "pop_eth"}}, {"vlan": {"do": "push_eth", **_NEW_ENDS}}],
        PLAIN,
        lambda out: out[:12].hex() == "020000000055020000000066" and out[14:] == PLAIN[14:],
    ),
    ("police", {"police": {"rate": 125000, "burst": 10000, "conform": "pipe"}}, PLAIN, lambda out: out == PLAIN),
    (
        "police-peak",
        {"police": {"rate": 125000, "burst": 10000, "peakrate": 250000, "mtu": 2000, "conform": "pipe"}},
        PLAIN,
        lambda out: out == PLAIN,
    ),
    ("no_percpu", {"gact": {"control": "pipe", "no_percpu": True}}, PLAIN, lambda out: out == PLAIN),
    ("csum", {"csum": {"of": "iph", "control": "pipe"}}, _SPOILT, lambda out: out == PLAIN),
    ("csum-udp", {"csum": {"of": "udp", "control": "pipe"}}, _ONE, lambda out: payload_checksum(out) == 0),
    ("jump", [{"gact": {"control": "jump 2"}}, "drop"], PLAIN, lambda out: out == PLAIN),
]


def _actions() -> Iterator[Row]:
    for name, done, sent, holds in _ACTIONS:
        some = done if isinstance(done, list) else [done]
        yield Row(name, (rule("matchall", {}, actions=[*some, OUT]),), (sent,), _each(holds))
    for control in ("continue", "pass", "drop", "stolen", "queued", "repeat", "trap"):
        rules = (rule("matchall", {}, pref=1, actions=control), rule("matchall", {}, pref=2, actions=OUT))
        yield Row(control, rules, (PLAIN,), _exactly(*([PLAIN] if control == "continue" else [])))
    again = [{"skbedit": {"mark": SECOND_MARK}}, "reclassify"]
    yield Row("reclassify", (rule("matchall", {}, actions=again),), (PLAIN,), _exactly(PLAIN))
    for name, random, count in (("random-netrand", "netrand drop 1", 0), ("random-determ", "determ drop 2", 5)):
        half = rule("matchall", {}, actions=[{"gact": {"control": "pipe", "random": random}}, OUT])
        yield Row(name, (half,), (PLAIN,) * 10, lambda out, count=count: len(out) == count)  # type: ignore[misc]
    limit = {"rate": 10, "burst": 2000, "control": "drop", "conform": "pipe"}  # some 30 frames, then one in 6 s
    few = rule("matchall", {}, actions=[{"police": limit}, OUT])
    yield Row("police-drops", (few,), (PLAIN,) * 100, lambda out: 0 < len(out) < 80)
    inwards = {"mirred": {"ingress": "redirect", "dev": "v2"}}
    yield Row("mirred-ingress", (rule("matchall", {}, actions=inwards),), (PLAIN,), _exactly(PLAIN))
    to_block = {"mirred": {"egress": "redirect", "block": 7}}
    yield Row("mirred-block", (rule("matchall", {}, actions=to_block),), (PLAIN,), _exactly(PLAIN))
    mirrors = rule(
        "matchall", {}, pref=1, actions=[{"mirred": {"egress": "mirror", "dev": "v2", "control": "continue"}}]
    )
    then = rule("matchall", {}, pref=2, actions=[{"pedit": {"munge": {"ip ttl": 5}}}, OUT])
    yield Row("mirror", (mirrors, then), (PLAIN,), lambda out: [frame[22] for frame in out] == [64, 5])


ROWS = {
    "flower": tuple(_flower()),
    "flower_behind_another_rule": tuple(_behind_another()),
    "classifiers": tuple(_classifiers()),
    "seen_by_the_next_rule": tuple(_seen()),
    "actions": tuple(_actions()),
}
