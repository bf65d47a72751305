# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel takes away by itself when links go, go down, or change masters.

Facts of the kernel as a table, so that the plan makes again what it will lose
and does not delete what goes anyway.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import NamedTuple, TypeAlias

from netgroupd.model.address import LEAST_MTU, plain_address, subnet_of
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.state import Key, Object, State, records
from netgroupd.model.tc.filter import incoming_link
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.reach import reached
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.classes import Remade
from netgroupd.plan.tc.hooks import Hook, emptied_blocks, hangs_on_one_of, is_in_one_of, swept

# These are unregistered together with the link below them; tunnels are not.  Some are, too, when that only moves.
_FOLLOWS_LOWER = frozenset({"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "vxlan", "ipoib", "rmnet"})
_EVICTED = {"macsec": "link", "vxlan": "dev"}

# Lost when the link goes down or changes its layer-3 master.  IPv4 addresses
# stay, IPv6 ones stay only under keep_addr_on_down, which nobody sets.
_LOST_WHEN_DOWN = frozenset({"route", "neighbour", "nexthop"})
_LOST_WITH_BRIDGE = frozenset({"fdb", "mdb", "bridge_vlan", "vlan_global", "mst"})

FOLLOWS_MTU = frozenset({"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"})
"""Kinds that have no larger MTU than what is below."""
_CONF = ["net", "ipv6", "conf"]
_PROTOCOLS = {"inet": "IPv4", "inet6": "IPv6"}

# The others stay where they were made, or have their other half there: tunnels go on sending from there.
MOVABLE = frozenset(
    {"", "dummy", "ifb", "nlmon", *PAIRS, "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "tun", "netdevsim"}
)
"""Kinds of links that can move to another network namespace, and are then what they would be if made there."""

TEAMING = frozenset({"bond", "team"})
"""Kinds whose ports have the MTU and MAC of theirs, and are down when it lets them go."""


class Fate(NamedTuple):
    """Links by name, each with the reason: gone, from here or for good, gone down meanwhile, or out of their bridge."""

    gone: dict[str, str]
    cycled: dict[str, str]
    moved: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.gone or self.cycled or self.moved)


def followers(
    names: Iterable[str], links: Mapping[Key, Object], *, masters: Set[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """All links that vanish with ``names``, as MTUs do, each with what takes it along; and masters of these kinds."""
    above = _above(links)
    for port in links.values() if masters else ():
        if kind_of(links.get((port.attrs.get("master"),))) in masters:
            above[port.name].append(str(port.attrs["master"]))
    return reached(names, above)


def evicted(names: Iterable[str], links: Mapping[Key, Object]) -> Iterator[tuple[str, str]]:
    """The links that are unregistered when the one below moves to another network namespace, each with that one."""
    lowers = ((link.name, str(link.attrs.get(_EVICTED.get(kind_of(link), ""), ""))) for link in links.values())
    return ((name, lower) for name, lower in lowers if lower in names)


def _above(links: Mapping[Key, Object]) -> dict[str, list[str]]:
    above: dict[str, list[str]] = defaultdict(list)
    for link in links.values():
        kind = kind_of(link)
        if kind in _FOLLOWS_LOWER and (lower := link.attrs.get("dev" if kind == "vxlan" else "link")):
            above[str(lower)].append(link.name)
        if kind in PAIRS and (peer := peer_of(link)):
            above[peer].append(link.name)
    return above


def peer_of(link: Object) -> str:
    """The other end of a pair, where it is known."""
    return str(link.attrs.get("peer") or "")


def carried_down(names: Iterable[str], links: Mapping[Key, Object]) -> Iterator[tuple[str, str]]:
    """The VLANs that go down and up together with the links below them."""
    bound = {
        key: link for key, link in links.items() if kind_of(link) == "vlan" and not link.attrs.get("loose_binding")
    }
    return followers(names, bound)


def resized_ports(names: Set[str], links: Mapping[Key, Object]) -> Iterator[str]:
    """The ports that get the MTU that ``names`` are given: those of a bond or a team, and of such a port."""
    ports: dict[str, list[str]] = defaultdict(list)
    for link in links.values():
        if kind_of(links.get((link.attrs.get("master"),))) in TEAMING:
            ports[str(link.attrs["master"])].append(link.name)
    return (name for name, _ in reached(names, ports))


Muted: TypeAlias = Mapping[tuple[str, str], str]
"""Links by name that lose a family, each with the reason."""


def muted(steps: Iterable[Step], links: Mapping[Key, Object], *, for_good: bool = False) -> Muted:
    """The links from which the kernel takes a family, with all of their addresses and routes; ``for_good`` or not."""
    shrunk: dict[str, dict[str, str]] = {family: {} for family in LEAST_MTU}
    disabled: dict[tuple[str, str], str] = {}
    for step in steps:
        if step.op is Op.CHANGE and isinstance(mtu := step.attrs.get("mtu"), int) and step.object.cls == "link":
            for family, least in LEAST_MTU.items():
                if mtu < least:
                    name = step.object.name
                    shrunk[family][name] = f"{name} has no {_PROTOCOLS[family]} with an MTU of {mtu}"
        elif (obj := step.after or step.before) and obj.cls == "sysctl" and setting_of_ipv6(obj)[1] == "disable_ipv6":
            _disable(disabled, step, links, for_good=for_good)
    for reasons in filter(None, shrunk.values()):
        _follow_mtu(reasons, links)
    return {(name, family): why for family, reasons in shrunk.items() for name, why in reasons.items()} | disabled


def _disable(disabled: dict[tuple[str, str], str], step: Step, links: Mapping[Key, Object], *, for_good: bool) -> None:
    """Note what a setting does to IPv6; a link that is told otherwise than all links has lost what was there."""
    where = setting_of_ipv6(step.object)[0]
    if step.attrs.get("value", "0") != "0":
        names = (link.name for link in links.values()) if where == "all" else (where,)
        disabled.update({(name, "inet6"): f"IPv6 is disabled on {name}" for name in names})
    elif (why := disabled.pop((where, "inet6"), "")) and not for_good:
        disabled[where, "inet6"] = f"{why} for a moment"


def _follow_mtu(reasons: dict[str, str], links: Mapping[Key, Object]) -> None:
    """Add the links that become as small: those above, and bridges, which take the least MTU of their ports."""
    above = {key: link for key, link in links.items() if kind_of(link) in FOLLOWS_MTU}
    smaller = [*reasons]
    while smaller:  # as often as bridges are stacked
        for upper, lower in followers(smaller, above):
            reasons.setdefault(upper, reasons[lower])
        smaller = []
        for port in [link for link in links.values() if link.name in reasons]:
            master = str(port.attrs.get("master"))
            if master not in reasons and kind_of(links.get((master,))) == "bridge":
                reasons[master] = reasons[port.name]
                smaller.append(master)


def setting_of_ipv6(obj: Object) -> tuple[str, str]:
    """The link, "all" or "default" that a setting of IPv6 is of, and what it is called there; else nothing."""
    *tree, name, setting = ("", "", *str(obj.key[0]).split("/"))
    return (name, setting) if obj.cls == "sysctl" and tree[2:] == _CONF else ("", "")


def why_muted(obj: Object, links: Muted) -> str:
    """Why ``obj`` is lost with the family of its link; "" if it stays.

    Routes by a nexthop object stay, as that does.
    """
    if not links or obj.cls not in ("address", "route", "neighbour", "token"):
        return ""
    ipv6 = obj.cls == "token" or not is_ipv4(obj)
    family = str(obj.key[0]) if obj.cls == "route" else "inet6" if ipv6 else "inet"
    return next((links[name, family] for name in hangs_on(obj) if (name, family) in links), "")


def hangs_on(obj: Object) -> tuple[str, ...]:
    """The names of the links without which ``obj`` cannot be."""
    if obj.cls == "route":
        hops = obj.attrs.get("nexthops") or ()
        assert isinstance(hops, tuple)
        devices = [obj.attrs.get("dev"), *(hop.get("dev") for hop in hops if isinstance(hop, Mapping))]
        return tuple(str(name) for name in devices if name)
    if obj.cls == "nexthop":
        return (str(obj.attrs["dev"]),) if obj.attrs.get("dev") else ()
    if obj.cls == "sysctl":
        parts = str(obj.key[0]).split("/")
        return (parts[3],) if len(parts) > 4 and parts[2] in ("conf", "neigh") else ()
    if obj.cls == "mdb":
        return str(obj.key[0]), str(obj.key[1])  # the bridge and its port
    return () if obj.cls in ("rule", "action") else (str(obj.key[0]),)


def _leads_by(obj: Object) -> tuple[str, ...]:
    """The same, and the link that a forwarding entry sends through: of one that goes it keeps a number that is none."""
    via = obj.attrs.get("via") if obj.cls == "fdb" else None
    return (*hangs_on(obj), str(via)) if via else hangs_on(obj)


class Losses:
    """Which actual objects the kernel drops, given the fate of the links and what is deleted."""

    def __init__(self, fate: Fate, actual: State) -> None:
        self._fate = fate
        self._links = actual.of("link")
        self.along: dict[Key, str] = {}
        self._emptied: dict[str, str] = {}
        self._sources: dict[str, str] = {}
        self._nexthops: dict[Value, str] = {}
        self._deleted_nexthops: set[Value] = set()
        self._parents: frozenset[Hook] = frozenset()
        self._remade = Remade()
        self._chains: dict[Key, str] = {}
        self.holding: frozenset[Key] = frozenset()
        """Rules that keep the templates of chains which are to lose them."""
        self._blocks = emptied_blocks(fate.gone, actual) if fate.gone else {}
        self._muted: Muted = {}
        if fate:
            self._follow_nexthops(actual)

    def __bool__(self) -> bool:
        by_queues = (self._parents, self._remade.classes, self._chains)
        return any((self._fate, self._sources, self._nexthops, self._muted, *by_queues))

    def mute(self, links: Muted, actual: State) -> None:
        """Note which links lose a family."""
        self._muted = links
        if self:
            addresses = filter(is_ipv4, actual.of("address").values())
            self._sources.update({plain_address(obj.key): why for obj in addresses if (why := self._by_links(obj))})

    def deleted(self, cls: str, deleted: list[Object], actual: State) -> None:
        """Note that objects of a class on which others depend are to be deleted."""
        if cls == "nexthop":
            self._nexthops.update({obj.key[0]: f"nexthop {obj.key[0]} is deleted" for obj in deleted})
            self._deleted_nexthops.update(obj.key[0] for obj in deleted)
            self._follow_nexthops(actual)
            return
        if cls == "qdisc":
            self._parents |= swept(deleted, actual)
            if gone := self._fate.gone:  # of a block some may go with their links, and the others with these
                self._blocks = emptied_blocks(gone, actual, frozenset(obj.key for obj in deleted))
            return
        if cls == "chain":
            self._chains.update({obj.key: "its chain is emptied for another template" for obj in deleted})
            return
        self._sources.update({plain_address(obj.key): f"{obj.key[1]} is deleted" for obj in deleted})
        self._follow_addresses({obj.key for obj in deleted if is_ipv4(obj)}, actual)

    def remade(self, found: Remade, actual: State) -> None:
        """Note the classes that are deleted before others come."""
        self._remade = found
        if found.classes:
            self._parents |= swept(filter(self._goes_with_a_class, actual.of("qdisc").values()), actual)

    def _goes_with_a_class(self, obj: Object) -> bool:
        return is_in_one_of(obj, self._remade.classes)

    def _by_queues(self, obj: Object) -> str:
        if self._parents and hangs_on_one_of(obj, self._parents):
            return "its qdisc is deleted"
        return "its class is made anew" if self._goes_with_a_class(obj) else ""

    def in_the_way(self, obj: Object) -> str:
        """Why ``obj`` is to be deleted and made again, though nothing takes it along; "" if it is not."""
        found = self._remade
        if obj.cls == "filter" and obj.key[:3] in self._chains:
            return self._chains[obj.key[:3]]
        if obj.cls == "filter" and obj.key in self.holding:
            return "a chain that it leads to loses its template"
        if obj.cls == "filter" and self._fate.gone and (name := incoming_link(obj.key)) in self._fate.gone:
            return self._fate.gone[name]
        first = obj.key in found.rules if obj.cls == "filter" else obj.cls == "tclass" and obj.key in found.classes
        return "a class is made anew" if first else ""

    def _follow_addresses(self, going: Set[Key], actual: State) -> None:
        subnets: dict[tuple[str, str], list[Object]] = defaultdict(list)
        for obj in actual.of("address").values():
            if is_ipv4(obj):
                subnets[obj.name, subnet_of(obj.key)].append(obj)
        # The first address of a subnet takes its secondaries along, unless
        # promote_secondaries is set, which differs from host to host.
        for first, *others in subnets.values():
            if first.key in going:
                along = f"goes with {first.key[1]}"
                self.along.update({obj.key: f"it {along}" for obj in others})
                self._sources.update({plain_address(obj.key): f"{obj.key[1]} {along}" for obj in others})
        bare = stripped(going | self.along.keys(), actual.of("address"))
        self._emptied = {name: f"{name} has no address for a moment" for name in bare}

    def succeeded(self, links: Iterable[Value]) -> None:
        """Note on which links other addresses come before all that they have go."""
        for link in links:
            self._emptied.pop(str(link), None)

    def _follow_nexthops(self, actual: State) -> None:
        lost = self._nexthops
        groups = []
        for obj in actual.of("nexthop").values():
            if reason := self._by_links(obj):
                lost[obj.key[0]] = reason
            if obj.attrs.get("group"):
                groups.append(obj)
        for obj in groups:
            ids = [member.get("id") for member in records(obj.attrs, "group")]
            if gone := [number for number in ids if number in lost]:
                lost[obj.key[0]] = lost[gone[0]]

    @property
    def emptied(self) -> frozenset[str]:
        """The links that lose all of their IPv4 addresses, as far as netgroupd knows them."""
        return frozenset(self._emptied)

    def goes_by_itself(self, obj: Object) -> bool:
        """Whether the kernel deletes ``obj`` together with its links or its qdisc, without being told."""
        if self._by_queues(obj):
            return True
        names = hangs_on(obj) if self._fate.gone else ()
        gone = (name in self._fate.gone for name in names)
        # A route has several ways; an entry of a bridge goes with its port too.
        return bool(names) and (any(gone) if obj.cls == "mdb" else all(gone))

    def outlast(self, nexthops: Iterable[Object]) -> frozenset[Key]:
        """Those that no link takes along: they can be deleted when nothing goes by way of them any more."""
        return frozenset(obj.key for obj in nexthops if obj.key[0] not in self._nexthops)

    def forgets(self, obj: Object) -> bool:
        """Whether a rule or action that stays sends packets to a link that goes: it does not know another one."""
        gone = self._fate.gone
        actions = records(obj.attrs, "actions") if gone and obj.cls in ("filter", "action") else ()
        return any(action.get("dev") in gone for action in actions)

    def source(self, address: Value) -> str:
        """Why an address that routes may prefer to send from will be lost; "" if it stays."""
        return self._sources.get(str(address), "")

    def why(self, obj: Object) -> str:
        """Why ``obj`` will be lost; "" if it stays."""
        if not self:
            return ""
        if obj.cls == "address":
            return self.along.get(obj.key) or self._by_links(obj)
        if obj.cls == "nexthop":
            # One that is deleted on purpose is not lost: its own comparison says what becomes of it.
            return "" if obj.key[0] in self._deleted_nexthops else self._nexthops.get(obj.key[0], "")
        if obj.cls == "route":
            return self._route(obj)
        if obj.name in self._blocks:
            return self._blocks[obj.name]
        return self._by_nexthop(obj) or self._by_queues(obj) or self._by_addresses(obj) or self._by_links(obj)

    def _by_nexthop(self, obj: Object) -> str:
        """Why the nexthop that a route or forwarding entry goes by is lost; "" if it stays."""
        return self._nexthops.get(obj.attrs.get("nhid"), "")

    def _by_addresses(self, obj: Object) -> str:
        """Why a link that has no IPv4 address for a moment loses ``obj``; "" if it does not."""
        ipv4 = obj.cls in ("route", "neighbour") and is_ipv4(obj)
        return next((self._emptied[name] for name in hangs_on(obj) if name in self._emptied), "") if ipv4 else ""

    def _route(self, obj: Object) -> str:
        source = obj.attrs.get("src")
        return self._by_nexthop(obj) or self.source(source) or self._by_addresses(obj) or self._by_links(obj)

    def _by_links(self, obj: Object) -> str:
        if reason := why_muted(obj, self._muted):
            return reason
        fate = self._fate
        for name in _leads_by(obj):
            if name in fate.gone:
                return fate.gone[name]
            if name in fate.cycled and _dies_when_down(obj) and not self._leads_on(obj):
                return fate.cycled[name]
            if name in fate.moved and is_of_bridge(obj):
                return fate.moved[name]
        return ""

    def _leads_on(self, obj: Object) -> bool:
        """Whether a route has a way by a link that stays up: those by links that are down are dead, and stay."""
        ways = records(obj.attrs, "nexthops") if obj.cls == "route" else ()
        stay = (link for way in ways if (link := self._links.get((way.get("dev"),))))
        return any(link.name not in self._fate.cycled and link.attrs.get("up") for link in stay)


def is_of_bridge(obj: Object) -> bool:
    """Whether a link has this only in a bridge, or as one."""
    return obj.cls in _LOST_WITH_BRIDGE and obj.key[3:4] != ("self",)


def _dies_when_down(obj: Object) -> bool:
    if obj.cls == "address":
        return not is_ipv4(obj)
    return obj.cls in _LOST_WHEN_DOWN and obj.key[0] != "mpls"


def is_ipv4(obj: Object) -> bool:
    """Whether a route, an address or a neighbour is one of IPv4."""
    return obj.key[0] == "inet" if obj.cls == "route" else ":" not in str(obj.key[1])


def stripped(going: Set[Key], haves: Iterable[Key]) -> set[str]:
    """The links that have no address of IPv4 left when the addresses ``going`` have gone."""
    links = {str(key[0]) for key in going if ":" not in str(key[1])}
    return links.difference(str(key[0]) for key in haves if key not in going and ":" not in str(key[1]))
