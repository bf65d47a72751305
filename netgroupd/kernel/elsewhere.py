# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of which a part is in another network namespace: the link below, the other end, or what a tunnel goes by."""

from netgroupd.kernel.features import IFLA_EXT_MASK, RTM_GETLINK
from netgroupd.kernel.links_write import header
from netgroupd.kernel.message import NLM_F_DUMP, attributes, request, u32
from netgroupd.kernel.request import Context

_IFLA_IFNAME, _IFLA_LINK_NETNSID = 3, 37
_HEADER = 16


def elsewhere(context: Context) -> frozenset[str]:
    """Their names."""
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, context.features.skip))
    told = context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of links")
    found = (attributes(memoryview(payload), _HEADER) for payload in told)
    return frozenset(_name(link[_IFLA_IFNAME]) for link in found if _IFLA_LINK_NETNSID in link)


def _name(payload: memoryview) -> str:
    return bytes(payload).rstrip(b"\0").decode(errors="surrogateescape")
