# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a bridge has learned that a MAC is, as `bridge fdb get` says it."""

from netgroupd.kernel.layer3.neighbours import HEADER, RTM_GETNEIGH
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, u16, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.model.family import BRIDGE

_LLADDR, _VLAN, _MASTER = 2, 5, 9


def port_behind(context: Context, bridge: str, mac: str, vlan: int) -> str:
    """The port that a bridge sends frames for a MAC by, in a VLAN of its own or 0; "" if it sends them by all.

    What is at the bridge itself is behind no port.
    """
    try:
        within = u32(_MASTER, context.names.index(bridge))
    except UnknownLinkError:
        return ""
    asked = attr(_LLADDR, bytes.fromhex(mac.replace(":", ""))) + within + (u16(_VLAN, vlan) if vlan else b"")
    header = HEADER.pack(BRIDGE, 0, 0, 0, 0, 0, 0)
    request = message.request(RTM_GETNEIGH, 0, header, asked)
    for answer in context.socket.ask(request, lambda _kind, payload: bytes(payload))[1]:
        found = context.names.by_index.get(HEADER.unpack_from(answer)[3], "")
        return found if found != bridge else ""
    return ""
