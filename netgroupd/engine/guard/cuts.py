# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse a plan that would cut the way of the default route, or of the session that asks.

The way is the link that packets leave by, the links below and above it that
carry them, the address that they leave with, and the route that they follow, with
its nexthop object; and that traffic control lets them pass.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import chain

from netgroupd.engine.guard.answering import unanswering
from netgroupd.engine.guard.behind import port_behind
from netgroupd.engine.guard.carried import Carried
from netgroupd.engine.guard.carriers import INTERLINK, below, carriers
from netgroupd.engine.guard.detour import Detours, vrf_of
from netgroupd.engine.guard.one_sided import one_sided
from netgroupd.engine.guard.short_lived import short_lived
from netgroupd.engine.guard.tc import Asked, filtered_ways
from netgroupd.engine.guard.tunnels import far_end, outer_protocol
from netgroupd.engine.guard.way import ALMOST_ALL, Way
from netgroupd.engine.observe import Connection
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.layer3.ways import Route
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.address import plain_address
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import muted, setting_of_ipv6
from netgroupd.plan.nets import said_in
from netgroupd.plan.present import noun, title
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.beside import Said
from netgroupd.plan.tc.hooks import CLSACT, CLSACT_HOOKS

# Addresses for documentation, or for what is discarded: to one of each family nothing but a default route leads.
ANYWHERE = (("192.0.2.1", "198.51.100.1", "203.0.113.1"), ("2001:db8::1", "100::1"))
_SHOWN = 3
_NESTED = 5  # a way, and tunnels within one another; the kernel sends through eight, and nobody through so many
# Whether routers are listened to at all, and whether to what they say of themselves.
_LISTENING = frozenset({"accept_ra", "accept_ra_defrtr"})
_DEAF, _EVEN_IF_FORWARDING = "0", "2"


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
    carried = Carried(ways, around, plan, asked.way_to)
    told: dict[str, list[str]] = {}
    for name, sentence in chain(
        _silenced(plan, ways, around),
        _unlearned(plan, ways),
        _by_settings(plan, ways, asked),
        _cuts(plan, carried, ways, detours),
        _filtered(plan, ways, around, asked),
        _functions_gone(plan, carried, asked),
    ):
        if name not in allow:
            told.setdefault(name, []).append(sentence)
    if told:
        raise GuardError("\n".join(chain.from_iterable(_shortened(*found) for found in told.items())))


def _cuts(plan: Plan, carried: Carried, ways: Sequence[Way], detours: Detours) -> Iterator[tuple[str, str]]:
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


def _functions_gone(plan: Plan, carried: Carried, asked: Asked) -> Iterator[tuple[str, str]]:
    """The links of the ways that are virtual functions of a card which they are taken from."""
    for step in singles(plan.steps):
        if step.object.cls == "sriov" and (step.op is Op.DELETE or step.attrs.get("num_vfs") == 0):
            yield from (
                (name, _sentence(step, name, whose))
                for name, whose in carried.links()
                if asked.card_of(name) == step.object.name
            )


def _shortened(name: str, sentences: Iterable[str]) -> Iterator[str]:
    """The first few of what is told of a link: a bridge port may lose thousands of VLANs."""
    different = [*dict.fromkeys(sentences)]
    yield from different[:_SHOWN]
    if (more := len(different) - _SHOWN) > 0:
        yield f"and {more:,} more step{'' if more == 1 else 's'} would cut {name!r}"


def _silenced(plan: Plan, ways: Sequence[Way], around: State) -> Iterator[tuple[str, str]]:
    """The links of the ways that no longer speak the protocol that they are of."""
    lost = muted(singles(plan.steps), around.of("link"), for_good=True)
    if not lost:
        return
    places: dict[str, set[str]] = {way.route.source: {way.link} for way in ways}
    for address in around.of("address").values():
        if (plain := plain_address(address.key)) in places:
            places[plain].add(address.name)
    for way in ways:
        family = "inet6" if ":" in (way.to or way.route.source) else "inet"
        for name in sorted({way.link, *places[way.route.source]}):
            if why := lost.get((name, family)):
                yield name, f"that {why} {_cut(name, way.whose)}"


