# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that are to go or to go down, which the kernel takes away with them.

What the kernel itself has made, it makes again.  Programs of routing protocols follow their links, and may have
changed their minds meanwhile: what they have is counted, by protocol, and may be a million routes.
"""

import errno
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple

from netgroupd.errors import KernelError
from netgroupd.kernel.attached import attached
from netgroupd.kernel.layer3 import addresses, neighbours, nexthops, routes
from netgroupd.kernel.layer3.routes_identity import HEADER, RTM_GETROUTE, has_a_gateway
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.model.family import INET, INET6, OF_IP
from netgroupd.model.owner import BY_KERNEL, BY_OPERATORS, BY_ROUTERS, PROTO
from netgroupd.model.state import Object, records
from netgroupd.model.value import Value, ip_bytes
from netgroupd.plan.carrier import goes_with_carrier
from netgroupd.plan.compare import UNOWNED, UNSAID
from netgroupd.plan.fate import hangs_on, is_ipv4
from netgroupd.plan.theirs import Along, Going, Theirs

_FEW = 8  # for more links one look at everything costs less than one at each of them
_OIF, _PREFSRC, _MULTIPATH, _NHID = 4, 7, 9, 30
_FAMILIES = INET, INET6
_FAMILIES_OF = {Along.IPV4: (INET,), Along.IPV6: (INET6,), Along.MAC: ()}
_FIRST_OF = {Along.CARRIER: 1, Along.MAC: 2, Along.SOURCE: 3}  # of addresses, nexthops and neighbours
_HOP = struct.Struct("=HBBI")  # length, flags, weight - 1, ifindex
_CLONED = 0x200
_BY_NOBODY = frozenset({PROTO, 1, BY_ROUTERS})  # but by us, the kernel (RTPROT_REDIRECT) or a router
_GIVEN_BACK = BY_OPERATORS | {BY_KERNEL}


class _Found(NamedTuple):
    """A route as it was read: all of it only where it is to be given back."""

    protocol: int
    oif: int
    by_nexthop: bool
    payload: bytes


def theirs(context: Context, names: Iterable[str], going: Going) -> Theirs:
    """What others have on the links of these names and lose, and their groups with nexthops that go.

    Of several ways a route of IPv4 has all or none when one of its links is gone; IPv6 takes each out for itself.
    """
    links = _by_index(context, names)
    filters = (*links,) if len(links) <= _FEW else (0,)
    back: list[Object] = []
    watched: Counter[tuple[str, int, str]] = Counter()
    members: set[Value] = {*going.ids, *going.deleted}
    for obj in _on_links(context, frozenset(links.values()), filters, going.along):
        if obj.cls == "nexthop":
            members.add(obj.key[0])
        if obj.cls == "address" or _is_given_back(obj):
            back.append(obj)
        else:
            watched[obj.cls, _protocol(obj), hangs_on(obj)[0]] += 1
    groups = (*_groups(context, members),) if members else ()
    back += filter(_is_given_back, groups)
    losing = {index: name for index, name in links.items() if name in going.gone}
    lost = _without_ways(context, members, going.deleted)
    ways = _Ways(links, lost, frozenset(map(ip_bytes, going.sources)), losing.keys())
    for found in _routes(context, ways, filters, going.along):
        route = routes.of_others(memoryview(found.payload), context.names) if found.payload else None
        if route and UNSAID not in route.attrs:
            back.append(route)
        else:
            watched["route", found.protocol, links.get(found.oif, "")] += 1
    if losing:
        watched.update(attached(context, losing))
    return Theirs(tuple(back), watched, groups)


def _by_index(context: Context, names: Iterable[str]) -> dict[int, str]:
    links: dict[int, str] = {}
    for name in sorted(names):
        with suppress(UnknownLinkError):  # it is in another namespace, or has gone
            links[context.names.index(name)] = name
    return links


def _on_links(context: Context, names: frozenset[str], filters: tuple[int, ...], along: Along) -> Iterator[Object]:
    """What is on the links of these names alone, and goes ``along`` with them."""
    for obj in _objects(context, filters, along) if names else ():
        on = hangs_on(obj)
        if on and names.issuperset(on) and _goes(obj, along):
            yield obj


def _protocol(obj: Object) -> int:
    protocol = obj.attrs[UNOWNED]
    assert isinstance(protocol, int)
    return protocol


def _is_given_back(obj: Object) -> bool:
    """Whether nobody watches over it, and all of it can be said."""
    return obj.attrs[UNOWNED] in BY_OPERATORS and UNSAID not in obj.attrs


def _without_ways(context: Context, members: set[Value], deleted: Set[int]) -> set[Value]:
    """The nexthops of ``members``, and the groups of none but these, that are lost but for those that are deleted."""
    inside = nexthops.members(context) if members else {}
    lost = members.union(group for group in inside if inside[group] <= members) - deleted
    return lost - {group for group in inside if inside[group] <= deleted}


def _groups(context: Context, members: Set[Value]) -> Iterator[Object]:
    for group in nexthops.of_others(context, 0, groups=True):
        if not members.isdisjoint(one.get("id") for one in records(group.attrs, "group")):
            yield group


def _goes(obj: Object, along: Along) -> bool:
    if along is Along.LINK:
        return True
    if along is Along.MAC:
        return obj.cls == "neighbour" and not obj.key[2]  # those that are answered for stay
    if along is Along.CARRIER:
        return obj.cls == "nexthop" or goes_with_carrier(obj)
    return obj.cls != "nexthop" and is_ipv4(obj) == (along is Along.IPV4)


def _objects(context: Context, filters: tuple[int, ...], along: Along) -> Iterator[Object]:
    of_classes = (addresses.of_others, nexthops.of_others, neighbours.of_others)
    for of_others in of_classes[_FIRST_OF.get(along, 0) :]:
        for index in filters:
            with _link_may_go():
                yield from of_others(context, index)


@contextmanager
def _link_may_go() -> Iterator[None]:
    try:
        yield
    except KernelError as error:
        if error.refusals[0].errno != errno.ENODEV:
            raise


def _routes(context: Context, ways: "_Ways", filters: tuple[int, ...], along: Along) -> Iterator[_Found]:
    """The routes that go ``along``."""
    for family in _FAMILIES_OF.get(along, _FAMILIES) if ways.may_lose(along) else ():
        for index in filters:
            told = u32(_OIF, index) if index else b""
            asked = message.request(RTM_GETROUTE, message.NLM_F_DUMP, HEADER.pack(family, *bytes(8)), told)
            decode = partial(_route, family, ways, index)
            with _link_may_go():
                found = context.socket.dump(asked, decode, "dump of routes", enough=True)
                yield from (route for route in found if _route_goes(route, along))


def _route_goes(route: _Found, along: Along) -> bool:
    if along in OF_IP:
        return not route.by_nexthop
    return route.by_nexthop or along is not Along.CARRIER


class _Ways:
    """What goes: links, and nexthops with the groups that have no other members."""

    def __init__(self, links: Mapping[int, str], nexthops: Set[Value], sources: Set[bytes], gone: Set[int]) -> None:
        self._links = links
        self._gone = gone
        self._sources = sources
        self._nexthops = nexthops
        self._asked: dict[int, int] = {}  # by which link routes by a nexthop came first, where nothing else tells

    def may_lose(self, along: Along) -> bool:
        """Whether any route can go ``along``: with a carrier go only those by nexthops."""
        return bool(self._nexthops if along is Along.CARRIER else self._links)

    def loses(self, family: int, found: Mapping[int, memoryview], index: int) -> int | None:
        """The link that a route goes with, 0 if the kernel does not say; None if it stays, or came by another link."""
        if self._sources and bytes(found.get(_PREFSRC, b"")) not in self._sources:
            return None
        ways = [*_ways(found)]
        first = next((way for way in ways if way in self._links), 0)
        number = int.from_bytes(found.get(_NHID, b""), "little")
        losing = self._gone if family == INET else self._links
        by_links = bool(ways) and self._links.keys() >= set(ways)
        by_links |= not number and any(way in losing for way in ways)
        if not (by_links or (number in self._nexthops and (first or not ways))):
            return None
        once = index in (0, first) if first else self._asked.setdefault(number, index) == index
        return first if once else None


def _route(family: int, ways: _Ways, index: int, _kind: int, payload: memoryview) -> _Found | None:
    """One that goes, told where it was asked for with the first of its links."""
    told, *_, protocol, _, _, flags = HEADER.unpack_from(payload)
    if told != family or flags & _CLONED or protocol in _BY_NOBODY:
        return None
    told_of = attributes(payload, HEADER.size)
    if protocol == BY_KERNEL and not has_a_gateway(told_of):  # as ifupdown2's have, which are in the kernel's name
        return None
    first = ways.loses(family, told_of, index)
    if first is None:
        return None
    return _Found(protocol, first, _NHID in told_of, bytes(payload) if protocol in _GIVEN_BACK else b"")


def _ways(found: Mapping[int, memoryview]) -> Iterator[int]:
    if _OIF in found:
        yield int.from_bytes(found[_OIF], "little")
    hops, start = found.get(_MULTIPATH, memoryview(b"")), 0
    while start + _HOP.size <= len(hops):
        size, _, _, index = _HOP.unpack_from(hops, start)
        yield index
        start += (size + 3) & ~3
