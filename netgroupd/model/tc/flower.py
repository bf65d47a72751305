# SPDX-License-Identifier: GPL-2.0-or-later
"""What the flower classifier can match, under ``tc``'s names, and by which attribute numbers.

A key is a value with a mask (``masked``) or without.  Some are other attributes
for IPv4 than for IPv6, or for one transport than for another: ``variants`` tells
them apart by the width of the address or by ``ip_proto``.
"""

from collections.abc import Mapping
from typing import NamedTuple

from netgroupd.model.rule import IPPROTO, span_text
from netgroupd.model.tc.masked import MASKED_IP, MASKED_MAC, masked_number
from netgroupd.model.tc.options import CFM_WORDS, GENEVE, STACK, tunnel
from netgroupd.model.tc.protocol import PPP_PROTOCOL, PROTOCOL
from netgroupd.model.value import FLAG, NAME, Type, Value, number

IP_FLAGS = {"frag": 1, "firstfrag": 2}
ENC_FLAGS = {"csum": 4, "df": 8, "oam": 16, "crit": 32}
CT_STATES = {"new": 1, "est": 2, "rel": 4, "trk": 8, "inv": 16, "rpl": 32}
TCP, UDP, SCTP = 6, 17, 132
SPAN_NUMBERS = {"src_port": (87, 88), "dst_port": (89, 90)}


class Wire(NamedTuple):
    """The attributes of a value and of its mask; 0 where it has none."""

    value: int
    mask: int = 0


class FlowerKey(NamedTuple):
    """One thing to match.  ``variants`` is by address width, or by the number of ``ip_proto``; 0 is any."""

    name: str
    type: Type
    doc: str
    variants: Mapping[int, Wire]


def bits_of(names: Mapping[str, int], width: int, *, order: str) -> Type:
    """Flags that must be set (+est) or clear (-trk), as a text like +trk-est."""
    expected = "flags like +" + " and -".join(list(names)[:2]) + ": of " + ", ".join(names)
    numbers = {bit: name for name, bit in names.items()}

    def read(text: str) -> tuple[int, int]:
        value = mask = 0
        for part in text.replace("-", " -").replace("+", " +").replace("/", " ").split():
            sign, name = (part[0], part[1:]) if part[0] in "+-" else ("+", part)
            if name.startswith("no") and name[2:] in names:
                sign, name = "-", name[2:]
            if name not in names:
                raise ValueError(f"expected {expected}, not {name!r}")
            if mask & names[name]:
                raise ValueError(f"expected {expected}, each once, not {name!r} again")
            mask |= names[name]
            value |= names[name] if sign == "+" else 0
        if not mask:
            raise ValueError(f"expected {expected}")
        return value, mask

    def text(value: int, mask: int) -> str:
        return "".join(("+" if value & bit else "-") + name for bit, name in numbers.items() if mask & bit)

    def pack(value: Value) -> bytes:
        return b"".join(half.to_bytes(width, order) for half in read(str(value)))  # type: ignore[arg-type]

    def unpack(payload: bytes) -> Value:
        value, mask = (int.from_bytes(half, order) for half in (payload[:width], payload[width:]))  # type: ignore[arg-type]
        return text(value, mask)

    return Type(expected, lambda raw: text(*read(str(raw))), {"type": "string"}, pack, unpack)


_PORT = masked_number(16)


def _parse_port(raw: object) -> Value:
    first, dash, last = str(raw).partition("-")
    if not dash:
        return _PORT.parse(raw)
    bounds = [number(16, 1).parse(end.strip()) for end in (first, last)]
    low, high = (int(str(bound)) for bound in bounds)
    if low >= high:
        raise ValueError(f"expected a port, or a span of ports: {raw} ends before it begins")
    return span_text(low, high)


PORTS = _PORT._replace(expected="a port, one with a mask, or a span like 80-90", parse=_parse_port)


def _plain(value: int, mask: int = 0) -> Mapping[int, Wire]:
    return {0: Wire(value, mask)}


