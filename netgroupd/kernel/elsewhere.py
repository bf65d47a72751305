# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of which a part is in another network namespace: the link below, the other end, or what a tunnel goes by."""

from collections.abc import Iterable

from netgroupd.kernel.links.numbers import IFLA_EXT_MASK, IFLA_LINK_NETNSID, RTM_GETLINK
from netgroupd.kernel.links.once import Once
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, u32, walk
from netgroupd.kernel.netlink.request import Context

_HEADER, _INDEX_AT = 16, 4  # struct ifinfomsg, and where the number of the link is in it
_ATTR = 4  # the header of an attribute


def elsewhere(context: Context) -> frozenset[str]:
    """Their names."""
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, context.features.skip))
    names = context.names.by_index
    links = context.socket.dump(asked, Once(_namespaces, _headers).read, "dump of links")
    return frozenset(names[index] for index, found in links if found and index in names)


def _namespaces(payload: memoryview) -> tuple[bytes, ...]:
    """The number of the namespace where the other part is, if there is one."""
    found = attributes(payload, _HEADER).get(IFLA_LINK_NETNSID)
    return () if found is None else (bytes(found),)


def _headers(payload: memoryview) -> tuple[int, Iterable[tuple[int, int]]]:
    """Where the index of a link is, and the headers of all attributes."""
    return _INDEX_AT, ((start - _ATTR, start) for _, start, _ in walk(payload, _HEADER))
