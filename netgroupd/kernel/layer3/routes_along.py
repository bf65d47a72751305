# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes of other programs that the kernel deletes with nexthops, without a word to anybody."""

import struct
from collections.abc import Set
from functools import partial

from netgroupd.kernel.layer3.nexthops import members
from netgroupd.kernel.layer3.routes_identity import HEADER, RTM_GETROUTE, key_of
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.rows import dump_of_family
from netgroupd.model.family import BY_SIZE
from netgroupd.model.owner import PROTO
from netgroupd.model.state import Object
from netgroupd.plan.compare import UNOWNED

_NHID = 30
_MARK = struct.pack("=HH", 8, _NHID)  # which few routes have anywhere in them


def routes_along(context: Context, nexthops: Set[int]) -> list[Object]:
    """Those that go by way of ``nexthops``, or of groups that have no other members and go with them.

    The kernel has no filter for this: all routes are told, and few are read.
    """
    going = {group for group, inside in members(context).items() if inside <= nexthops} | nexthops
    found: list[Object] = []
    for family in BY_SIZE.values():
        asked = message.request(RTM_GETROUTE, message.NLM_F_DUMP, HEADER.pack(family, *bytes(8)))
        decode = partial(_decode, family, going)
        found += dump_of_family(context, asked, decode, "dump of routes", _MARK)
    return found


def _decode(family: int, going: Set[int], payload: memoryview, _names: Names) -> Object | None:
    told, *_, protocol, _, _, _ = HEADER.unpack_from(payload)
    if told != family or protocol == PROTO:
        return None
    found = attributes(payload, HEADER.size)
    number = int.from_bytes(found.get(_NHID, b""), "little")
    return Object("route", key_of(payload, found), {"nhid": number, UNOWNED: protocol}) if number in going else None