def _by_width(four: int, sixteen: int) -> Mapping[int, Wire]:
    return {4: Wire(four, four + 1), 16: Wire(sixteen, sixteen + 1)}


_U8, _U16 = masked_number(8), masked_number(16)
_HEX8 = masked_number(8, hexadecimal=True)
_BE16, _BE32 = number(16, order=">"), number(32, order=">")
_SRC_PORTS = {TCP: Wire(18, 35), UDP: Wire(20, 37), SCTP: Wire(41, 39)}
_DST_PORTS = {TCP: Wire(19, 36), UDP: Wire(21, 38), SCTP: Wire(42, 40)}
_ICMP, _ICMPV6 = 1, 58

_NESTED: Mapping[int, Wire] = {}  # ``kernel/`` lays these out
_KEYS = (
    FlowerKey("indev", NAME, "The link that it came in by.", _plain(2)),
    FlowerKey("dst_mac", MASKED_MAC, "Destination MAC.", _plain(4, 5)),
    FlowerKey("src_mac", MASKED_MAC, "Source MAC.", _plain(6, 7)),
    FlowerKey("ip_proto", IPPROTO, "The protocol that IP carries.", _plain(9)),
    FlowerKey("src_ip", MASKED_IP, "Source address.", _by_width(10, 14)),
    FlowerKey("dst_ip", MASKED_IP, "Destination address.", _by_width(12, 16)),
    FlowerKey("src_port", PORTS, "Source port of TCP, UDP or SCTP.", _SRC_PORTS),
    FlowerKey("dst_port", PORTS, "Destination port of TCP, UDP or SCTP.", _DST_PORTS),
    FlowerKey("tcp_flags", masked_number(16, hexadecimal=True), "TCP flags.", _plain(71, 72)),
    FlowerKey("ip_tos", _HEX8, "The type of service, or traffic class.", _plain(73, 74)),
    FlowerKey("ip_ttl", _U8, "The time to live, or hop limit.", _plain(75, 76)),
    FlowerKey("ip_flags", bits_of(IP_FLAGS, 4, order="big"), "Whether it is a fragment.", _plain(47, 48)),
    FlowerKey("icmp_type", _U8, "Type of ICMP or ICMPv6.", {_ICMP: Wire(51, 52), _ICMPV6: Wire(55, 56)}),
    FlowerKey("icmp_code", _U8, "Code of ICMP or ICMPv6.", {_ICMP: Wire(49, 50), _ICMPV6: Wire(53, 54)}),
    FlowerKey("vlan_id", number(16, 0, 4095), "VLAN.", _plain(23)),
    FlowerKey("vlan_prio", number(8, 0, 7), "Priority of the VLAN tag.", _plain(24)),
    FlowerKey("vlan_ethtype", PROTOCOL, "Protocol behind the VLAN tag.", _plain(25)),
    FlowerKey("cvlan_id", number(16, 0, 4095), "Inner VLAN.", _plain(77)),
    FlowerKey("cvlan_prio", number(8, 0, 7), "Priority of the inner VLAN tag.", _plain(78)),
    FlowerKey("cvlan_ethtype", PROTOCOL, "Protocol behind the inner VLAN tag.", _plain(79)),
    FlowerKey("num_of_vlans", number(8), "How many VLAN tags.", _plain(102)),
    FlowerKey("arp_sip", MASKED_IP, "Sender's IP address of ARP.", _plain(57, 58)),
    FlowerKey("arp_tip", MASKED_IP, "Target's IP address of ARP.", _plain(59, 60)),
    FlowerKey("arp_op", _U8, "Operation of ARP: 1 request, 2 reply.", _plain(61, 62)),
    FlowerKey("arp_sha", MASKED_MAC, "Sender's MAC of ARP.", _plain(63, 64)),
    FlowerKey("arp_tha", MASKED_MAC, "Target's MAC of ARP.", _plain(65, 66)),
    FlowerKey("mpls_label", number(32, 0, (1 << 20) - 1), "Label of the first MPLS entry.", _plain(70)),
    FlowerKey("mpls_tc", number(8, 0, 7), "Traffic class of the first MPLS entry.", _plain(69)),
    FlowerKey("mpls_bos", number(8, 0, 1), "Whether the first MPLS entry is the last.", _plain(68)),
    FlowerKey("mpls_ttl", number(8), "TTL of the first MPLS entry.", _plain(67)),
    FlowerKey("enc_key_id", _BE32, "Id of the tunnel, such as the VNI.", _plain(26)),
    FlowerKey("enc_src_ip", MASKED_IP, "Source address of the tunnel.", _by_width(27, 31)),
    FlowerKey("enc_dst_ip", MASKED_IP, "Destination address of the tunnel.", _by_width(29, 33)),
    FlowerKey("enc_src_port", _U16, "Source port of the tunnel.", _plain(43, 44)),
    FlowerKey("enc_dst_port", _U16, "Destination port of the tunnel.", _plain(45, 46)),
    FlowerKey("enc_tos", _HEX8, "Type of service of the tunnel.", _plain(80, 81)),
    FlowerKey("enc_ttl", _U8, "TTL of the tunnel.", _plain(82, 83)),
    FlowerKey("enc_flags", bits_of(ENC_FLAGS, 4, order="big"), "Flags of the tunnel.", _plain(110, 111)),
    FlowerKey("ct_state", bits_of(CT_STATES, 2, order="little"), "What connection tracking found.", _plain(91, 92)),
    FlowerKey("ct_zone", masked_number(16, order="little"), "Zone of connection tracking.", _plain(93, 94)),
    FlowerKey(
        "ct_mark", masked_number(32, order="little", hexadecimal=True), "Mark of the connection.", _plain(95, 96)
    ),
    FlowerKey("ct_label", masked_number(128, hexadecimal=True), "Label of the connection.", _plain(97, 98)),
    FlowerKey("hash", masked_number(32, order="little", hexadecimal=True), "Hash of the packet.", _plain(100, 101)),
    FlowerKey("pppoe_sid", _BE16, "Session of PPPoE.", _plain(103)),
    FlowerKey("ppp_proto", PPP_PROTOCOL, "Protocol inside PPPoE.", _plain(104)),
    FlowerKey("l2tpv3_sid", _BE32, "Session of L2TPv3.", _plain(105)),
    FlowerKey("spi", masked_number(32, hexadecimal=True), "SPI of ESP or AH.", _plain(108, 109)),
    FlowerKey("geneve_opts", GENEVE, "Options of a Geneve tunnel.", _NESTED),
    FlowerKey("vxlan_opts", tunnel("vxlan_opts"), "The group policy of a VXLAN tunnel.", _NESTED),
    FlowerKey("erspan_opts", tunnel("erspan_opts"), "Options of an ERSPAN tunnel.", _NESTED),
    FlowerKey("gtp_opts", tunnel("gtp_opts"), "Options of a GTP tunnel.", _NESTED),
    FlowerKey("pfcp_opts", tunnel("pfcp_opts"), "Options of a PFCP tunnel.", _NESTED),
    FlowerKey("mpls_lse", STACK, "Entries of the MPLS stack, such as depth 2 label 100.", _NESTED),
    FlowerKey("cfm", CFM_WORDS, "Level and operation of CFM, such as mdl 5 op 1.", _NESTED),
    FlowerKey("l2_miss", FLAG, "Whether the bridge did not know the destination.", _plain(106)),
)
KEYS = {key.name: key for key in _KEYS}
_FLAGS = frozenset({"ip_flags", "enc_flags", "ct_state"})


def mask_of(name: str, value: Value) -> str:
    """The part of a value that is its mask, which decides when the rules with it are asked; of a whole one nothing."""
    if isinstance(value, int):
        return ""
    text = str(value)
    if name in SPAN_NUMBERS and "-" in text:
        return "-"
    return text.replace("-", "+") if name in _FLAGS else text.partition("/")[2]
