# SPDX-License-Identifier: GPL-2.0-or-later
"""rtnetlink by hand, for tests of what the kernel does with a message: bytes out, errno and every attribute back.

Nothing of netgroupd is used here, so that a mistake in its codec cannot hide one in the kernel.
"""

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

SOL_NETLINK = 270
CAP_ACK, EXT_ACK, STRICT = 10, 11, 12
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
REQUEST, MULTI, ACK, ECHO, DUMP_INTR, DUMP_FILTERED = 1, 2, 4, 8, 16, 32
DUMP, REPLACE, EXCL, CREATE, BULK = 0x300, 0x100, 0x200, 0x400, 0x200
NLMSG_ERROR, NLMSG_DONE = 2, 3
NEWLINK, DELLINK, GETLINK, SETLINK = 16, 17, 18, 19
NEWADDR, DELADDR, GETADDR = 20, 21, 22
NEWQDISC, NEWTFILTER, DELTFILTER, GETTFILTER, BATCHTFILTER = 36, 44, 45, 46, 47

# IFLA_*
ADDRESS, IFNAME, MTU, LINK, MASTER, LINKINFO = 1, 3, 4, 5, 10, 18
STATS, STATS64, AF_SPEC, GROUP, EXT_MASK = 7, 23, 26, 27, 29
GROUP_MASK, NEW_GROUP, GROUP_ADDRESS, GROUP_INHERIT, LIGHT = 96, 97, 98, 99, 100
INFO_KIND, INFO_DATA = 1, 2
# IFA_*
IFA_ADDRESS, IFA_LOCAL, IFA_FLAGS = 1, 2, 8
IFA_GROUP, IFA_GROUP_MASK, IFA_INCR, IFA_MASTER = 32, 33, 34, 35
NESTED = 0x8000
IFF_UP = 1


def attr(kind: int, value: bytes | int | str) -> bytes:
    """Encode one attribute; an int is a u32."""
    if isinstance(value, int):
        value = struct.pack("I", value)
    elif isinstance(value, str):
        value = value.encode() + b"\0"
    size = 4 + len(value)
    return struct.pack("HH", size, kind) + value + bytes(-size % 4)


NODAD = attr(IFA_FLAGS, 2)


def nest(kind: int, *attrs: bytes) -> bytes:
    """Encode a nest."""
    return attr(kind | NESTED, b"".join(attrs))


def parse(blob: bytes) -> dict[int, bytes]:
    """Decode attributes, the last one of each kind."""
    return dict(parse_all(blob))


def parse_all(blob: bytes) -> Iterator[tuple[int, bytes]]:
    """Decode attributes, every one."""
    at = 0
    while at + 4 <= len(blob):
        size, kind = struct.unpack_from("HH", blob, at)
        yield kind & 0x3FFF, blob[at + 4 : at + size]
        at += (size + 3) & ~3


