# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan adds that packets would then follow instead of the way they take now, and what it takes away of that.

A route or an address of a longer prefix or a lower metric outranks the route in
use, and a rule before it may lead to another table or nowhere.  The route in use
may go or change, and so may the rule that leads to its table.  What selects by
sockets, ports or marks is taken not to mean these packets, but by the ports of the
session, and by having no mark; users are root, for whom the kernel and nearly all
servers send.  Those in a VRF are
led to its table by the rule that the kernel makes with the first VRF, or one like it.
Rules in front of that are asked of what comes, too: the addresses of a VRF are not in the table that is asked first.
"""

from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from netgroupd.engine.guard.selecting import leads_to_table, selects
from netgroupd.engine.guard.way import Way, length_of
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.address import plain_address
from netgroupd.model.route import MAIN_TABLE, TABLES
from netgroupd.model.rule import stands_beside
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State, records
from netgroupd.model.value import Value, ip_text, split_prefix
from netgroupd.plan.compare import UNOWNED, kind_of, same
from netgroupd.plan.step import Op, Step

_V4_BYTES, _LEAST_OF_ALL = 4, 31  # bits: in a longer prefix no address means all
_MAIN_RULE, _LAST_RULE = 32766, 32767
_RULE_OF_VRFS = 1000
_OF_KERNEL = tuple(Object("rule", (family, _MAIN_RULE, ()), {"lookup": MAIN_TABLE}) for family in ("inet", "inet6"))
_PREFIX_METRIC = {"inet": 0, "inet6": 256}  # of the route that comes with an address
_LEADING = frozenset({"route", "rule", "address"})
_RETURNING = frozenset({"route", "address"})
_NOWHERE = frozenset({"blackhole", "unreachable", "prohibit"})
_TAKEN_HERE = frozenset({"local", "unicast"})  # beside a route of that type to it an address of this host stays one
_AS_IT_IS = frozenset({"ip", "ip6"})  # of tunnels, which the links that are none do not ask for
_HOPS = frozenset({"nexthops", "group", "via", "dev"})
_REROUTING = frozenset({"via", "dev", "nexthops", "nhid", "type", "encap", "blackhole", "group"})
# What a route has that mentions none of it; "dev" and "src" the kernel finds by itself.
_PLAIN: Attrs = {"type": "unicast", "via": None, "nexthops": None, "nhid": None, "encap": None}


def leads_away(step: Step, *, follows: Callable[[Attrs], bool] = bool) -> bool:
    """Whether a step takes away a route or nexthop, or changes where it leads; becoming netgroupd's does not.

    Nor does it to get more ways beside those that there are, as a group whose uplink has its carrier again, or to
    lose some of them that nobody ``follows``.
    """
    changed = _REROUTING & _differing(step).keys() if step.op is Op.CHANGE else frozenset[str]()
    if step.op is Op.DELETE or changed - _HOPS:
        return True
    if not changed or step.before is None:
        return False
    before, then = _hops(step.before.attrs), _hops(step.object.attrs)
    lost = [hop for hop in before if not _is_among(hop, then)]
    return bool(lost) if len(before) == 1 else any(map(follows, lost))


def _hops(attrs: Attrs) -> Sequence[Attrs]:
    """The ways of a route or a group of nexthops; that of another is itself one."""
    return records(attrs, "nexthops") or records(attrs, "group") or (attrs,)


def _is_among(hop: Attrs, others: Sequence[Attrs]) -> bool:
    """Whether a way is one of some; which link leads to a gateway need not be said."""
    said = hop.get("id"), hop.get("via")
    return any((one.get("id"), one.get("via")) == said and one.get("dev") in (None, hop.get("dev")) for one in others)


def is_followed(hop: Attrs, way: Way, nexthops: Mapping[Key, Object]) -> bool:
    """Whether ``way`` may go by one of several ways, which may be one of the ``nexthops``; anywhere leads by all."""
    member = nexthops.get((hop.get("id"),))
    attrs = member.attrs if member else hop
    same = attrs.get("dev") in (None, way.link) and attrs.get("via") in (None, way.route.gateway or way.to)
    return same or way.anywhere


def _differing(step: Step) -> Attrs:
    """What a step says that is not so already."""
    before = step.before.attrs if step.before else NOTHING
    return {name: value for name, value in step.attrs.items() if not same(name, value, before.get(name))}


def vrf_of(link: Object | None, vrfs: Container[str]) -> str:
    """Which of ``vrfs`` a link is or belongs to; "" for none."""
    master = str(link.attrs.get("master") or "") if link else ""
    return next((name for name in (link.name if link else "", master) if name and name in vrfs), "")


class Detours:
    """Finds the steps that lead a way's packets elsewhere; ``leads`` tells how a VRF or link reaches an address.

    ``around`` tells the routes of whoever in a table to networks that hold an address.
    None is found where the goal is ``accepted`` already: an uplink that has come back takes over from its stand-in.
    So it does where the goal is in effect and asked for ``again``, of which the rest may be what somebody has changed.
    """

    def __init__(
        self,
        goal: State,
        leads: Callable[[str, str], Route | None],
        around: Callable[[str, int], Sequence[Object]],
        *,
        accepted: bool = False,
        again: bool = False,
    ) -> None:
        self._goal = goal
        self._leads = leads
        self._around = around
        self._accepted = accepted
        self._returning = _RETURNING if again else frozenset[str]()
        self._missed: dict[tuple[Way, int], bool] = {}

    def takes(self, step: Step, way: Way) -> bool:
        """Whether the packets of ``way`` would follow what ``step`` makes, or lose what they follow by it."""
        obj = step.object
        accepted = self._accepted or (step.op is Op.CREATE and obj.cls in self._returning)
        if accepted or obj.cls not in _LEADING or not way.to or not way.link:
            return False
        if obj.cls == "route":
            return obj.key[0] == way.family and (self._loses(step, way) or self._makes_better(step, way))
        if obj.cls == "address":
            return self._is_nearer(obj, way) if step.op is Op.CREATE else self._loses_prefix(obj, way)
        if step.op is Op.CHANGE and not stands_beside(_differing(step)):
            return False
        return self._misses_before(step, way) or (step.after is not None and self._outrules(step.after, way))

    def replaced(self, step: Step) -> bool:
        """Whether ``step`` deletes a route in place of which another to the same destination leads the same way."""
        gone = step.object
        if gone.cls != "route" or step.op is not Op.DELETE:
            return False
        others = (route for route in self._goal.of("route").values() if route.key[:4] == gone.key[:4])
        best = min(others, key=lambda route: _number(route.key[4]), default=None)
        if best is None:
            return False
        want, have = {**_PLAIN, **best.attrs}, {**_PLAIN, **gone.attrs}
        return all(same(name, want[name], have.get(name)) for name in _REROUTING & want.keys())

    def _loses(self, step: Step, way: Way) -> bool:
        """Whether a step takes away the route in use, or leads it elsewhere."""
        _, table, destination, tos, metric = step.object.key
        used = way.route
        placed = (table, tos, metric, length_of(destination)) == (used.table, 0, used.metric, used.length)
        if not placed or not way.is_in(destination):
            return False
        led_away = leads_away(step, follows=lambda hop: is_followed(hop, way, {}))
        return _ends_at_router(step.attrs, way) or (led_away and not self._is_covered(step, way))

    def _is_covered(self, step: Step, way: Way) -> bool:
        """Whether in place of a route that goes the next one leads the same way, and stays.

        The kernel's own, which goes with an address, is that of the address which the way leaves with.
        """
        return step.op is Op.DELETE and not way.anywhere and self._is_led_anyway(way)

    def _is_led_anyway(self, way: Way, *coming: Object) -> bool:
        """Whether without the route in use the next one leads the same way, of those that stay and are ``coming``."""
        used, ours = way.route, self._goal.of("route")
        others = (route for route in self._around(way.to, used.table) if not route.key[3])
        staying = (route for route in others if UNOWNED in route.attrs or route.key in ours)
        left = [*(route for route in staying if _rank(route) != (used.length, -used.metric)), *coming]
        best = max(left, key=_rank, default=None)
        if best is None or best.attrs.get("src") not in (None, used.source):
            return False
        return self._hops_of(best, way) == {way.link} and not self._leads_elsewhere(best, way)

    def _loses_prefix(self, had: Object, way: Way) -> bool:
        """Whether the route in use is that of the prefix of an address which stays, and does not lead there then."""
        want, used, prefix = self._goal.of("address").get(had.key), way.route, str(had.key[2] or had.key[1])
        aside = want is None or way.anywhere or used.gateway or (way.link, used.length) != (had.name, length_of(prefix))
        if want is None or aside or not way.is_in(prefix):
            return False
        attrs = {**had.attrs, **want.attrs}
        metric = _number(attrs.get("metric")) or _PREFIX_METRIC[way.family]
        if metric == used.metric and not attrs.get("noprefixroute"):
            return False
        route = Object("route", (way.family, used.table, prefix, 0, metric), {"dev": way.link})
        instead = self._routes(used.table, way)
        return not self._is_led_anyway(way, *instead, *(() if attrs.get("noprefixroute") else (route,)))

    def _hops_of(self, route: Object, way: Way) -> set[str]:
        """The links that a route leads by."""
        return {self._link_of(hop, way.vrf) for hop in self._hops(route.attrs)}

    def _makes_better(self, step: Step, way: Way) -> bool:
        route = step.after
        if route is None:
            return False
        return _hides_source(route, way) or (self._outranks(route, way) and self._leads_elsewhere(route, way))

    def _outranks(self, route: Object, way: Way) -> bool:
        _, table, destination, tos, metric = route.key
        # To the table in use; of IPv4 the two are one until there is a rule.
        leads_on = route.attrs.get("type") == "throw" and way.family == "inet6"
        asked_first = table == TABLES["local"] != way.route.table and not leads_on
        better = asked_first or (table == way.route.table and _is_closer(destination, _number(metric), way))
        return better and not tos and way.is_in(destination)

    def _leads_elsewhere(self, route: Object, way: Way) -> bool:
        attrs = route.attrs
        if attrs.get("type", "unicast") != "unicast" or _ends_at_router(attrs, way):
            return True
        return all(self._hop_leads_elsewhere(hop, way) for hop in self._hops(attrs))

    def _hop_leads_elsewhere(self, hop: Attrs, way: Way) -> bool:
        link, encap = self._link_of(hop, way.vrf), hop.get("encap")
        wrapped = isinstance(encap, Mapping) and encap.get("type") not in _AS_IT_IS
        strange = link == way.link and self._is_strange(str(hop.get("via") or ""), way)
        return bool(hop.get("blackhole")) or wrapped or strange or link not in ("", way.link)

    def _is_strange(self, via: str, way: Way) -> bool:
        """Whether that is another neighbour on the same link: none need know the way, nor answer for who is behind."""
        next_one = way.route.gateway or way.to
        if via == next_one or (not via and not way.route.gateway):
            return False
        told_apart = bool(way.route.gateway or way.route.lladdr)
        other = self._leads(via, way.link) if via and told_apart else None
        return told_apart and not (other and other.lladdr and other.lladdr == way.route.lladdr)

    def _hops(self, way: Attrs) -> Iterator[Attrs]:
        """Where a route, or one of several ways or members, leads in the end; nothing for what no file says."""
        if number := way.get("nhid") or way.get("id"):
            nexthop = self._goal.of("nexthop").get((number,))
            yield from self._hops(nexthop.attrs) if nexthop else (NOTHING,)
        elif several := (*records(way, "nexthops"), *records(way, "group")):
            for one in several:
                yield from self._hops(one)
        else:
            yield way

    def _link_of(self, hop: Attrs, vrf: str) -> str:
        """The link that a hop leaves by, "" where nothing tells."""
        if hop.get("dev"):
            return str(hop["dev"])
        via = str(hop.get("via") or "")
        led = self._leads(via, vrf) if via else None
        return led.link if led else ""

    def _is_nearer(self, address: Object, way: Way) -> bool:
        """Whether an address is where the way leads, or makes that one for all of a link, or its subnet holds it."""
        if self._vrf_of(address.name) != way.vrf:
            return False
        link = self._goal.link(address.name)  # one that is down has the address of IPv4, and no way by it
        down = link is not None and link.attrs.get("up") is False
        if not way.anywhere and plain_address(address.key) == way.to:
            return not down or way.family == "inet"
        if down:
            return False
        if not way.anywhere and not _for_all(address).isdisjoint((way.to, way.route.gateway)):
            return True
        prefix = str(address.key[2] or address.key[1])
        aside = (address.name == way.link and not way.route.gateway) or bool(address.attrs.get("noprefixroute"))
        metric = _number(address.attrs.get("metric")) or _PREFIX_METRIC[way.family]
        return not aside and _is_closer(prefix, metric, way) and way.is_in(prefix)

    def _vrf_of(self, name: str) -> str:
        link = self._goal.link(name)
        places = (name, str(link.attrs.get("master"))) if link else ()
        return vrf_of(link, [place for place in places if kind_of(self._goal.link(place)) == "vrf"])

    def _misses_before(self, step: Step, way: Way) -> bool:
        """Whether without the rule that was there the packets would not get to the table of the route in use."""
        rule = step.before
        if rule is None or not leads_to_table(rule, way):
            return False
        return self._is_missed(way, 0)

    def _is_missed(self, way: Way, first: int) -> bool:
        """Whether from a preference on no rule leads to the table of the route in use, or another in front of it."""
        if (way, first) not in self._missed:
            self._missed[way, first] = False  # for what comes round to it, which the kernel takes no rule for
            self._missed[way, first] = self._looked_through(way, first)
        return self._missed[way, first]

    def _looked_through(self, way: Way, first: int) -> bool:
        for other in self._rules_in_turn[bisect_left(self._rules_in_turn, first, key=_pref) :]:
            if leads_to_table(other, way):
                return False
            if self._rules(other, way):
                return True
        return first > _MAIN_RULE or way.route.table not in TABLES.values()

    def _leads_past(self, rule: Attrs, way: Way) -> bool:
        """Whether a rule has packets go on behind that for the route in use; to where no rule is, it does not."""
        target = _number(rule.get("goto"))
        if (way.family, target) not in self._preferences:
            return False
        return target > _RULE_OF_VRFS if way.vrf else self._is_missed(way, target)

    @cached_property
    def _preferences(self) -> frozenset[tuple[Value, int]]:
        there = {(rule.key[0], _pref(rule)) for rule in self._rules_in_turn}
        return frozenset(there | {(family, _LAST_RULE) for family in _PREFIX_METRIC})

    def _outrules(self, rule: Object, way: Way) -> bool:
        """Whether a rule leads the packets elsewhere before any leads them to the route in use."""
        if not self._rules(rule, way):
            return False
        before = takewhile(lambda other: other in _OF_KERNEL or _pref(other) < _pref(rule), self._rules_in_turn)
        return not any(leads_to_table(other, way) for other in before)

    @cached_property
    def _rules_in_turn(self) -> list[Object]:
        """Those of the goal, and the kernel's own that leads to the main table, as they are asked."""
        return sorted((*_OF_KERNEL, *self._goal.of("rule").values()), key=_pref)

    def _rules(self, rule: Object, way: Way) -> bool:
        """Whether a rule leads the packets elsewhere, or nowhere, or those of the other end before they are here."""
        family, pref, _ = rule.key
        if family != way.family or (way.vrf and _number(pref) >= _RULE_OF_VRFS):
            return False
        comes = way.vrf and way.session.peer and way.route.source
        return self._misleads(rule.attrs, way) or (bool(comes) and self._diverts(rule.attrs, way.coming()))

    def _misleads(self, attrs: Attrs, way: Way) -> bool:
        """Whether a rule leads what is sent elsewhere, or nowhere."""
        if not selects(attrs, way):
            return False
        if attrs.get("action") in _NOWHERE or self._leads_past(attrs, way):
            return True
        found = self._found(attrs, way)
        return found is not None and self._leads_elsewhere(found, way)

    def _diverts(self, attrs: Attrs, coming: Way) -> bool:
        """Whether a rule keeps what comes from being taken for what is to stay here."""
        if not selects(attrs, coming):
            return False
        found = self._found(attrs, coming)
        return attrs.get("action") in _NOWHERE or (found is not None and found.attrs.get("type") != "local")

    def _found(self, attrs: Attrs, way: Way) -> Object | None:
        """The route that a rule has the packets follow out of another table than that in use."""
        table = attrs.get("lookup")
        if not isinstance(table, int) or table == way.route.table:
            return None
        found = max(self._routes(table, way), key=_rank, default=None)
        hidden = attrs.get("suppress_prefixlength")
        if found is None or (isinstance(hidden, int) and length_of(found.key[2]) <= hidden):
            return None
        return None if found.attrs.get("type") == "throw" else found

    def _routes(self, table: int, way: Way) -> Iterator[Object]:
        for route in self._goal.of("route").values():
            if route.key[1] == table and route.key[0] != "mpls" and not route.key[3] and way.is_in(route.key[2]):
                yield route


