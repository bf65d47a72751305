# SPDX-License-Identifier: GPL-2.0-or-later
"""What a link has of other network namespaces: which one the link below it, or its other end, is in."""

import struct

from netgroupd.kernel.links.numbers import IFLA_EXT_MASK, IFLA_LINK, IFLA_LINK_NETNSID, RTM_GETLINK, SKIP_STATS
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import attributes, request, u32
from netgroupd.kernel.netlink.request import Context

_RTM_GETNSID = 90
_NETNSA_NSID, _NETNSA_FD = 1, 3
_NUMBER = struct.Struct("=i")


def number_of(context: Context, fd: int) -> int | None:
    """The number under which a namespace knows the one that ``fd`` is of; None if it does not."""

    def decode(_kind: int, payload: memoryview) -> int | None:
        found = attributes(payload, 4).get(_NETNSA_NSID)
        return None if found is None else int(_NUMBER.unpack_from(found)[0])

    # A header of one byte, padded.
    _, found = context.socket.ask(request(_RTM_GETNSID, 0, bytes(4), u32(_NETNSA_FD, fd)), decode)
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
