# SPDX-License-Identifier: GPL-2.0-or-later
"""By which link and with which source address a packet would leave, as `ip route get` says it, and by which route."""

from typing import NamedTuple

from netgroupd.kernel.layer3.neighbours import HEADER as NEIGHBOUR
from netgroupd.kernel.layer3.neighbours import RTM_GETNEIGH
from netgroupd.kernel.layer3.routes_identity import RTM_GETROUTE
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.model.family import BY_SIZE
from netgroupd.model.owner import BY_ROUTERS
from netgroupd.model.route import MAIN_TABLE
from netgroupd.model.value import ip_bytes, ip_text

_RTA_DST, _RTA_SRC, _RTA_OIF, _RTA_GATEWAY, _RTA_PRIORITY, _RTA_PREFSRC = 1, 2, 4, 5, 6, 7
_RTA_TABLE, _RTA_MARK, _RTA_VIA, _RTA_NH_ID = 15, 16, 18, 30
_HEADER = 12  # struct rtmsg
_NDA_DST, _NDA_LLADDR = 1, 2
_FAMILY = 2  # bytes in front of the address of RTA_VIA
# RTM_F_FIB_MATCH: the route itself, not what it says of the packet. IPv4 tells the
# table only for RTM_F_LOOKUP_TABLE, which IPv6 refuses.
_ROUTE_ITSELF = {4: 0x3000, 16: 0x2000}


class Route(NamedTuple):
    """What a packet follows: link and source address, the place of the route among the others, its nexthop object.

    ``learned`` is a default route out of a router's advertisement, ``gateway`` whom it leads to, "" for its end,
    and ``lladdr`` what the neighbour that it leaves for has on the link, as far as it is known.
    """

    link: str
    source: str = ""
    table: int = MAIN_TABLE
    length: int = 0
    metric: int = 0
    nexthop: int = 0
    learned: bool = False
    gateway: str = ""
    lladdr: str = ""


def way_to(context: Context, address: str, source: str = "", vrf: str = "", mark: int = 0) -> Route | None:
    """What a packet to ``address`` follows; None if there is no way.

    Rules may select by the ``source``, so that a connection need not go the way of
    what is yet to get one.  An address that is none of this host's is left out.
    What came in by a link of a VRF is answered by the routes of that ``vrf``, whatever the
    address that it was sent to.  What a tunnel sends may be bound to a link, which takes the place
    of the VRF, and have a ``mark``.
    """
    target, origin = ip_bytes(address), ip_bytes(source) if source else b""
    try:
        within = u32(_RTA_OIF, context.names.index(vrf)) if vrf else b""
        within += u32(_RTA_MARK, mark) if mark else b""
    except UnknownLinkError:
        return None
    if len(origin) == len(target) and (way := _way(context, target, origin, within)):
        return way
    return _way(context, target, b"", within)


def _way(context: Context, target: bytes, origin: bytes, within: bytes) -> Route | None:
    for answer in _ask(context, target, origin, within, 0):
        found = attributes(memoryview(answer), _HEADER)
        if _RTA_OIF not in found:
            continue
        source = origin or bytes(found.get(_RTA_PREFSRC, b""))
        try:
            link = context.names.name(int.from_bytes(found[_RTA_OIF], "little"))
        except UnknownLinkError:
            continue
        gateway = bytes(found.get(_RTA_GATEWAY, b"") or found.get(_RTA_VIA, b"")[_FAMILY:])
        way = Route(link, ip_text(source) if source else "", gateway=ip_text(gateway) if gateway else "")
        way = way._replace(lladdr=_lladdr(context, found[_RTA_OIF], gateway or target))
        return _placed(way, _ask(context, target, origin, within, _ROUTE_ITSELF[len(target)]))
    return None


def _ask(context: Context, target: bytes, origin: bytes, within: bytes, flags: int) -> list[bytes]:
    lengths = bytes((len(target) * 8, len(origin) * 8))
    header = bytes((BY_SIZE[len(target)],)) + lengths + bytes(_HEADER - 7) + flags.to_bytes(4, "little")
    ends = attr(_RTA_DST, target) + (attr(_RTA_SRC, origin) if origin else b"") + within
    return context.socket.ask(message.request(RTM_GETROUTE, 0, header, ends), lambda _kind, payload: bytes(payload))[1]


def _lladdr(context: Context, index: memoryview, neighbour: bytes) -> str:
    header = NEIGHBOUR.pack(BY_SIZE[len(neighbour)], 0, 0, int.from_bytes(index, "little"), 0, 0, 0)
    asked = message.request(RTM_GETNEIGH, 0, header, attr(_NDA_DST, neighbour))
    for answer in context.socket.ask(asked, lambda _kind, payload: bytes(payload))[1]:
        return bytes(attributes(memoryview(answer), NEIGHBOUR.size).get(_NDA_LLADDR, b"")).hex(":")
    return ""


def _placed(way: Route, answers: list[bytes]) -> Route:
    """``way``, with what is to be known of its route."""
    for answer in answers:
        found = attributes(memoryview(answer), _HEADER)
        table, metric, nexthop = (
            int.from_bytes(found[number], "little") if number in found else 0
            for number in (_RTA_TABLE, _RTA_PRIORITY, _RTA_NH_ID)
        )
        length, protocol = answer[1], answer[5]
        learned = protocol == BY_ROUTERS and not length
        return Route(way.link, way.source, table or answer[4], length, metric, nexthop, learned, *way[-2:])
    return way
