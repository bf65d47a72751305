# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has -> what of it a configuration has words for, and comments on the rest.

The kernel lets a link be called g[1], tells IPv6 routes apart by where packets come from,
and has several of one metric, that expire by themselves, and much that no row describes.
It keeps IPv4 routes behind others for the time when those are gone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from netgroupd.config.sections.linkname import objection
from netgroupd.engine.capture.yaml_text import is_sayable
from netgroupd.model import CLASSES
from netgroupd.model.address import plain_address
from netgroupd.model.mdb import GROUP
from netgroupd.model.owner import BY_KERNEL, BY_OPERATORS
from netgroupd.model.route import BEHIND, EXPIRES, MAIN_TABLE
from netgroupd.model.rule import MISSING
from netgroupd.model.state import NOTHING, Key, Object, State, called, records
from netgroupd.model.token import NONE
from netgroupd.model.value import NO_MAC, Value, split_prefix
from netgroupd.plan.absent import network_of, networks_of
from netgroupd.plan.address import is_of_tunnel
from netgroupd.plan.compare import UNOWNED, UNSAID, kind_of
from netgroupd.plan.fold import fold_names
from netgroupd.plan.gateways import Gateways
from netgroupd.plan.present import title
from netgroupd.plan.readdressed import is_without_arp
from netgroupd.plan.stranded import Stranded

_TEXTS = frozenset({"alias", "altnames", "label"})  # which may be the name of a link, and do not mean it
_WITH_TEXTS = ("link", "address")
_BY_ROWS = ("address", "neighbour", "nexthop", "route", "rule", "vlan_global", "mst", "vf")
_WATCHED = ("address", "fdb", "neighbour", "rule")  # of routes and nexthops the kernel tells by whom they are wanted
_AGE = "ageing_time"  # of what a bridge has learnt
_OF_CONTROL_PLANES = ("fdb", "neighbour")
_LeftOut: TypeAlias = Mapping[str, Sequence[Object]]
"""What is left out, by the reason."""
_FROM = " from "  # in the destination of a route that is for packets from there


def nameable(actual: State) -> tuple[State, list[str]]:
    """Leave out links that nothing can name, with all that refers to them, and what no configuration asks for."""
    by_kernel = [obj for obj in actual.of("neighbour").values() if is_without_arp(obj, actual)]
    by_kernel += (obj for obj in actual.of("address").values() if is_of_tunnel(obj, actual))
    by_kernel += _with_addresses(actual)
    if by_kernel:
        actual = _without(actual, set(), {(obj.cls, obj.key) for obj in by_kernel})
    unnamed = {link.name for link in actual.of("link").values() if objection(link.name) or not link.name.isprintable()}
    routes, others = _unsayable_routes(actual), {**_of_others(actual), **_unsayable(actual)}
    left_out = {(obj.cls, obj.key) for found in (*routes.values(), *others.values()) for obj in found}
    if not unnamed and not left_out:
        return actual, []
    comments = []
    if unnamed:
        comments.append(f"# left out with what refers to them (no file can name such links): {_listed(unnamed)}\n")
    told = {why: {f"{obj.key[2]} table {obj.key[1]}" for obj in found} for why, found in routes.items()}
    told |= {why: {f"{called(obj.cls)} {' '.join(title(obj))}" for obj in found} for why, found in others.items()}
    comments += [f"# left out ({why}): {_listed(names)}\n" for why, names in told.items() if names]
    return _without(actual, unnamed, left_out), comments


def _unsayable_routes(actual: State) -> _LeftOut:
    routes = actual.of("route").values()
    beside = [route for route in routes if _are_beside(route)]
    return {
        "no configuration has routes by where packets come from": [obj for obj in routes if _FROM in str(obj.key[2])],
        "no configuration has several IPv6 routes of one metric, unless each has a gateway": beside,
        "others of the same network, tos and metric come before them": [obj for obj in routes if BEHIND in obj.attrs],
        "no configuration has routes that expire": [obj for obj in routes if EXPIRES in obj.attrs],
    }


def _unsayable(actual: State) -> _LeftOut:
    """What a configuration has no words for, or would not bring about again."""
    found = [obj for cls in _BY_ROWS for obj in actual.of(cls).values() if _has_more(obj)]
    found += [obj for obj in actual.of("fdb").values() if UNSAID in obj.attrs]
    found += [obj for obj in actual.of("mdb").values() if _is_refused(obj, actual)]
    tokens = [token for token in actual.of("token").values() if token.attrs["token"] != NONE]
    return {
        "the kernel would not make them again, for their gateway is on another link by now": [*_led_astray(actual)],
        "these links listen to no router any more": [token for token in tokens if _is_deaf(token.name, actual)],
        "they have what no configuration can say": found,
    }


