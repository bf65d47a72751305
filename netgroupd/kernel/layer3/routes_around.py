# SPDX-License-Identifier: GPL-2.0-or-later
"""(table, address) -> the routes of whoever that a packet to it may follow when others go: few of all that are told."""

from functools import partial

from netgroupd.kernel.layer3.routes import of_others
from netgroupd.kernel.layer3.routes_identity import HEADER, RTM_GETROUTE, TABLE, key_of
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.rows import dump_of_family
from netgroupd.model.family import BY_SIZE
from netgroupd.model.state import Object
from netgroupd.model.value import holds, ip_bytes


def routes_around(context: Context, address: str, table: int) -> list[Object]:
    """The routes of a table to networks that hold an address."""
    target = ip_bytes(address)
    header = HEADER.pack(BY_SIZE[len(target)], *bytes(8))
    asked = message.request(RTM_GETROUTE, message.NLM_F_DUMP, header, u32(TABLE, table))
    return dump_of_family(context, asked, partial(_decode, target, table), "dump of routes")


def _decode(target: bytes, table: int, payload: memoryview, names: Names) -> Object | None:
    family, where, destination, *_ = key_of(payload, attributes(payload, HEADER.size))
    around = family != "mpls" and where == table and holds(str(destination), target)
    return of_others(payload, names) if around else None
