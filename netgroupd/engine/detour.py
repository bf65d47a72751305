# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan adds that packets would then follow instead of the way they take now.

A route or an address of a longer prefix or a lower metric outranks the route in
use, and a rule before it may lead to another table or nowhere.  What selects by
marks, users or sockets is taken not to mean these packets.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from netgroupd.model.state import NOTHING, Attrs, Object, State
from netgroupd.model.value import Value, ip_bytes, split_prefix
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Op, Step

_MAIN_RULE = 32766
_OF_OTHERS = frozenset({"iif", "oif", "fwmark", "uidrange", "tun_id", "l3mdev", "tos"})
_LEADING = frozenset({"route", "rule", "address"})
_NOWHERE = frozenset({"blackhole", "unreachable", "prohibit"})


class Way(NamedTuple):
    """How a packet leaves: whose way it is, the link, the source, where to, and the route in use."""

    whose: str
    link: str
    source: str
    to: str = ""
    table: int = 254
    length: int = 0
    metric: int = 0
    nexthop: int = 0


class Detours:
    """Finds the steps that lead a way's packets elsewhere; ``leads`` tells by which link an address is reached."""

    def __init__(self, goal: State, leads: Callable[[str], str]) -> None:
        self._goal = goal
        self._leads = leads

    def takes(self, step: Step, way: Way) -> bool:
        """Whether the packets of ``way`` would follow what ``step`` makes."""
        obj = step.after
        if obj is None or obj.cls not in _LEADING or not way.to or not way.link:
            return False
        if obj.cls == "route":
            return obj.key[0] != "mpls" and self._outranks(obj, way) and self._leads_elsewhere(obj, way)
        if step.op is not Op.CREATE:
            return False
        return self._is_nearer(obj, way) if obj.cls == "address" else self._rules(obj, way)

    def _outranks(self, route: Object, way: Way) -> bool:
        _, table, destination, _, metric = route.key
        length = _length(destination)
        better = length > way.length or (length == way.length and _number(metric) < way.metric)
        return table == way.table and better and _contains(destination, way.to)

    def _leads_elsewhere(self, route: Object, way: Way) -> bool:
        attrs = route.attrs
        if attrs.get("type", "unicast") != "unicast":
            return True
        hops = attrs.get("nexthops") or (attrs,)
        assert isinstance(hops, tuple)
        return all(self._link_of(hop) not in ("", way.link) for hop in hops if isinstance(hop, Mapping))

    def _link_of(self, hop: Mapping[str, Value]) -> str:
        """The link that a hop leaves by, "" where nothing tells."""
        if hop.get("nhid"):
            nexthop = self._goal.of("nexthop").get((hop["nhid"],))
            hop = nexthop.attrs if nexthop else NOTHING
        if hop.get("dev"):
            return str(hop["dev"])
        via = str(hop.get("via") or "")
        return self._leads(via) if via else ""

    def _is_nearer(self, address: Object, way: Way) -> bool:
        """Whether the subnet of an address on another link holds where the way leads."""
        prefix = str(address.key[2] or address.key[1])
        master = self._goal.link(str(self._attrs(address.name).get("master")))
        aside = address.name == way.link or bool(address.attrs.get("noprefixroute")) or kind_of(master) == "vrf"
        return not aside and _length(prefix) > way.length and _contains(prefix, way.to)

    def _attrs(self, link: str) -> Attrs:
        found = self._goal.link(link)
        return found.attrs if found else NOTHING

    def _rules(self, rule: Object, way: Way) -> bool:
        family, pref, _ = rule.key
        attrs = rule.attrs
        if (family == "inet6") != (":" in way.to) or _number(pref) >= _MAIN_RULE or not _selects(attrs, way):
            return False
        if attrs.get("action", "lookup") in _NOWHERE:
            return True
        table = attrs.get("lookup")
        if not isinstance(table, int) or table == way.table:
            return False
        found = max(self._routes(table, way.to), key=lambda route: _length(route.key[2]), default=None)
        hidden = attrs.get("suppress_prefixlength")
        if found is None or (isinstance(hidden, int) and _length(found.key[2]) <= hidden):
            return False
        return found.attrs.get("type") != "throw" and self._leads_elsewhere(found, way)

    def _routes(self, table: int, to: str) -> Iterator[Object]:
        for route in self._goal.of("route").values():
            if route.key[1] == table and route.key[0] != "mpls" and _contains(route.key[2], to):
                yield route


def _selects(attrs: Attrs, way: Way) -> bool:
    """Whether a rule is about packets of ``way``."""
    if any(attrs.get(name) for name in _OF_OTHERS):
        return False
    fits = all(
        not attrs.get(name) or (bool(address) and _contains(attrs[name], address))
        for name, address in (("from", way.source), ("to", way.to))
    )
    return fits != bool(attrs.get("not"))


@lru_cache(maxsize=16)  # the few ends of the ways, asked about for every new route
def _end(address: str) -> tuple[int, int]:
    payload = ip_bytes(address)
    return int.from_bytes(payload, "big"), len(payload) * 8


def _contains(prefix: Value, address: str) -> bool:
    network, length = split_prefix(str(prefix))
    end, bits = _end(address)
    return len(network) * 8 == bits and (int.from_bytes(network, "big") ^ end) >> (bits - length) == 0


def _length(prefix: Value) -> int:
    return split_prefix(str(prefix))[1]


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