def _unlearned(plan: Plan, ways: Sequence[Way]) -> Iterator[tuple[str, str]]:
    """The links whose default route came from a router, and that no longer listen to it.

    The kernel drops the route when it begins to forward IPv6; where no advertisement renews
    it, it goes when its time is over, which may be after the change was confirmed.
    """
    # To one whose accept_ra is 0 another program listens, and renews its route.
    learned = {way.link: way for way in ways if way.accept_ra != _DEAF}
    for step in singles(plan.steps) if learned else ():
        link, setting = setting_of_ipv6(step.object)
        value = step.attrs.get("value")
        if setting in _LISTENING and value == _DEAF and (way := learned.get(link)):
            yield link, _sentence(step, link, way.whose)
        elif (setting, value) == ("accept_ra", _EVEN_IF_FORWARDING):
            learned.pop(link, None)
        elif setting == "forwarding" and link != "default" and value != "0":
            for name, way in learned.items():
                if way.accept_ra != _EVEN_IF_FORWARDING:
                    instead = f"give {name!r} the sysctl ipv6.accept_ra: 2, or "
                    yield name, _sentence(step, name, way.whose, instead)


def _by_settings(plan: Plan, ways: Sequence[Way], asked: Asked) -> Iterator[tuple[str, str]]:
    """The links of the ways to which nothing comes any more, or by which nothing gets far, as the kernel is told to."""
    steps = [*singles(plan.steps)]
    for step, way in chain(unanswering(steps, ways, asked), one_sided(steps, ways, asked), short_lived(steps, ways)):
        yield way.link, _sentence(step, way.link, way.whose)


def _led_away(step: Step, ways: Sequence[Way], detours: Detours) -> tuple[str, str] | None:
    way = next((way for way in ways if detours.takes(step, way)), None)
    return (way.link, way.whose) if way else None


def ways_of(kernel: Connection, session: Session) -> list[Way]:
    """The ways of the default routes, and of the session that asks."""
    whose = f"your session from {session.peer}"
    holders = kernel.links_with(session.local) if session.local else frozenset[str]()
    ways = [
        _along(kernel, route, whose, session.peer)._replace(vrf=vrf, session=session, holders=holders)
        for vrf in (_vrfs_of(kernel, session.local) if session.peer else ())
        if (route := kernel.way_to(session.peer, session.local, vrf))
    ]
    ways += filter(None, (_default_way(kernel, addresses) for addresses in ANYWHERE))
    if not session.local:
        return ways
    return [*ways, Way("your session", Route("", session.local), holders=holders)]


def _default_way(kernel: Connection, anywhere: Iterable[str]) -> Way | None:
    for address in anywhere:
        if (route := kernel.way_to(address)) and route.length <= ALMOST_ALL:
            return _along(kernel, route, "the default route", address)._replace(anywhere=True)
    return None


def _along(kernel: Connection, route: Route, whose: str, to: str) -> Way:
    accept_ra = _accept_ra(kernel, route.link) if route.learned else _DEAF
    return Way(whose, route, to, accept_ra)


def _accept_ra(kernel: Connection, link: str) -> str:
    path = f"net/ipv6/conf/{link}/accept_ra"
    return _settings(kernel, frozenset({path})).get(path, _DEAF)


def _settings(kernel: Connection, paths: frozenset[str]) -> dict[str, str]:
    """The value of each of those settings of the kernel that are there."""
    there = kernel.dump(Selection(frozenset({"sysctl"}), settings=paths)).of("sysctl")
    return {str(key[0]): str(setting.attrs["value"]) for key, setting in there.items()}


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


