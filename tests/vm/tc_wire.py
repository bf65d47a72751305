# SPDX-License-Identifier: GPL-2.0-or-later
"""A veth pair into which frames are sent, the link where they come out again, and the frames."""

import socket
import struct
from collections.abc import Iterator

MARK = b"seen-by-the-rules"
ETH_P_ALL = 3
_SOL_PACKET, _PACKET_AUXDATA, _VLAN_VALID = 263, 8, 1 << 4
_DST, _SRC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


class Wire:
    """The far end of the pair, and the link where redirected packets come out."""

    def __init__(self) -> None:
        self.far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.far.bind(("v1", 0))
        self.out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.out.bind(("v2", ETH_P_ALL))
        self.out.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self.out.settimeout(60)

    def send(self, *frames: bytes) -> None:
        """Send frames towards the rules."""
        for frame in frames:
            self.far.send(frame)

    def send_marked(self, mark: int, *frames: bytes) -> None:
        """Send frames with a mark, which they keep on their way to the rules."""
        self.far.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
        self.send(*frames)

    def came_out(self) -> bytes:
        """The next of our frames that comes out, with the tag that the kernel has beside it."""
        while True:
            frame, told, _, _ = self.out.recvmsg(2048, 256)
            if MARK in frame:
                return _with_tag(frame, told[0][2])

    def rest(self) -> Iterator[bytes]:
        """Whatever still comes out within a second of the one before."""
        self.out.settimeout(1)
        try:
            while True:
                yield self.came_out()
        except TimeoutError:
            return

    def close(self) -> None:
        """Leave the links alone."""
        self.far.close()
        self.out.close()


def _with_tag(frame: bytes, auxiliary: bytes) -> bytes:
    status, tci, tpid = struct.unpack_from("=I", auxiliary)[0], *struct.unpack_from("=HH", auxiliary, 16)
    return frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:] if status & _VLAN_VALID else frame


def checksum(header: bytes) -> int:
    """The checksum of the Internet; 0 over a header that has the right one."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def payload_checksum(frame: bytes) -> int:
    """The checksum that covers what a frame of IPv4 carries, and its ends; 0 where that has the right one."""
    carried = frame[34:]
    whole = frame[26:34] + struct.pack(">HH", frame[23], len(carried)) + carried
    return checksum(whole + bytes(len(whole) % 2))


def eth(payload: bytes, kind: int, *, dst: bytes = _DST, src: bytes = _SRC) -> bytes:
    """An Ethernet frame."""
    return dst + src + struct.pack(">H", kind) + payload


def ip4(payload: bytes, proto: int = 17, *, src: str = "10.0.0.1", dst: str = "10.0.0.2", **said: int) -> bytes:
    """An IPv4 packet in a frame."""
    length, frag, ttl, tos = 20 + len(payload), said.get("frag", 0), said.get("ttl", 64), said.get("tos", 0)
    ends = socket.inet_aton(src) + socket.inet_aton(dst)
    header = struct.pack(">BBHHHBBH", 0x45, tos, length, 1, frag, ttl, proto, 0) + ends
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return eth(header + payload, 0x0800)


def ip6(payload: bytes, proto: int = 17, *, src: str = "2001:db8::1", dst: str = "2001:db8::2", **said: int) -> bytes:
    """An IPv6 packet in a frame."""
    header = struct.pack(">IHBB", 6 << 28 | said.get("tos", 0) << 20, len(payload), proto, said.get("ttl", 64))
    ends = socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst)
    return eth(header + ends + payload, 0x86DD)


def udp(sport: int = 1000, dport: int = 2000) -> bytes:
    """A UDP datagram that bears the mark."""
    return struct.pack(">HHHH", sport, dport, 8 + len(MARK), 0) + MARK


def tcp(dport: int = 80, flags: int = 2) -> bytes:
    """A TCP segment that bears the mark."""
    return struct.pack(">HHIIBBHHH", 1000, dport, 0, 0, 0x50, flags, 1000, 0, 0) + MARK


def summed(frame: bytes) -> bytes:
    """A frame of TCP over IPv4, with the checksum that connection tracking wants."""
    return frame[:50] + struct.pack(">H", payload_checksum(frame)) + frame[52:]


def icmp(kind: int, code: int = 0) -> bytes:
    """An ICMP message that bears the mark."""
    return struct.pack(">BBHI", kind, code, 0, 0) + MARK


def sctp(dport: int = 80) -> bytes:
    """An SCTP packet that bears the mark."""
    return struct.pack(">HHII", 1000, dport, 0, 0) + MARK


def words(*numbers: int) -> bytes:
    """The header of a protocol that begins with words, and the mark."""
    return struct.pack(f">{len(numbers)}I", *numbers) + MARK


def tag(frame: bytes, vid: int, prio: int = 0, kind: int = 0x8100) -> bytes:
    """A frame with one more tag."""
    return frame[:12] + struct.pack(">HH", kind, prio << 13 | vid) + frame[12:]


def tagged(vid: int, prio: int = 0) -> bytes:
    """An IPv4 packet with an 802.1Q tag."""
    return tag(ip4(udp()), vid, prio)


def twice(vid: int, prio: int = 0, payload: bytes | None = None) -> bytes:
    """A frame with a tag behind an 802.1ad one."""
    return tag(tag(payload or ip4(udp()), vid, prio), 5, kind=0x88A8)


def arp(op: int, sip: str, *, tip: str = "10.0.0.2", sha: bytes = _SRC, tha: bytes = _DST) -> bytes:
    """An ARP message that bears the mark."""
    head = struct.pack(">HHBBH", 1, 0x0800, 6, 4, op)
    return eth(head + sha + socket.inet_aton(sip) + tha + socket.inet_aton(tip) + MARK, 0x0806)


def mpls(*labels: int, ttl: int = 64, traffic: int = 0) -> bytes:
    """A labelled packet that bears the mark."""
    entries = [label << 12 | traffic << 9 | ttl for label in labels]
    entries[-1] |= 0x100
    return eth(struct.pack(f">{len(entries)}I", *entries) + MARK, 0x8847)


def pppoe(session: int, proto: int = 0x21) -> bytes:
    """A packet in a session of PPPoE."""
    payload = ip4(udp())[14:]
    return eth(struct.pack(">BBHHH", 0x11, 0, session, 2 + len(payload), proto) + payload, 0x8864)


def cfm(level: int, opcode: int) -> bytes:
    """A message of connectivity fault management that bears the mark."""
    return eth(struct.pack(">BBH", level << 5, opcode, 0) + MARK, 0x8902)


def other(payload: bytes, **ends: bytes) -> bytes:
    """An IPv4 packet between other MACs."""
    frame = ip4(payload)
    return ends.get("dst", _DST) + ends.get("src", _SRC) + frame[12:]
