# SPDX-License-Identifier: GPL-2.0-or-later
"""A way -> the few packets that stand for it, and what becomes of them on the links below.

Of a session these are its own segments of TCP, both ways, with the ports where
they are known.  Of a default route they are packets of its protocol and nothing
else is said of them, for it still serves where single destinations are filtered.
Both need that the next hop is found: ARP or its counterpart in IPv6.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.engine.guard.carriers import INTERLINK
from netgroupd.engine.guard.way import Way
from netgroupd.model.rule import PROTOCOLS
from netgroupd.model.state import Object
from netgroupd.model.value import Value, ip_bytes, ip_text
from netgroupd.plan.compare import kind_of

_SAME_BELOW = frozenset({"bridge", "bond", "team", "macvlan", "macvtap", "ipvlan", "ipvtap", "vrf"})
_ARP_REQUEST, _ARP_REPLY = 1, 2
_SOLICITATION, _ADVERTISEMENT = 135, 136
_TO_ALL = "ff:ff:ff:ff:ff:ff"
_GROUP_OF_NODES = "ff02::1:ff00:0"  # the rest is the end of the address that is asked for
HEADER_BYTES = {"ip": 20, "ipv6": 40}
"""Of a header without options; what is behind it, begins with the ports."""
_OF_MAC = len("02:00:00:00:00:01")
LEAST_BYTES = 42  # of a frame: the headers of Ethernet and of ARP, or more
# Of one by which a session of TCP begins: the headers, and options; what carries a word is longer.
_LEAST_OF_TCP = {"ip": 74, "ipv6": 94}
_USUAL_TTL = 64


class Packet(NamedTuple):
    """What is known of a packet: ``known`` are keys of flower, ``header`` bytes from that of IP on, and which of them.

    ``protocol`` is what is behind the ``tags``, each a protocol and an id; "" is any.  It has ``least`` bytes or more.
    """

    protocol: str = ""
    known: Mapping[str, Value] = MappingProxyType({})
    tags: tuple[tuple[str, int], ...] = ()
    header: tuple[bytes, bytes] = (b"", b"")
    least: int = LEAST_BYTES

    @property
    def outermost(self) -> str:
        """The protocol that rules are asked for."""
        return self.tags[0][0] if self.tags else self.protocol


SEALED = Packet()
"""What is inside of a tunnel or was rewritten: nothing is known of it."""


class Exchange(NamedTuple):
    """Packets that leave, and those that come in."""

    leaving: tuple[Packet, ...]
    coming: tuple[Packet, ...]

    def at(self, part: str) -> tuple[Packet, ...]:
        """Those that a hook or the tree of qdiscs sees."""
        return self.coming if part == "ingress" else self.leaving

    def below(self, upper: Object | None, lower: str) -> "Exchange":
        """The same on ``lower``, which carries it for ``upper``."""
        return Exchange(*(tuple(_below(packet, upper, lower) for packet in packets) for packets in self))


def exchange(way: Way, link: Object | None) -> Exchange:
    """The packets that stand for ``way`` on its link."""
    six = way.family == "inet6"
    protocol = "ipv6" if six else "ip"
    plain = Packet(protocol, header=_header(six, {}))
    leaving, coming = plain, plain
    if way.session.peer:
        leaving, coming = _segments(way, protocol)
    elif way.protocol:
        ends = ({"src_ip": way.route.source, "dst_ip": way.to}, {"src_ip": way.to, "dst_ip": way.route.source})
        leaving, coming = (_with(plain, {"ip_proto": way.protocol, **_said(found)}) for found in ends)
    here, there = (str(mac or "") for mac in (link.attrs.get("mac") if link else "", way.route.lladdr))
    leaving, coming = _framed(leaving, here, there), _framed(coming, there, here)
    out, back = [leaving], [coming]
    if way.session.peer:
        # How it begins, and goes on where no program has asked for anything else.
        out.append(_with(leaving, {"ip_tos": "0x0", "ip_ttl": _USUAL_TTL}))
        back.append(_with(coming, {"ip_tos": "0x0"}))
    if link is None or link.attrs.get("arp") is False:
        return Exchange((*out,), (*back,))
    out.append(_resolving(six, _SOLICITATION if six else _ARP_REQUEST))
    back.append(_resolving(six, _ADVERTISEMENT if six else _ARP_REPLY))
    if way.session.peer:  # a session begins with that the other end, or the gateway, asks for this one
        back.append(_asked_for(way))
        out.append(_resolving(six, _ADVERTISEMENT if six else _ARP_REPLY))
    return Exchange((*out,), (*back,))


def _resolving(six: bool, what: int, **more: Value) -> Packet:
    """By which a neighbour is asked for, or tells where it is."""
    if not six:
        return Packet("arp", {"arp_op": what, **more})
    known = {"ip_proto": "icmpv6", "icmp_type": what, **more}
    return Packet("ipv6", known, header=_header(six, known))


def _asked_for(way: Way) -> Packet:
    """The question for this host, which goes to all of a link; who is behind a gateway may be led to any address."""
    if way.family == "inet":
        return _resolving(False, _ARP_REQUEST, dst_mac=_TO_ALL)
    if way.is_routed or not way.route.source:
        return _resolving(True, _SOLICITATION)
    last = ip_bytes(way.route.source)[-3:]
    group = ip_text(ip_bytes(_GROUP_OF_NODES)[:-3] + last)
    return _resolving(True, _SOLICITATION, dst_ip=group, dst_mac=f"33:33:ff:{last.hex(':')}")


def _said(ends: Mapping[str, str]) -> dict[str, Value]:
    """The addresses that are known, in the one form."""
    return {side: ip_text(ip_bytes(address)) for side, address in ends.items() if address}


def _segments(way: Way, protocol: str) -> tuple[Packet, Packet]:
    session = way.session
    here = (way.route.source or session.local, session.local_port)
    there = (session.peer, session.peer_port)
    found = []
    for source, destination in ((here, there), (there, here)):
        known: dict[str, Value] = {"ip_proto": "tcp"}
        for side, (address, port) in (("src", source), ("dst", destination)):
            known |= _said({f"{side}_ip": address})
            known |= {f"{side}_port": port} if port else {}
        header = _header(way.family == "inet6", known)
        found.append(Packet(protocol, known, header=header, least=_LEAST_OF_TCP[protocol]))
    return found[0], found[1]


def _with(packet: Packet, more: Mapping[str, Value]) -> Packet:
    known = {**packet.known, **more}
    return packet._replace(known=known, header=_header(packet.protocol == "ipv6", known))


def _framed(packet: Packet, source: str, destination: str) -> Packet:
    """With the MACs, as far as they are known and some."""
    macs = {"src_mac": source, "dst_mac": destination}
    return packet._replace(known={**packet.known, **{name: mac for name, mac in macs.items() if len(mac) == _OF_MAC}})


def _header(six: bool, known: Mapping[str, Value]) -> tuple[bytes, bytes]:
    """The bytes of an IP header without options, and of the ports behind it; which of them are known."""
    at = {"ip_proto": 6, "src_ip": 8, "dst_ip": 24} if six else {"ip_proto": 9, "src_ip": 12, "dst_ip": 16}
    at |= {"ip_ttl": 7} if six else {"ip_tos": 1, "ip_ttl": 8}  # the one of IPv6 is in halves of two bytes
    ports = HEADER_BYTES["ipv6" if six else "ip"]
    at |= {"src_port": ports, "dst_port": ports + 2}
    value, mask = bytearray(ports + 4), bytearray(ports + 4)
    value[0], mask[0] = (0x60, 0xF0) if six else (0x45, 0xFF)
    for name, said in known.items():
        if name not in at:
            continue
        payload = _payload(name, said)
        place = at[name]
        value[place : place + len(payload)] = payload
        mask[place : place + len(payload)] = b"\xff" * len(payload)
    return bytes(value), bytes(mask)


def _payload(name: str, said: Value) -> bytes:
    if name == "ip_proto":
        return bytes((PROTOCOLS[str(said)],))
    if name in ("ip_tos", "ip_ttl"):
        return bytes((int(str(said), 0),))
    return ip_bytes(str(said)) if name.endswith("_ip") else int(str(said)).to_bytes(2, "big")


def _below(packet: Packet, upper: Object | None, lower: str) -> Packet:
    kind = kind_of(upper)
    if upper is None or lower in (upper.attrs.get("master"), upper.attrs.get(INTERLINK)):
        return packet
    if kind == "vlan":
        tag = (str(upper.attrs.get("protocol", "802.1q")), int(str(upper.attrs.get("id", 0))))
        return packet._replace(tags=(tag, *packet.tags))
    return packet if kind in _SAME_BELOW else SEALED