def _rank(route: Object) -> tuple[int, int]:
    """The place of a route among those of a table that hold an address: the highest is followed."""
    return length_of(route.key[2]), -_number(route.key[4])


def _is_closer(prefix: Value, metric: int, way: Way) -> bool:
    """Whether a route to ``prefix`` comes before the one in use."""
    return (-length_of(prefix), metric) < (-way.route.length, way.route.metric)


def _ends_at_router(attrs: Attrs, way: Way) -> bool:
    return attrs.get("hoplimit") == 1 and way.is_routed


def _hides_source(route: Object, way: Way) -> bool:
    """Whether a route comes in front of the one by which what is sent to the way's own address is taken in here."""
    family, *place = route.key
    table = way.route.table if way.vrf else TABLES["local"]
    own = family == "inet" and place == [table, f"{way.route.source}/32", 0, 0]
    return own and route.attrs.get("type", "unicast") not in _TAKEN_HERE


def _for_all(address: Object) -> set[str]:
    """The addresses that mean all of a link then: the one that is said, and the last of the subnet."""
    network, length = split_prefix(str(address.key[2] or address.key[1]))
    if len(network) != _V4_BYTES:
        return set()
    said = address.attrs.get("broadcast")
    found = {str(said)} if said else set()
    if length < _LEAST_OF_ALL and not address.attrs.get("noprefixroute"):
        last = int.from_bytes(network, "big") | (1 << (32 - length)) - 1
        found.add(ip_text(last.to_bytes(_V4_BYTES, "big")))
    return found


def _pref(rule: Object) -> int:
    return _number(rule.key[1])


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
