# SPDX-License-Identifier: GPL-2.0-or-later
"""By which link and with which source address a packet would leave, as `ip route get` says it, and by which route."""

from typing import NamedTuple

from netgroupd.kernel import message
from netgroupd.kernel.message import attr, attributes
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.request import Context
from netgroupd.model.value import ip_bytes, ip_text

_RTM_GETROUTE = 26
_RTA_DST, _RTA_OIF, _RTA_PRIORITY, _RTA_PREFSRC, _RTA_TABLE, _RTA_NH_ID = 1, 4, 6, 7, 15, 30
_HEADER = 12  # struct rtmsg
_FAMILIES = {4: 2, 16: 10}
# RTM_F_FIB_MATCH: the route itself, not what it says of the packet. IPv4 tells the
# table only for RTM_F_LOOKUP_TABLE, which IPv6 refuses.
_ROUTE_ITSELF = {4: 0x3000, 16: 0x2000}


class Route(NamedTuple):
    """What a packet follows: link and source address, the place of the route among the others, its nexthop object."""

    link: str
    source: str = ""
    table: int = 254
    length: int = 0
    metric: int = 0
    nexthop: int = 0


def way_to(context: Context, address: str) -> Route | None:
    """What a packet to ``address`` follows; None if there is no way."""
    target = ip_bytes(address)
    for answer in _ask(context, target, 0):
        found = attributes(memoryview(answer), _HEADER)
        if _RTA_OIF not in found:
            continue
        source = ip_text(bytes(found[_RTA_PREFSRC])) if _RTA_PREFSRC in found else ""
        try:
            link = context.names.name(int.from_bytes(found[_RTA_OIF], "little"))
        except UnknownLinkError:
            continue
        return _placed(context, target, Route(link, source))
    return None


def _ask(context: Context, target: bytes, flags: int) -> list[bytes]:
    header = bytes((_FAMILIES[len(target)], len(target) * 8)) + bytes(_HEADER - 6) + flags.to_bytes(4, "little")
    asked = message.request(_RTM_GETROUTE, 0, header, attr(_RTA_DST, target))
    return context.socket.ask(asked, lambda _kind, payload: bytes(payload))[1]


def _placed(context: Context, target: bytes, way: Route) -> Route:
    """``way``, with the table, the prefix length, the metric and the nexthop object of its route."""
    for answer in _ask(context, target, _ROUTE_ITSELF[len(target)]):
        found = attributes(memoryview(answer), _HEADER)
        table, metric, nexthop = (
            int.from_bytes(found[number], "little") if number in found else 0
            for number in (_RTA_TABLE, _RTA_PRIORITY, _RTA_NH_ID)
        )
        return way._replace(table=table or answer[4], length=answer[1], metric=metric, nexthop=nexthop)
    return way