def with_underlays(kernel: Connection, ways: Sequence[Way], actual: State, goal: State) -> tuple[list[Way], State]:
    """The ways, and those of the tunnels that carry them; what there is of ours, and all links of these ways."""
    links = _Links(kernel, actual, goal)
    found: dict[Way, Way] = {}
    new = [*ways]
    for _ in range(_NESTED):
        links.add(way.link for way in new)
        placed = [way._replace(behind=port_behind(kernel, way, links.there)) for way in new]
        links.add(way.behind for way in placed)
        found.update(zip(new, placed, strict=True))
        new = [way for way in dict.fromkeys(_underlays(kernel, placed, links.there)) if way not in found]
    return [*found.values()], actual.having(link=links.there)


def _underlays(kernel: Connection, ways: Iterable[Way], links: Mapping[Key, Object]) -> Iterator[Way]:
    @cache  # the ways often leave by one link, and the search goes over all
    def carrying(name: str, behind: str) -> list[Object]:
        return [links[carrier,] for carrier, _ in carriers(name, links, behind) if (carrier,) in links]

    for way in ways:
        for link in carrying(way.link, way.behind) if way.to else ():
            end = far_end(link, way.to)
            if end and (route := kernel.way_to(end.address, end.source, end.dev, end.mark)):
                tunnel = _along(kernel, route, way.whose, end.address)
                yield tunnel._replace(mark=end.mark, protocol=outer_protocol(link))


class _Links:
    """All links of some ways, whose they may be, beside what there is of ours.

    Of ours a plan may only have needed a part; but it knows the files that keys are in.  The interlink
    of a ring the kernel does not tell: it is the one of the ``goal``, for none can change.
    """

    def __init__(self, kernel: Connection, actual: State, goal: State) -> None:
        self._kernel = kernel
        self._goal = goal
        self.there = dict(actual.of("link"))
        self._asked = {""}

    def add(self, names: Iterable[str]) -> None:
        """Ask for links, and for those that they stand on or are ports of."""
        missing = set(names) - self._asked
        while missing:
            found = dict(self._kernel.dump(Selection(links=frozenset(missing))).of("link"))
            for key, link in found.items():
                ours = self.there.get(key, link)
                said = self._goal.link(link.name)
                untold = {INTERLINK: said.attrs[INTERLINK]} if said and said.attrs.get(INTERLINK) else {}
                found[key] = self.there[key] = link.having({**ours.attrs, **untold})
            self._asked |= missing
            masters = {str(link.attrs["master"]) for link in found.values() if link.attrs.get("master")}
            missing = masters.union(*map(below, found.values())) - self._asked


def asked_of(kernel: Connection, *states: State) -> Asked:
    """What tells more of links; the kind of those in ``states`` without asking the kernel."""

    @cache
    def kind(name: str) -> str:
        known = (link for state in states if (link := state.link(name)) and "kind" in link.attrs)
        return kind_of(next(known, None) or whole({name}).get((name,)))

    def whole(names: Set[str]) -> Mapping[Key, Object]:
        return kernel.dump(Selection(links=frozenset(names))).of("link")

    def rules(names: Set[str]) -> State:
        hooks = frozenset((name, hook) for name in names for hook in (CLSACT, *CLSACT_HOOKS))
        return kernel.dump(Selection(frozenset({"qdisc", "filter"}), hooks=hooks))

    @cache
    def settings(paths: frozenset[str]) -> Mapping[str, str]:
        return _settings(kernel, paths)

    @cache
    def addresses(name: str) -> tuple[Object, ...]:
        asked = Selection(frozenset({"address"}), places=frozenset({name}), everything=True)
        return tuple(kernel.dump(asked).of("address").values())

    return Asked(kind, whole, rules, kernel.card_of, settings, addresses, kernel.way_to)


def _sentence(step: Step, link: str, whose: str, instead: str = "", said: Said | None = None) -> str:
    obj = said.of(step.object) if said and step.object.cls == "filter" else step.object
    where = f"{obj.origin}: " if obj.origin else ""
    return f"{where}to {step.op} {noun(obj)} {' '.join(title(obj))} {_cut(link, whose, instead)}"


def _cut(link: str, whose: str, instead: str = "") -> str:
    return f"would cut the way of {whose}; {instead}--allow {shlex.quote(link)} says that it is meant"
