# SPDX-License-Identifier: GPL-2.0-or-later
"""What links have of other network namespaces: where the one below is, or the other end, and what stands on them."""

import os
import struct
from contextlib import suppress

from netgroupd.errors import KernelError, UsageError
from netgroupd.kernel.links.numbers import (
    IFLA_ADDRESS,
    IFLA_EXT_MASK,
    IFLA_LINK,
    IFLA_LINK_NETNSID,
    IFLA_TARGET_NETNSID,
    RTM_GETLINK,
    SKIP_STATS,
)
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.netns import named, open_netns
from netgroupd.model.value import mac_text

_RTM_GETNSID = 90
_NETNSA_NSID, _NETNSA_FD = 1, 3
_NUMBER = struct.Struct("=i")


def _number_in(payload: memoryview) -> int | None:
    """The number of a namespace that the kernel tells."""
    found = attributes(payload, 4).get(_NETNSA_NSID)
    return None if found is None else int(_NUMBER.unpack_from(found)[0])


def number_of(context: Context, fd: int) -> int | None:
    """The number under which a namespace knows the one that ``fd`` is of; None if it does not."""
    # A header of one byte, padded.
    asked = request(_RTM_GETNSID, 0, bytes(4), u32(_NETNSA_FD, fd))
    _, found = context.socket.ask(asked, lambda _kind, payload: _number_in(payload))
    return found[0] if found and found[0] >= 0 else None


def lower_of(context: Context, index: int) -> tuple[int, int] | None:
    """The namespace, by its number, and the index of the link below another one, or at its other end.

    None if that is in the same namespace.
    """

    def decode(_kind: int, payload: memoryview) -> tuple[int, int] | None:
        found = attributes(payload, 16)
        if not {IFLA_LINK, IFLA_LINK_NETNSID} <= found.keys():
            return None
        number, lower = (int(_NUMBER.unpack_from(found[each])[0]) for each in (IFLA_LINK_NETNSID, IFLA_LINK))
        return number, lower

    asked = request(RTM_GETLINK, 0, header(index), u32(IFLA_EXT_MASK, SKIP_STATS))
    _, answers = context.socket.ask(asked, decode)
    return answers[0] if answers else None


def macs_beyond(context: Context) -> frozenset[str]:
    """The MACs of links in other namespaces that stand on one elsewhere: where that is here, it hears these as well.

    One to which a link has gone is known here by a number; one that a link was made in, by its name if it has any.
    """
    asked = request(_RTM_GETNSID, NLM_F_DUMP, bytes(4))
    numbers = context.socket.dump(asked, lambda _kind, payload: _number_in(payload), "dump of namespaces")
    found = {mac for number in numbers for mac in _macs(context.socket, u32(IFLA_TARGET_NETNSID, number))}
    for netns in named():
        with suppress(OSError, UsageError):  # it may go at this moment, or not let itself be entered
            if not _is_known(context, netns):
                with Socket(netns) as inside:
                    found.update(_macs(inside))
    return frozenset(found)


def _is_known(context: Context, netns: str) -> bool:
    fd = open_netns(netns)
    try:
        return number_of(context, fd) is not None
    finally:
        os.close(fd)


def _macs(socket: Socket, *more: bytes) -> list[str]:
    """The MACs of the links of a namespace that stand on one of another; of one that may not be looked into none."""

    def decode(_kind: int, payload: memoryview) -> str | None:
        found = attributes(payload, 16)
        return mac_text(bytes(found[IFLA_ADDRESS])) if {IFLA_ADDRESS, IFLA_LINK_NETNSID} <= found.keys() else None

    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), *more, u32(IFLA_EXT_MASK, SKIP_STATS))
    with suppress(KernelError):
        return socket.dump(asked, decode, "dump of links")
    return []
