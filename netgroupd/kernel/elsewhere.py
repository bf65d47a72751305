# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of which a part is in another network namespace: the link below, the other end, or what a tunnel goes by."""

from sys import byteorder

from netgroupd.kernel.links.numbers import IFLA_EXT_MASK, IFLA_LINK_NETNSID, RTM_GETLINK
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, u32
from netgroupd.kernel.netlink.request import Context

_HEADER, _INDEX = 16, slice(4, 8)  # struct ifinfomsg, and where the number of the link is in it


def elsewhere(context: Context) -> frozenset[str]:
    """Their names."""
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, context.features.skip))
    names = context.names.by_index
    return frozenset(names[index] for index in context.socket.dump(asked, _number, "dump of links") if index in names)


def _number(_kind: int, payload: memoryview) -> int | None:
    """The number of a link that is one of them."""
    is_one = IFLA_LINK_NETNSID in attributes(payload, _HEADER)
    return int.from_bytes(payload[_INDEX], byteorder) if is_one else None
