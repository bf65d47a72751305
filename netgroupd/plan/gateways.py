# SPDX-License-Identifier: GPL-2.0-or-later
"""(wanted, actual) -> ways of routes that name no link and are, or would be, by another than the one that is meant.

While a link is down, a default route of another one, such as a VPN's, takes any
gateway: a route that names no link is made by way of that one then, and stays so.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from netgroupd.model.route import MAIN_TABLE, finds_its_link
from netgroupd.model.state import Attrs, Key, Object, State, records
from netgroupd.model.value import Value, ip_bytes, split_prefix
from netgroupd.plan.absent import network_of, networks_of
from netgroupd.plan.compare import kind_of


class Network(NamedTuple):
    """A network that wanted addresses are in, within a VRF or none: its prefix length, and their links.

    ``certain``: the kernel finds what is in it on one of these, and no other.
    """

    vrf: str
    length: int
    links: tuple[str, ...]
    certain: bool


class Gateways:
    """On which links gateways are, by the addresses and routes that are wanted."""

    def __init__(self, wanted: State) -> None:
        self._wanted = wanted

    def network(self, gateway: bytes, table: Value) -> Network | None:
        """The smallest network around the gateway of a route in ``table``."""
        vrf = self.vrfs.get(table, "")
        for around in _around(gateway, self._lengths):
            if links := self._links.get((vrf, around)):
                return Network(vrf, around[1], tuple(links), len(links) == 1 and all(links.values()))
        return None

    def certain(self, gateway: str, table: Value) -> Network | None:
        """The same, where it alone says on which link the gateway is, and no route of a longer prefix."""
        payload = ip_bytes(gateway)
        network = self.network(payload, table)
        if network is None or not network.certain:
            return None
        longer = {size for _, (_, size, _) in self._routes if size > network.length}
        return None if any((table, around) in self._routes for around in _around(payload, longer)) else network

    @cached_property
    def vrfs(self) -> dict[Value, str]:
        """The VRF of each table that has one."""
        links = self._wanted.of("link").values()
        return {link.attrs.get("table"): link.name for link in links if kind_of(link) == "vrf"}

    @cached_property
    def _links(self) -> dict[tuple[str, tuple[int, int, int]], dict[str, bool]]:
        vrfs = {*self.vrfs.values()}
        found: dict[tuple[str, tuple[int, int, int]], dict[str, bool]] = defaultdict(dict)
        for key, address in self._wanted.of("address").items():
            link = self._wanted.link(address.name)
            master = str(link.attrs.get("master")) if link else ""
            (network,) = networks_of([key])
            found[master if master in vrfs else "", network][address.name] = not address.attrs.get("noprefixroute")
        return found

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({length for _, (_, length, _) in self._links}, reverse=True)

    @cached_property
    def _routes(self) -> set[tuple[Value, tuple[int, int, int]]]:
        routes = self._wanted.of("route").values()
        ended = (route.key for route in routes if route.key[0] != "mpls" and route.attrs.get("dev"))
        split = ((key[1], split_prefix(str(key[2]).partition(" ")[0])) for key in ended)
        return {(table, network_of(payload, length)) for table, (payload, length) in split}


def _around(address: bytes, lengths: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    return (network_of(address, length) for length in lengths if length <= len(address) * 8)


class Astray(NamedTuple):
    """A way of a route, by ``gateway``, that is not by the link with the ``network`` of that."""

    route: Key
    gateway: str
    network: Network


def astray(wanted: State, actual: State, gateways: Gateways) -> Iterator[Astray]:
    """Ways that name no link and are to go by a certain one: by another now, or made while that is down.

    Of a table that is no VRF's the kernel looks into that first.
    """
    haves, known = actual.of("route"), dict[tuple[Value, Value], Network | None]()
    for key, route in wanted.of("route").items():
        table = key[1]
        for way in _without_link(route.attrs) if key[0] != "mpls" else ():
            if table != MAIN_TABLE and table not in gateways.vrfs:
                break
            gateway = str(way["via"])
            if (gateway, table) not in known:
                known[gateway, table] = gateways.certain(gateway, table)
            network = known[gateway, table]
            if network and _goes_elsewhere(gateway, network.links[0], haves.get(key), wanted, actual):
                yield Astray(key, gateway, network)


def _without_link(attrs: Attrs) -> Iterator[Attrs]:
    ways = records(attrs, "nexthops") if attrs.get("nexthops") else (attrs,)
    return (way for way in ways if not way.get("dev") and finds_its_link(way))


def _goes_elsewhere(gateway: str, link: str, have: Object | None, wanted: State, actual: State) -> bool:
    said, there = wanted.link(link), actual.link(link)
    is_up = there is not None and there.attrs.get("up")
    up = said.attrs.get("up", is_up) if said else is_up
    attrs = have.attrs if have else {}
    links = [way.get("dev", link) for way in chain(records(attrs, "nexthops"), (attrs,)) if way.get("via") == gateway]
    return bool(up) and link not in links if links else not up


def led(wanted: State, ways: Iterable[Astray]) -> State:
    """``wanted`` with the links of these ways named."""
    links: dict[Key, dict[Value, str]] = defaultdict(dict)
    for way in ways:
        links[way.route][way.gateway] = way.network.links[0]
    if not links:
        return wanted
    told = wanted.having(route={**wanted.of("route")})
    for key, named in links.items():
        route = wanted.of("route")[key]
        told.add(route._replace(attrs=_named(route.attrs, named)))
    return told


def _named(attrs: Attrs, links: Mapping[Value, str]) -> Attrs:
    ways = records(attrs, "nexthops")
    if not ways:
        return {**attrs, "dev": links[attrs["via"]]}
    named = ({"dev": links[way.get("via")]} if way.get("via") in links and not way.get("dev") else {} for way in ways)
    return {**attrs, "nexthops": tuple({**way, **more} for way, more in zip(ways, named, strict=True))}
