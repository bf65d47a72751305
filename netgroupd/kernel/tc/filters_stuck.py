# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of a hook of which one stops every dump, as `fw` without a mark does: all others, and that it is there.

The kernel begins each preference with a message of its own, and gets no further where
the classifier does not let it.  It can be asked for single preferences, so those
behind are asked for one by one: some seconds, where somebody has made such a rule.
"""

import errno

from netgroupd.errors import KernelError
from netgroupd.kernel import message
from netgroupd.kernel.message import attributes, u32
from netgroupd.kernel.socket import Socket
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, RTM_GETCHAIN, RTM_GETTFILTER, Place

_PREFS = 1 << 16
_ALL = 0


def told_until(socket: Socket, asked: bytes, what: str) -> tuple[list[bytes], bool]:
    """What a dump of rules tells, and whether that is all of it: else it ends with the beginning of a preference.

    Raises:
        KernelError: It fails in another way.
    """
    told: list[bytes] = []

    def take(_kind: int, payload: memoryview) -> bytes:
        told.append(bytes(payload))
        return told[-1]

    try:
        return socket.dump(asked, take, what), True
    except KernelError as error:
        if error.refusals[0].errno == errno.EMSGSIZE and told and _begins(told[-1]):
            return told, False
        raise


def _begins(payload: bytes) -> bool:
    handle, info = HEADER.unpack_from(payload)[4::2]
    return bool(info) and not handle


def told_around(socket: Socket, place: Place, what: str) -> tuple[list[bytes], list[bytes]]:
    """What the kernel tells of the rules of a hook, and the beginning of each preference that it does not get past.

    Raises:
        KernelError: It fails in another way.
    """
    told: list[bytes] = []
    stuck: list[bytes] = []
    for chain in _chains(socket, place):
        found, ends = _of_prefs(socket, place, chain, _ALL, what)
        told += found
        first = _PREFS if ends else _pref(found[-1]) + 1
        stuck += [] if ends else found[-1:]
        for pref in range(first, _PREFS):
            found, ends = _of_prefs(socket, place, chain, pref, what)
            told += found
            stuck += [] if ends else found[-1:]
    return told, stuck


def _pref(payload: bytes) -> int:
    info = HEADER.unpack_from(payload)[6]
    assert isinstance(info, int)
    return info >> 16


def _chains(socket: Socket, place: Place) -> list[int]:
    def take(_kind: int, payload: memoryview) -> int:
        return int.from_bytes(attributes(payload, HEADER.size)[CHAIN], "little")

    header = HEADER.pack(0, 0, 0, place.ifindex, 0, place.parent, 0)
    return socket.dump(message.request(RTM_GETCHAIN, message.NLM_F_DUMP, header), take, "dump of chains")


def _of_prefs(socket: Socket, place: Place, chain: int, pref: int, what: str) -> tuple[list[bytes], bool]:
    """What is told of one preference of a chain, or of all, and whether that is all of it."""
    header = HEADER.pack(0, 0, 0, place.ifindex, 0, place.parent, pref << 16)
    return told_until(socket, message.request(RTM_GETTFILTER, message.NLM_F_DUMP, header, u32(CHAIN, chain)), what)
