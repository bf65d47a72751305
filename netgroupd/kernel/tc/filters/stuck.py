# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of a hook of which one stops every dump, as `fw` without a mark does: all others, and that it is there.

The kernel begins each preference with a message of its own, and gets no further where
the classifier does not let it.  It can be asked for single preferences, so those
behind are asked for one by one: some seconds, where somebody has made such a rule.
"""

import errno
from collections.abc import Iterable
from typing import Protocol

from netgroupd.errors import KernelError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, u32
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, RTM_GETCHAIN, RTM_GETTFILTER, Place
from netgroupd.model.state import Key, Object

_PREFS = 1 << 16
_ALL = 0


class Reads(Protocol):
    """What makes rules out of messages."""

    def skim(self, packet: memoryview, found: list[Object]) -> int:
        """Read what a packet begins with, as far as it is easily read; where that ends."""

    def read(self, payload: memoryview) -> Object | None:
        """The rule of a message; None where it tells of something else."""


def told_until(socket: Socket, asked: bytes, what: str, place: Place, decoder: Reads) -> tuple[list[Object], bytes]:
    """The rules that a dump tells, and the beginning of the preference that it does not get past; b"" for none.

    Raises:
        KernelError: It fails in another way.
    """
    told: list[Object] = []
    begun = b""

    def skim(packet: memoryview, found: list[Object]) -> int:
        nonlocal told, begun
        told = found  # for what there is where it fails
        if end := decoder.skim(packet, found):
            begun = b""
        return end

    def take(_kind: int, payload: memoryview) -> Object | None:
        nonlocal begun
        begun = bytes(payload) if _begins(payload) else b""
        return decoder.read(payload) if place.has(payload) else None

    try:
        return socket.dump(asked, take, what, skim=skim), b""
    except KernelError as error:
        if error.refusals[0].errno == errno.EMSGSIZE and begun:
            return told, begun
        raise


def _begins(payload: memoryview) -> bool:
    handle, info = HEADER.unpack_from(payload)[4::2]
    return bool(info) and not handle


def told_around(socket: Socket, place: Place, what: str, decoder: Reads) -> tuple[list[Object], list[bytes]]:
    """The rules of a hook that the kernel tells, and the beginning of each preference that it does not get past.

    Raises:
        KernelError: It fails in another way.
    """
    told: list[Object] = []
    stuck: list[bytes] = []

    def look(chain: int, pref: int) -> bytes:
        found, begun = told_until(socket, _of_pref(place, chain, pref), what, place, decoder)
        told.extend(found)
        stuck.extend([begun] if begun else [])
        return begun

    for chain in _chains(socket, place):
        if begun := look(chain, _ALL):
            for pref in range(_pref(begun) + 1, _PREFS):
                look(chain, pref)
    return told, stuck


def told_alone(socket: Socket, place: Place, what: str, decoder: Reads, prefs: Iterable[Key]) -> list[Object]:
    """The rules of single preferences, each with its chain, that a dump of all may have left out.

    Where a packet has room for the beginning of a preference of `matchall` and not for its rule, the kernel
    goes on behind the rule.

    Raises:
        KernelError: It fails in another way.
    """
    asked = (_of_pref(place, int(str(chain)), int(str(pref))) for chain, pref in prefs)
    return [rule for one in asked for rule in told_until(socket, one, what, place, decoder)[0]]


def _of_pref(place: Place, chain: int, pref: int) -> bytes:
    """The request for the rules of a preference, or of all."""
    return message.request(RTM_GETTFILTER, message.NLM_F_DUMP, place.header(info=pref << 16), u32(CHAIN, chain))


def _pref(payload: bytes) -> int:
    info = HEADER.unpack_from(payload)[6]
    assert isinstance(info, int)
    return info >> 16


def _chains(socket: Socket, place: Place) -> list[int]:
    def take(_kind: int, payload: memoryview) -> int:
        return int.from_bytes(attributes(payload, HEADER.size)[CHAIN], "little")

    asked = message.request(RTM_GETCHAIN, message.NLM_F_DUMP, place.header())
    return socket.dump(asked, take, "dump of chains")
