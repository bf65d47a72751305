# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse a plan that would cut the way of the default route, or of the session that asks.

The way is the link that packets leave by, the links below and above it that
carry them, the address that they leave with, and the route that they follow, with
its nexthop object; and that traffic control lets them pass.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import chain

from netgroupd.engine.carriers import carriers
from netgroupd.engine.detour import Detours, Way, leads_away, vrf_of
from netgroupd.engine.guard_tc import Asked, filtered_ways
from netgroupd.engine.observe import Connection
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.request import Selection
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.beside import Said
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import muted, setting_of_ipv6
from netgroupd.plan.hooks import CLSACT, CLSACT_HOOKS
from netgroupd.plan.present import noun, said_in, title
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step

# Addresses for documentation, or for what is discarded: to one of each family nothing but a default route leads.
ANYWHERE = (("192.0.2.1", "198.51.100.1", "203.0.113.1"), ("2001:db8::1", "100::1"))
_ALMOST_ALL = 2  # bits: some have the default route in halves or quarters
# With one of these nothing goes through a link any more.
_SEVERING = {"up": False, "carrier": False, "protodown": True, "arp": False}
_OPEN = "forwarding"
_SHOWN = 3
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})


def refuse_cuts(
    plan: Plan,
    ways: Sequence[Way],
    around: State,
    detours: Detours,
    asked: Asked,
    allow: frozenset[str],
) -> None:
    """Let ``plan`` pass, or say which steps would cut which way; ``asked`` knows more of links.

    Raises:
        GuardError: It would cut a way that is not allowed to be.
    """
    if not ways:
        return
    carried = _Carried(ways, around)
    told: dict[str, list[str]] = {}
    for name, sentence in chain(
        _silenced(plan, ways, around),
        _unlearned(plan, ways),
        _cuts(plan, carried, ways, detours),
        _filtered(plan, ways, around, asked),
    ):
        if name not in allow:
            told.setdefault(name, []).append(sentence)
    if told:
        raise GuardError("\n".join(chain.from_iterable(_shortened(*found) for found in told.items())))


def _cuts(plan: Plan, carried: "_Carried", ways: Sequence[Way], detours: Detours) -> Iterator[tuple[str, str]]:
    """The links that steps cut, or packets lead away from, with a sentence for each step."""
    for step in singles(plan.steps):
        if step.op is Op.CREATE and step.object.cls == "link":
            continue  # nothing goes through it yet; of these there are the most
        cut = carried.cut_by(step) or _led_away(step, ways, detours)
        if cut and not detours.replaced(step):
            yield cut[0], _sentence(step, *cut)


def _filtered(plan: Plan, ways: Sequence[Way], around: State, asked: Asked) -> Iterator[tuple[str, str]]:
    """The links where traffic control loses the packets of a way, with a sentence for each step by which it does."""
    found = [*filtered_ways(plan, ways, around, asked)]
    said = said_in(plan.steps) if found else None
    for step, name, whose in found:
        yield name, _sentence(step, name, whose, said=said)


def _shortened(name: str, sentences: Iterable[str]) -> Iterator[str]:
    """The first few of what is told of a link: a bridge port may lose thousands of VLANs."""
    different = [*dict.fromkeys(sentences)]
    yield from different[:_SHOWN]
    if len(different) > _SHOWN:
        yield f"and {len(different) - _SHOWN:,} more steps would cut {name!r}"


def _silenced(plan: Plan, ways: Sequence[Way], around: State) -> Iterator[tuple[str, str]]:
    """The links of the ways that no longer speak the protocol that they are of."""
    lost = muted(singles(plan.steps), around.of("link"), for_good=True)
    if not lost:
        return
    places: dict[str, set[str]] = {way.source: {way.link} for way in ways}
    for address in around.of("address").values():
        if (plain := _plain(address)) in places:
            places[plain].add(address.name)
    for way in ways:
        family = "inet6" if ":" in (way.to or way.source) else "inet"
        for name in sorted({way.link, *places[way.source]}):
            if why := lost.get((name, family)):
                yield name, f"that {why} {_cut(name, way.whose)}"


