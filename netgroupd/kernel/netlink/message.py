# SPDX-License-Identifier: GPL-2.0-or-later
"""Netlink messages and attributes to and from bytes.  No socket, no meaning."""

import errno
import struct
from collections.abc import Iterator

NLMSG_NOOP = 1
NLMSG_ERROR = 2
NLMSG_DONE = 3

NLM_F_REQUEST = 0x1
NLM_F_MULTI = 0x2
NLM_F_ACK = 0x4
NLM_F_DUMP_INTR = 0x10
NLM_F_DUMP = 0x300
NLM_F_REPLACE = 0x100
NLM_F_BULK = 0x200
NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
NLM_F_APPEND = 0x800
NLM_F_CAPPED = 0x100
NLM_F_ACK_TLVS = 0x200

NLA_F_NESTED = 0x8000
NLA_TYPE_MASK = 0x3FFF

HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
HEADER_LEN = 16
SEQUENCE = struct.Struct("=I")  # at offset 8
_ATTR = struct.Struct("=HH")
_LARGEST = 0xFFFF - _ATTR.size
_U8 = struct.Struct("=HHB3x")
_U16 = struct.Struct("=HHH2x")
_U32 = struct.Struct("=HHI")
_U64 = struct.Struct("=HHQ")
_PAD = (b"", b"\0\0\0", b"\0\0", b"\0")


def attr(kind: int, payload: bytes) -> bytes:
    """One attribute, padded.

    Raises:
        OSError: The payload is more than an attribute can hold.
    """
    size = len(payload)
    try:
        return _ATTR.pack(size + 4, kind) + payload + _PAD[size & 3]
    except struct.error:
        raise OSError(errno.EMSGSIZE, f"it takes {size} bytes where an attribute holds {_LARGEST}") from None


def u8(kind: int, value: int) -> bytes:
    """An attribute of one byte."""
    return _U8.pack(5, kind, value)


def u16(kind: int, value: int) -> bytes:
    """An attribute of two bytes in host order."""
    return _U16.pack(6, kind, value)


def u32(kind: int, value: int) -> bytes:
    """An attribute of four bytes in host order."""
    return _U32.pack(8, kind, value)


def u64(kind: int, value: int) -> bytes:
    """An attribute of eight bytes in host order."""
    return _U64.pack(12, kind, value)


def text(kind: int, value: str) -> bytes:
    """An attribute that is a NUL-terminated text."""
    return attr(kind, value.encode(errors="surrogateescape") + b"\0")


def nest(kind: int, *parts: bytes) -> bytes:
    """An attribute that holds attributes, marked as such."""
    return attr(kind | NLA_F_NESTED, b"".join(parts))


def request(kind: int, flags: int, *body: bytes) -> bytes:
    """A whole message; the sequence number is filled in where it is sent."""
    payload = b"".join(body)
    size = len(payload) + HEADER_LEN
    return HEADER.pack(size, kind, flags | NLM_F_REQUEST, 0, 0) + payload + _PAD[size & 3]


def walk(payload: memoryview, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Each attribute from ``start``: its number without flags, and where its payload starts and ends.

    Stops at the first attribute that is not wholly inside: what comes behind it is noise.
    """
    stop = len(payload) if end is None else end
    while start + 4 <= stop:
        size, kind = _ATTR.unpack_from(payload, start)
        if size < 4 or start + size > stop:
            return
        yield kind & NLA_TYPE_MASK, start + 4, start + size
        start += (size + 3) & ~3


def attributes(payload: memoryview, start: int = 0, end: int | None = None) -> dict[int, memoryview]:
    """The payloads by attribute number; of several with one number the last."""
    stop = len(payload) if end is None else end
    found = {}
    while start + 4 <= stop:  # as ``walk`` does, which takes half as long again
        size, kind = _ATTR.unpack_from(payload, start)
        if size < 4 or start + size > stop:
            break
        found[kind & NLA_TYPE_MASK] = payload[start + 4 : start + size]
        start += (size + 3) & ~3
    return found


def path_to(message: memoryview, offset: int, start: int, end: int | None = None) -> tuple[int, ...]:
    """The numbers of the nested attributes down to the one at ``offset``: what NLMSGERR_ATTR_OFFS means."""
    for kind, begin, stop in walk(message, start, end):
        if begin - 4 == offset:
            return (kind,)
        if begin <= offset < stop:
            return (kind, *path_to(message, offset, begin, stop))
    return ()
