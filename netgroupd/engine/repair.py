# SPDX-License-Identifier: GPL-2.0-or-later
"""(applied, actual, links) -> a goal that brings back these links and leaves everything else as it is."""

from collections.abc import Iterator, Mapping

from netgroupd.model.route import MAIN_TABLE
from netgroupd.model.state import Object, State, records
from netgroupd.model.value import Value, ip_bytes
from netgroupd.plan.absent import named_by
from netgroupd.plan.gateways import Gateways

_ALWAYS = ("kind", "group", "link", "master")


class Belonging:
    """The link that each object is or belongs to; "" where it belongs to none."""

    def __init__(self, applied: State) -> None:
        self._applied = applied
        self._gateways = Gateways(applied)

    def link_of(self, obj: Object) -> str:
        """The link of an object; what names none, and goes by way of a gateway, goes by the one with its subnet."""
        return next(self.links_of(obj), "")

    def links_of(self, obj: Object) -> Iterator[str]:
        """The link of an object, and the others that it goes by."""
        if obj.cls in ("route", "nexthop"):
            yield from filter(None, self._by_way_of(obj.attrs, obj.key[1] if obj.cls == "route" else MAIN_TABLE))
        else:
            yield self._named(obj)

    def _named(self, obj: Object) -> str:
        if obj.cls == "sysctl":
            parts = obj.name.split("/")
            return parts[3] if len(parts) > 4 else ""
        return "" if obj.cls == "rule" else obj.name

    def _by_way_of(self, way: Mapping[str, Value], table: Value) -> Iterator[str]:
        if dev := way.get("dev"):
            yield str(dev)
        elif via := way.get("via"):
            yield self._towards(ip_bytes(str(via)), table)
        elif nexthop := self._applied.of("nexthop").get((way.get("nhid") or way.get("id"),)):
            yield from self._by_way_of(nexthop.attrs, MAIN_TABLE)
        for hop in (*records(way, "nexthops"), *records(way, "group")):
            yield from self._by_way_of(hop, table)

    def _towards(self, gateway: bytes, table: Value) -> str:
        network = self._gateways.network(gateway, table)
        return network.links[-1] if network else ""


def _as_it_is(obj: Object, applied: State) -> Object:
    """``obj``, but of a link what nobody asks for: that may follow from links which are brought back."""
    if obj.cls != "link":
        return obj
    said = applied.link(obj.name)
    names = said.attrs if said else _ALWAYS
    return obj._replace(attrs={name: obj.attrs[name] for name in names if name in obj.attrs})


def _with_what_they_need(links: frozenset[str], applied: State, actual: State) -> frozenset[str]:
    """``links``, and those below and above them that are gone: without these they cannot be brought back."""
    found, waiting = set(links), list(links)
    while waiting:
        link = applied.link(waiting.pop())
        for _, name in named_by(link.attrs) if link else ():
            if name not in found and applied.link(name) and not actual.link(name):
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def only(applied: State, actual: State, links: frozenset[str]) -> State:
    """What was applied where it is about ``links``, and elsewhere what there is."""
    links = _with_what_they_need(links, applied, actual)
    link_of = Belonging(applied).link_of
    goal = State((_as_it_is(obj, applied) for obj in actual if link_of(obj) not in links), applied.groups)
    for obj in applied:
        have = actual.of(obj.cls).get(obj.key)
        # The kernel knows the link of more than the files tell.
        if link_of(obj) in links or (have and link_of(have) in links):
            goal.add(obj)
    return goal