def _unlearned(plan: Plan, ways: Sequence[Way]) -> Iterator[tuple[str, str]]:
    """The links whose default route came from a router: the kernel drops it when it begins to forward IPv6."""
    learned = {way.link: way.whose for way in ways if way.learned}
    for step in singles(plan.steps) if learned else ():
        link, setting = setting_of_ipv6(step.object)
        value = step.attrs.get("value")
        if (setting, value) == ("accept_ra", "2"):
            learned.pop(link, None)
        elif setting == "forwarding" and link != "default" and value != "0":
            for name, whose in learned.items():
                yield name, _sentence(step, name, whose, f"give {name!r} the sysctl ipv6.accept_ra: 2, or ")
            return


def _led_away(step: Step, ways: Sequence[Way], detours: Detours) -> tuple[str, str] | None:
    way = next((way for way in ways if detours.takes(step, way)), None)
    return (way.link, way.whose) if way else None


def ways_of(kernel: Connection, session: Session) -> list[Way]:
    """The ways of the default routes, and of the session that asks."""
    whose = f"your session from {session.peer}"
    ways = [
        Way(whose, way.link, way.source, session.peer, *way[2:], vrf=vrf, session=session)
        for vrf in (_vrfs_of(kernel, session.local) if session.peer else ())
        if (way := kernel.way_to(session.peer, session.local, vrf))
    ]
    ways += filter(None, (_default_way(kernel, addresses) for addresses in ANYWHERE))
    ways = [way._replace(learned=way.learned and _learns(kernel, way.link)) for way in ways]
    return [*ways, Way("your session", "", session.local)] if session.local else ways


def _default_way(kernel: Connection, anywhere: Iterable[str]) -> Way | None:
    for address in anywhere:
        if (way := kernel.way_to(address)) and way.length <= _ALMOST_ALL:
            return Way("the default route", way.link, way.source, address, *way[2:])
    return None


def _learns(kernel: Connection, link: str) -> bool:
    """Whether the kernel itself learns routes by a link, and only as long as it does not forward."""
    path = f"net/ipv6/conf/{link}/accept_ra"
    setting = kernel.dump(Selection(frozenset({"sysctl"}), settings=frozenset({path}))).of("sysctl").get((path,))
    return setting is not None and setting.attrs["value"] == "1"


def _vrfs_of(kernel: Connection, address: str) -> list[str]:
    """The VRFs that an address is in, "" for none; it may be in several, and nothing tells which one is meant."""
    holders = kernel.links_with(address) if address else frozenset[str]()
    if not holders:
        return [""]
    links = dict(kernel.dump(Selection(links=holders)).of("link"))
    masters = frozenset(str(link.attrs["master"]) for link in links.values() if link.attrs.get("master"))
    if masters - holders:
        links |= kernel.dump(Selection(links=masters - holders)).of("link")
    vrfs = {link.name for link in links.values() if kind_of(link) == "vrf"}
    return sorted({vrf_of(links.get((name,)), vrfs) for name in holders})


def around(kernel: Connection, ways: Iterable[Way], actual: State) -> State:
    """What there is of ours, and the links of the ways where they are none of ours."""
    links = dict(actual.of("link"))
    missing = {way.link for way in ways} - {"", *(str(key[0]) for key in links)}
    while missing:
        found = kernel.dump(Selection(links=frozenset(missing))).of("link")
        links.update({key: link for key, link in found.items() if key not in links})
        below = {
            str(link.attrs[name]) for link in found.values() for name in ("link", "master") if link.attrs.get(name)
        }
        missing = {name for name in below if (name,) not in links} if found else set()
    state = State()
    state.classes = {**actual.classes, "link": links}
    return state


def asked_of(kernel: Connection, *states: State) -> Asked:
    """What tells more of links; the kind of those in ``states`` without asking the kernel."""

    @cache
    def kind(name: str) -> str:
        known = next(filter(None, (kind_of(state.link(name)) for state in states)), "")
        return known or kind_of(whole({name}).get((name,)))

    def whole(names: Set[str]) -> Mapping[Key, Object]:
        return kernel.dump(Selection(links=frozenset(names))).of("link")

    def rules(names: Set[str]) -> State:
        hooks = frozenset((name, hook) for name in names for hook in (CLSACT, *CLSACT_HOOKS))
        return kernel.dump(Selection(frozenset({"qdisc", "filter"}), hooks=hooks))

    return Asked(kind, whole, rules)