def _of_others(actual: State) -> _LeftOut:
    """What others see to: to have it twice would be in their way."""
    missing = [rule for rule in actual.of("rule").values() if MISSING in rule.attrs]
    passing = [address for address in actual.of("address").values() if _passes(address)]
    watched = [obj for cls in _WATCHED for obj in actual.of(cls).values() if _is_watched(obj)]
    return {
        "somebody has taken these away from the kernel's own, which no configuration does": missing,
        "somebody has given them for a time, as DHCP does": passing,
        "they need addresses that are there for a time": [*_by_way_of(passing, actual)] if passing else [],
        "the programs that have made them watch over them, as routing daemons do": [
            *watched,
            *_receivers(watched, actual),
        ],
    }


def untold_ages(actual: State) -> list[str]:
    """A comment on the bridges that forget addresses sooner for a while, and do not tell when they do otherwise."""
    links = actual.of("link").values()
    names = fold_names(link.name for link in links if link.attrs.get(_AGE, _AGE) is None)
    why = "these bridges do not tell it while their topology changes; in a minute they do"
    return [f"# left out ({why}): {_AGE} of {', '.join(names)}\n"] if names else []


def _is_watched(obj: Object) -> bool:
    return obj.attrs.get(UNOWNED, 0) not in BY_OPERATORS


def _receivers(watched: Collection[Object], actual: State) -> Iterator[Object]:
    """Where tunnels that learn nothing and know no MAC send everything, on a host where a control plane fills tunnels.

    It has nothing to say of the hosts behind them so far, and the kernel not by whom such an entry is.
    """
    if all(obj.cls not in _OF_CONTROL_PLANES for obj in watched):
        return
    entries = [obj for obj in actual.of("fdb").values() if not _is_watched(obj)]
    knowing = {obj.name for obj in entries if obj.key[1] != NO_MAC and obj.key[3] == "self"}
    for obj in entries:
        link = actual.link(obj.name) if obj.key[1] == NO_MAC else None
        if link and kind_of(link) == "vxlan" and link.attrs.get("learning") is False and link.name not in knowing:
            yield obj


def _with_addresses(actual: State) -> list[Object]:
    """The kernel's routes to networks, but those that somebody has made for addresses that bring none by themselves.

    To the network of netgroupd's own such addresses only files have routes: one in the kernel's name is left over from
    an address that is gone, whose metric no other has.
    """
    by_kernel = (obj for obj in actual.of("route").values() if obj.attrs.get(UNOWNED) == BY_KERNEL)
    routes = [route for route in by_kernel if "via" not in route.attrs]
    theirs = (obj for obj in actual.of("address").values() if UNOWNED in obj.attrs and not _passes(obj))
    apart = (obj.key for obj in theirs if obj.attrs.get("noprefixroute"))
    given = {(key[0], network) for key in apart for network in networks_of([key])} if routes else frozenset()
    bringing = (obj for obj in actual.of("address").values() if not obj.attrs.get("noprefixroute")) if given else ()
    brought = {(obj.name, network, obj.attrs.get("metric")) for obj in bringing for network in networks_of([obj.key])}
    ways = ((route, route.attrs.get("dev"), _network(route)) for route in routes)
    return [route for route, *way in ways if tuple(way) not in given or (*way, route.key[-1]) in brought]


def _network(route: Object) -> tuple[int, int, int]:
    return network_of(*split_prefix(str(route.key[2]).partition(_FROM)[0]))


def _passes(address: Object) -> bool:
    """Whether an address of others is there for a time."""
    return UNOWNED in address.attrs and address.attrs.get("valid_lft", "forever") != "forever"


def _by_way_of(passing: Iterable[Object], actual: State) -> Iterator[Object]:
    """The routes and nexthops that cannot be made without these addresses: what gave them gives those too."""
    kept = _without(actual, set(), {(obj.cls, obj.key) for obj in passing})
    stranded, sources = Stranded(passing, kept), {plain_address(obj.key) for obj in passing}
    sources -= {plain_address(key) for key in kept.of("address")}
    for cls in ("route", "nexthop"):
        yield from (obj for obj in actual.of(cls).values() if stranded.why(obj) or obj.attrs.get("src") in sources)


def _led_astray(actual: State) -> Iterator[Object]:
    """The IPv6 routes and nexthops that were made when no address said yet that their gateway is on another link.

    Those of a VRF of netplan and systemd-networkd are by the VRF itself.
    """
    gateways = Gateways(actual)
    for cls in ("route", "nexthop"):
        for obj in actual.of(cls).values():
            ways = (way for way in (obj.attrs, *records(obj.attrs, "nexthops")) if way.get("onlink"))
            if any(_is_elsewhere(str(way.get("via")), str(way.get("dev")), gateways, actual) for way in ways):
                yield obj


def _is_elsewhere(via: str, dev: str, gateways: Gateways, actual: State) -> bool:
    if ":" not in via or via.startswith("fe80:"):
        return False
    link = actual.link(dev)
    here = (dev, link.attrs.get("master") if link else "")
    table = next((table for table, vrf in gateways.vrfs.items() if vrf in here), MAIN_TABLE)
    network = gateways.certain(via, table)
    return network is not None and dev not in network.links


