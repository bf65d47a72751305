# SPDX-License-Identifier: GPL-2.0-or-later
"""Many filter messages as one, which a patched kernel works off on all CPUs.  Bytes to bytes, no socket.

The entries of one message run in no order, so a message holds only creations or
only deletions.  The answer lists those that were refused by their place.
"""

import struct
from collections.abc import Iterator, Sequence

from netgroupd.kernel.message import HEADER, HEADER_LEN, NLM_F_REQUEST, attributes, walk

RTM_BATCHTFILTER = 47
MOST = 8192
MOST_BYTES = 2 << 20
_KINDS = frozenset({44, 45})  # RTM_NEWTFILTER, RTM_DELTFILTER
_BATCH = struct.Struct("=BBH")  # family, flags, threads: 0 lets the kernel choose
_ENTRY = struct.Struct("=IHH")  # length, type, flags
_KIND = struct.Struct("=HH")  # at offset 4 of a message
_SHORTER = HEADER_LEN - _ENTRY.size

_INDEX, _ERROR, _MSG = 1, 2, 3


def kind_of(request: bytes) -> int:
    """The type that all entries of a message must share; 0 for what cannot be in one."""
    kind = request[4] | request[5] << 8
    return kind if kind in _KINDS else 0


def compound(packet: bytearray, starts: Sequence[int]) -> bytes:
    """The messages that begin at ``starts`` as one."""
    parts = [_BATCH.pack(0, 0, 0)]
    view = memoryview(packet)
    ends = (*starts[1:], len(packet))
    for start, end in zip(starts, ends, strict=True):
        kind, flags = _KIND.unpack_from(packet, start + 4)
        parts.append(_ENTRY.pack(end - start - _SHORTER, kind, flags & ~NLM_F_REQUEST))
        parts.append(bytes(view[start + HEADER_LEN : end]))
    parts.append(_ENTRY.pack(0, 0, 0))
    body = b"".join(parts)
    return HEADER.pack(HEADER_LEN + len(body), RTM_BATCHTFILTER, NLM_F_REQUEST, 0, 0) + body


def failures(told: bytes) -> Iterator[tuple[int, int, str]]:
    """The place, the number of the error, and the kernel's sentence if it has one, of each entry refused."""
    payload = memoryview(told)
    for _, start, end in walk(payload):
        found = attributes(payload, start, end)
        place = int.from_bytes(found[_INDEX], "little")
        error = -int.from_bytes(found[_ERROR], "little", signed=True)
        yield place, error, bytes(found.get(_MSG, b"")).rstrip(b"\0").decode(errors="replace")