class _Carried:
    """The links, addresses and nexthops that the ways need, each with whose way it is."""

    def __init__(self, ways: Iterable[Way], around: State) -> None:
        links = around.of("link")
        self._carriers: dict[str, str] = {}
        self._sources: dict[str, str] = {}
        self._nexthops: dict[Value, Way] = {}
        self._spare: set[Value] = set()  # members of a group that can go, for there are others
        self._tables = {(way.family, way.table) for way in ways if way.to}
        # The default routes that are followed: behind them are those for when they fail.
        self._followed: dict[Value, int] = {}
        for way in ways:
            self._sources.setdefault(way.source, way.whose)
            if way.to and not way.length:
                self._followed[way.family, way.table] = max(way.metric, self._followed.get((way.family, way.table), 0))
            members = _members(around, way.nexthop)
            self._nexthops.update(dict.fromkeys((way.nexthop, *members), way))
            self._spare.update(members if len(members) > 1 else ())
            for name, _ in carriers(way.link, links):
                self._carriers.setdefault(name, way.whose)
        # Bridges through which the ways go with a VLAN's tag.
        uppers = (links[name,] for name in self._carriers)
        self._tagged = {str(upper.attrs.get("link")) for upper in uppers if kind_of(upper) == "vlan"}

    def cut_by(self, step: Step) -> tuple[str, str] | None:
        """The link that a step would cut, and whose way that is."""
        obj = step.object
        if obj.cls == "address" and step.op is Op.DELETE:
            plain = _plain(obj)
            return (obj.name, self._sources[plain]) if plain in self._sources else None
        if obj.cls == "route" and self._reroutes(step):
            return str((step.before or obj).attrs.get("dev") or obj.key[2]), "the default route"
        if obj.cls == "nexthop" and (way := self._nexthops.get(obj.key[0])):
            spare = step.op is Op.DELETE and obj.key[0] in self._spare
            return (way.link, way.whose) if leads_away(step) and not spare else None
        if obj.name not in self._carriers:
            return None
        severed = (obj.cls == "link" and self._severs(step)) or (obj.cls == "bridge_vlan" and _retags(step))
        return (obj.name, self._carriers[obj.name]) if severed else None

    def _reroutes(self, step: Step) -> bool:
        """Whether a step takes away a default route of a table that the ways use, or leads it elsewhere."""
        family, table, destination, _, metric = step.object.key
        assert isinstance(metric, int)
        spare = metric > self._followed.get((family, table), metric)
        return (family, table) in self._tables and destination in _DEFAULTS and not spare and leads_away(step)

    def _severs(self, step: Step) -> bool:
        """Whether a step about a link interrupts what the link carries."""
        attrs = step.attrs
        if step.op is Op.CREATE:
            return False
        if step.op is Op.DELETE or attrs.keys() & {"master", "netns"}:
            return True
        if any(attrs.get(name) is value for name, value in _SEVERING.items()):
            return True
        if attrs.get("vlan_filtering"):
            # Without a tag everything is in the default VLAN; with one it needs a VLAN on every port.
            return step.object.name in self._tagged or not step.object.attrs.get("vlan_default_pvid", 1)
        return "vlan_default_pvid" in attrs and bool(step.object.attrs.get("vlan_filtering"))


def _plain(address: Object) -> str:
    return str(address.key[1]).partition("/")[0]


def _retags(step: Step) -> bool:
    """Whether a step about a VLAN of a port takes or shuts it away, or changes where what has no tag belongs."""
    attrs = step.attrs
    changed = step.op is Op.CHANGE and ("pvid" in attrs or attrs.get("state", _OPEN) != _OPEN)
    return step.op is Op.DELETE or changed or bool(attrs.get("pvid"))


def _members(around: State, nexthop: int) -> list[Value]:
    """The members of the group that a nexthop is, if it is one."""
    group = around.of("nexthop").get((nexthop,))
    members = group.attrs.get("group") if group else None
    return [one.get("id") for one in members if isinstance(one, Mapping)] if isinstance(members, tuple) else []


def _sentence(step: Step, link: str, whose: str, instead: str = "", said: Said | None = None) -> str:
    obj = said.of(step.object) if said and step.object.cls == "filter" else step.object
    name = title(obj) if obj.cls == "filter" else [str(field) for field in obj.key if field]
    what = f"{noun(obj)} {' '.join(name)}"
    where = f"{obj.origin}: " if obj.origin else ""
    return f"{where}to {step.op} {what} {_cut(link, whose, instead)}"


def _cut(link: str, whose: str, instead: str = "") -> str:
    return f"would cut the way of {whose}; {instead}allow {link!r} to be cut if that is meant"
