# SPDX-License-Identifier: GPL-2.0-or-later
"""A veth pair into which frames are sent, the link where they come out again, and the frames."""

import socket
import struct
from collections.abc import Iterator

MARK = b"seen-by-the-rules"
ETH_P_ALL = 3
_DST, _SRC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


class Wire:
    """The far end of the pair, and the link where redirected packets come out."""

    def __init__(self) -> None:
        self.far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.far.bind(("v1", 0))
        self.out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.out.bind(("v2", ETH_P_ALL))
        self.out.settimeout(60)

    def send(self, *frames: bytes) -> None:
        """Send frames towards the rules."""
        for frame in frames:
            self.far.send(frame)

    def came_out(self) -> bytes:
        """The next of our frames that comes out, without its tag in the kernel's hands."""
        while True:
            frame = self.out.recv(2048)
            if MARK in frame:
                return frame

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


def checksum(header: bytes) -> int:
    """The checksum of the Internet; 0 over a header that has the right one."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


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


def ip6(payload: bytes, proto: int = 17, *, src: str = "2001:db8::1", dst: str = "2001:db8::2") -> bytes:
    """An IPv6 packet in a frame."""
    header = struct.pack(">IHBB", 6 << 28, len(payload), proto, 64)
    return eth(
        header + socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst) + payload, 0x86DD
    )


def udp(sport: int = 1000, dport: int = 2000) -> bytes:
    """A UDP datagram that bears the mark."""
    return struct.pack(">HHHH", sport, dport, 8 + len(MARK), 0) + MARK


def tcp(dport: int = 80, flags: int = 2) -> bytes:
    """A TCP segment that bears the mark."""
    return struct.pack(">HHIIBBHHH", 1000, dport, 0, 0, 0x50, flags, 1000, 0, 0) + MARK


def icmp(kind: int, code: int = 0) -> bytes:
    """An ICMP message that bears the mark."""
    return struct.pack(">BBHI", kind, code, 0, 0) + MARK


def tagged(vid: int, prio: int = 0) -> bytes:
    """An IPv4 packet with an 802.1Q tag."""
    frame = ip4(udp())
    return frame[:12] + struct.pack(">HH", 0x8100, prio << 13 | vid) + frame[12:]


def arp(op: int, sip: str) -> bytes:
    """An ARP message that bears the mark."""
    head = struct.pack(">HHBBH", 1, 0x0800, 6, 4, op)
    return eth(head + _SRC + socket.inet_aton(sip) + _DST + socket.inet_aton("10.0.0.2") + MARK, 0x0806)


def mpls(*labels: int) -> bytes:
    """A labelled packet that bears the mark."""
    entries = [label << 12 | 64 for label in labels]
    entries[-1] |= 0x100
    return eth(struct.pack(f">{len(entries)}I", *entries) + MARK, 0x8847)


def cfm(level: int, opcode: int) -> bytes:
    """A message of connectivity fault management that bears the mark."""
    return eth(struct.pack(">BBH", level << 5, opcode, 0) + MARK, 0x8902)


def other(payload: bytes, **ends: bytes) -> bytes:
    """An IPv4 packet between other MACs."""
    frame = ip4(payload)
    return ends.get("dst", _DST) + ends.get("src", _SRC) + frame[12:]
