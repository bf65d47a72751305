# SPDX-License-Identifier: GPL-2.0-or-later
"""Many filter messages as one, which a patched kernel works off on all CPUs.  Bytes to bytes, no socket.

The entries of one message run in no order, so a message holds only creations or
only deletions.  The answer lists those that were refused by their place.
"""

import struct
from collections.abc import Iterator

from netgroupd.kernel.netlink.message import HEADER, HEADER_LEN, NLM_F_REQUEST, attributes, walk

RTM_BATCHTFILTER = 47
MOST = 8192
MOST_ALONE = 2048  # on one CPU: more of them Python lays out in memory that it touches first and then gives back
MOST_BYTES = 2 << 20
_DELETE = 45
_KINDS = frozenset({44, _DELETE})  # RTM_NEWTFILTER, RTM_DELTFILTER
_HANDLE = HEADER_LEN + 8
_BATCH = bytes(4)  # family, flags, and threads: as many as fit
_LENGTH = struct.Struct("=I")
_SHORTER = HEADER_LEN - 8
_END = bytes(8)
_CLASSIFIER = HEADER_LEN + 20 + 4  # behind struct tcmsg the first attribute of ours is the kind
_FLOWER = b"flower\0"

_INDEX, _ERROR, _MSG = 1, 2, 3


def kind_of(request: bytes) -> int:
    """The type that all entries of a message must share; 0 for what cannot be in one.

    Of other classifiers the rules of one preference are asked in the order in
    which they came.
    """
    kind = request[4] | request[5] << 8
    if kind not in _KINDS or (kind == _DELETE and not any(request[_HANDLE : _HANDLE + 4])):
        return 0  # all of a preference is no work to share
    return kind if request.startswith(_FLOWER, _CLASSIFIER) else 0


def entry(message: bytes) -> bytes:
    """A message as it is in a compound one: without its sequence number and port."""
    return _LENGTH.pack(len(message) - _SHORTER) + message[4:8] + message[HEADER_LEN:]


def compound(entries: bytes, sequence: int = 0) -> tuple[bytes, bytes, bytes]:
    """The message that holds ``entries``, in parts: these alone may be megabytes, and are not copied."""
    size = HEADER_LEN + len(_BATCH) + len(entries) + len(_END)
    header = HEADER.pack(size, RTM_BATCHTFILTER, NLM_F_REQUEST, sequence, 0)
    return header + _BATCH, entries, _END


def failures(told: bytes) -> Iterator[tuple[int, int, str]]:
    """The place, the number of the error, and the kernel's sentence if it has one, of each entry refused."""
    payload = memoryview(told)
    for _, start, end in walk(payload):
        found = attributes(payload, start, end)
        place = int.from_bytes(found[_INDEX], "little")
        error = -int.from_bytes(found[_ERROR], "little", signed=True)
        yield place, error, bytes(found.get(_MSG, b"")).rstrip(b"\0").decode(errors="replace")