def writable(actual: State) -> tuple[State, list[str]]:
    """Take the texts off links and addresses that no file can hold, with a comment on them."""
    lost = {
        (obj.cls, obj.key): [name for name, value in obj.attrs.items() if not is_sayable(value)]
        for cls in _WITH_TEXTS
        for obj in actual.of(cls).values()
        if not all(map(is_sayable, obj.attrs.values()))
    }
    if not lost:
        return actual, []
    said = State(groups=actual.groups)
    for obj in actual:
        names = lost.get((obj.cls, obj.key), ())
        attrs = {name: value for name, value in obj.attrs.items() if name not in names}
        said.add(obj._replace(attrs=attrs) if names else obj)
    told = _listed({f"{name} of {key[0]}" for (_, key), names in lost.items() for name in names})
    return said, [f"# left out (no file can hold these bytes): {told}\n"]


def _has_more(obj: Object) -> bool:
    """Whether an object has what netgroupd does not know, or a number where a file has words."""
    words = ((name, value) for name, value in obj.attrs.items() if type(value) is int and name != UNOWNED)
    return UNSAID in obj.attrs or not all(_is_word(obj.cls, name, value) for name, value in words)


def _is_deaf(name: str, actual: State) -> bool:
    """Whether a link that has a token could be given none by now."""
    link, settings = actual.link(name), actual.of("sysctl")
    found = {
        (where, what): obj.attrs.get("value")
        for where in (name, "all")
        for what in ("accept_ra", "router_solicitations", "forwarding")
        if (obj := settings.get((f"net/ipv6/conf/{where}/{what}",)))
    }
    listens = found.get((name, "accept_ra"), "1")
    forwards = found.get((name, "forwarding"), found.get(("all", "forwarding"), "0"))
    silent = "0" in (listens, found.get((name, "router_solicitations")))
    return silent or bool(link and link.attrs.get("arp") is False) or (forwards != "0" and listens != "2")


def _is_refused(entry: Object, actual: State) -> bool:
    """Whether a bridge would not be told this entry now: it has changed since, or the group is none."""
    bridge = actual.link(entry.name)
    vid, said = entry.key[3], bridge.attrs if bridge else NOTHING
    if said.get("mcast_snooping") is False or (said.get("vlan_filtering") and not vid):
        return True
    options = actual.of("vlan_global").get((entry.name, vid))
    learns = options is None or options.attrs.get("mcast_snooping", True)
    if said.get("mcast_vlan_snooping") and not (learns and (entry.name, vid) in actual.of("bridge_vlan")):
        return True
    try:
        return GROUP.parse(entry.key[2]) != entry.key[2]
    except ValueError:
        return True


@lru_cache
def _is_word(cls: str, name: str, value: Value) -> bool:
    row = CLASSES[cls].attrs.get(name)
    try:
        return row is None or row.type.parse(value) == value
    except ValueError:
        return False


def _are_beside(route: Object) -> bool:
    """Whether these are routes beside each other, of which the kernel does not make one with several ways."""
    hops = route.attrs.get("nexthops") if route.key[0] == "inet6" else None
    return isinstance(hops, tuple) and not all(isinstance(hop, Mapping) and hop.get("via") for hop in hops)


def _listed(names: set[str]) -> str:
    # A name with a line break would end the comment.
    return ", ".join(name if name.isprintable() else repr(name) for name in sorted(names))


def _without(actual: State, names: set[str], left_out: set[tuple[str, Key]]) -> State:
    """``actual`` without the links, what refers to them, and what refers to nexthops that go with them."""
    nexthops = {key[0] for cls, key in left_out if cls == "nexthop"}
    while True:
        found = [
            obj
            for obj in actual
            if (obj.cls, obj.key) not in left_out and (_refers(obj, names) or _uses(obj, nexthops))
        ]
        if not found:
            break
        left_out.update((obj.cls, obj.key) for obj in found)
        names = names | {obj.name for obj in found if obj.cls == "link"}
        nexthops.update(obj.key[0] for obj in found if obj.cls == "nexthop")
    return State((obj for obj in actual if obj[:2] not in left_out), actual.groups)


def _refers(obj: Object, names: set[str]) -> bool:
    if obj.cls in ("sysctl", "rule", "nexthop", "route"):
        where: tuple[Value, ...] = tuple(str(obj.key[0]).split("/")) if obj.cls == "sysctl" else ()
    else:
        where = obj.key
    attrs = (value for name, value in obj.attrs.items() if name not in _TEXTS)
    return any(text in names for text in _texts((*where, *attrs)))


def _texts(values: Value) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from _texts(value)
    elif isinstance(values, tuple):
        for value in values:
            yield from _texts(value)


def _uses(obj: Object, nexthops: set[Value]) -> bool:
    used = [member.get("id") for member in records(obj.attrs, "group")] if obj.cls == "nexthop" else []
    return obj.attrs.get("nhid") in nexthops or not nexthops.isdisjoint(used)