def u32(value: bytes) -> int:
    """Decode a u32."""
    return int(struct.unpack("I", value)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message from the kernel."""

    type: int
    flags: int
    seq: int
    body: bytes

    def attrs(self, header: int) -> dict[int, bytes]:
        """Decode the attributes after a fixed header."""
        return parse(self.body[header:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the kernel answered: an errno (0 is well), its reasons, and what it told."""

    error: int
    tlvs: dict[int, bytes] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()

    @property
    def text(self) -> str:
        """The kernel's sentence."""
        return self.tlvs.get(1, b"").rstrip(b"\0").decode()

    @property
    def cookie(self) -> int:
        """The ifindex of the member that refused."""
        return int(struct.unpack("Q", self.tlvs[3])[0])


class Netlink:
    """One strict rtnetlink socket."""

    def __init__(self, *groups: int) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        for option in (CAP_ACK, EXT_ACK, STRICT):
            self.socket.setsockopt(SOL_NETLINK, option, 1)
        with suppress(PermissionError):  # of who is root in a namespace of his own only
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 32 << 20)
        self.socket.bind((0, 0))
        for group in groups:
            self.socket.setsockopt(SOL_NETLINK, 1, group)
        self._seq = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, kind: int, flags: int, body: bytes) -> Reply:
        """Send one message and read the answer to its end."""
        self._seq += 1
        extra = 0 if flags & DUMP == DUMP and kind & 3 == 2 else ACK
        self.socket.send(struct.pack("IHHII", 16 + len(body), kind, flags | REQUEST | extra, self._seq, 0) + body)
        messages: list[Message] = []
        while True:
            for message in split(self.socket.recv(1 << 17)):
                if message.seq != self._seq:
                    continue
                if message.type not in (NLMSG_ERROR, NLMSG_DONE):
                    messages.append(message)
                    continue
                error = struct.unpack_from("i", message.body)[0]
                at = 20 if message.type == NLMSG_ERROR else 4
                return Reply(error=-error, tlvs=message.attrs(at), messages=tuple(messages))

    def parts(self, kind: int, body: bytes) -> Iterator[tuple[Message, ...]]:
        """Dump a page at a time: when the first one is here, the kernel has made no more than the next."""
        self._seq += 1
        self.socket.send(struct.pack("IHHII", 16 + len(body), kind, DUMP | REQUEST, self._seq, 0) + body)
        while True:
            part = tuple(split(self.socket.recv(1 << 12)))
            yield part
            if part[-1].type in (NLMSG_ERROR, NLMSG_DONE):
                return

    def send_many(self, requests: Iterable[tuple[int, int, bytes]]) -> Reply:
        """Send many messages at once, the last one with an acknowledgment to wait for."""
        self._seq += 1
        parts = [(kind, flags, body) for kind, flags, body in requests]
        blob = bytearray()
        for number, (kind, flags, body) in enumerate(parts, 1):
            last = ACK if number == len(parts) else 0
            blob += struct.pack("IHHII", 16 + len(body), kind, flags | REQUEST | last, self._seq, 0) + body
            blob += bytes(-len(blob) % 4)
        self.socket.send(blob)
        while True:
            for message in split(self.socket.recv(1 << 17)):
                if message.seq == self._seq and message.type == NLMSG_ERROR:
                    error = struct.unpack_from("i", message.body)[0]
                    return Reply(error=-error, tlvs=message.attrs(20))

    def link(self, kind: int, *attrs: bytes, flags: int = 0, index: int = 0, up: bool | None = None) -> Reply:
        """Send one link request."""
        state = (0, 0) if up is None else (IFF_UP * up, IFF_UP)
        return self.ask(kind, flags, struct.pack("BxHiII", 0, 0, index, *state) + b"".join(attrs))

    def add_link(self, name: str, info_kind: str, *attrs: bytes, data: bytes = b"") -> int:
        """Make a link and return its index."""
        info = nest(LINKINFO, attr(INFO_KIND, info_kind), *([nest(INFO_DATA, data)] if data else []))
        reply = self.link(NEWLINK, attr(IFNAME, name), info, *attrs, flags=CREATE | EXCL)
        assert reply.error == 0, reply
        return socket.if_nametoindex(name)

    def links(self, *attrs: bytes) -> dict[int, dict[int, bytes]]:
        """Dump links: attributes by index."""
        reply = self.link(GETLINK, *attrs, flags=DUMP)
        assert reply.error == 0, reply
        return {struct.unpack_from("i", one.body, 4)[0]: one.attrs(16) for one in reply.messages}

    def get(self, index: int, *attrs: bytes) -> dict[int, bytes]:
        """Get one link's attributes."""
        reply = self.link(GETLINK, *attrs, index=index)
        assert reply.error == 0, reply
        return reply.messages[0].attrs(16)

    def flags(self, index: int) -> int:
        """Get one link's flags."""
        return int(struct.unpack_from("I", self.link(GETLINK, index=index).messages[0].body, 8)[0])

    def address(self, kind: int, family: int, plen: int, *attrs: bytes, flags: int = 0, index: int = 0) -> Reply:
        """Send one address request."""
        return self.ask(kind, flags, struct.pack("BBBBI", family, plen, 0, 0, index) + b"".join(attrs))

    def addresses(self, family: int, *attrs: bytes, index: int = 0) -> list[tuple[int, str]]:
        """Dump addresses: (ifindex, address/prefix), IPv6 link-local ones left out."""
        reply = self.address(GETADDR, family, 0, *attrs, flags=DUMP, index=index)
        assert reply.error == 0, reply
        found = []
        for one in reply.messages:
            plen, scope, ifindex = one.body[1], one.body[3], struct.unpack_from("I", one.body, 4)[0]
            attrs_of = one.attrs(8)
            text = socket.inet_ntop(family, attrs_of.get(IFA_LOCAL, attrs_of[IFA_ADDRESS]))
            if not (family == socket.AF_INET6 and scope == 253):
                found.append((ifindex, f"{text}/{plen}"))
        return sorted(found)


def split(blob: bytes) -> Iterator[Message]:
    """Split a datagram into messages."""
    at = 0
    while at + 16 <= len(blob):
        size, kind, flags, seq, _ = struct.unpack_from("IHHII", blob, at)
        yield Message(type=kind, flags=flags, seq=seq, body=blob[at + 16 : at + size])
        at += (size + 3) & ~3
