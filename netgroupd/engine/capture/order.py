# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order a capture writes what is there: one that is the same on each host, and gives the same host."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from netgroupd.model.link import WITH_LINK
from netgroupd.model.state import Object, State
from netgroupd.plan.tc.hooks import ROOT
from netgroupd.plan.tc.turns import by_mask

_ON_LINKS = (WITH_LINK - {"sysctl"}) | {"qdisc", "tclass", "filter", "chain"}
_NUMBERED = re.compile(r"([^0-9]*)([0-9]*)")


def in_order(actual: State) -> State:
    """The links, and what is on them, by the links' names: the kernel's order is that in which they were made.

    What it keeps in a hash table it tells in another order on each host.
    """
    ordered = State(groups=actual.groups)
    for cls, found in actual.classes.items():
        by = _ORDERS.get(cls, _by_name if cls in _ON_LINKS else None)
        objects = sorted(found.values(), key=by) if by else found.values()
        # Where the kernel makes rules on all CPUs at once, those of one mask come as it happens.
        told = by_mask(objects, _by_match) if cls == "filter" else objects
        ordered.classes[cls] = {obj.key: obj for obj in told}
    return ordered


def _pairs(rule: Object) -> Iterator[tuple[Any, ...]]:
    """What a rule matches, by name; what no file can say is told otherwise."""
    match = rule.key[4]
    assert isinstance(match, tuple)
    return (pair for pair in match if isinstance(pair, tuple))


def _by_name(obj: Object) -> tuple[object, ...]:
    """The numbers in a name by size."""
    return _sizes(obj.name)


def _by_key(obj: Object) -> tuple[object, ...]:
    return tuple(_sizes(str(part)) for part in obj.key)


def _by_parent(qdisc: Object) -> tuple[object, ...]:
    return _by_name(qdisc), qdisc.key[1] != ROOT, _sizes(str(qdisc.key[1]))


def _by_chain(rule: Object) -> tuple[object, ...]:
    """Chains by number, for the kernel has them as they came; hash tables of a preference before what is in them."""
    _, parent, chain, pref, _ = rule.key
    place = dict(_pairs(rule)) if rule.attrs.get("kind") == "u32" else {}
    table = place.get("table", 0)
    return _by_name(rule), _sizes(str(parent)), chain, pref, table, "divisor" not in place, place.get("bucket", 0)


def _by_match(rule: Object) -> tuple[object, ...]:
    return _sizes(str(rule.key[4]))


def _by_address(entry: Object) -> tuple[object, ...]:
    _, mac, vlan, where, dst, src_vni = entry.key
    return _by_name(entry), where, mac, vlan, src_vni or 0, _sizes(str(dst or ""))


def _sizes(text: str) -> tuple[object, ...]:
    return tuple((letters, int(number or 0)) for letters, number in _NUMBERED.findall(text))


_ORDERS: Mapping[str, Callable[[Object], Any]] = {
    "link": _by_name,
    "neighbour": _by_key,
    "mdb": _by_key,
    "filter": _by_chain,
    "chain": _by_key,
    "qdisc": _by_parent,
    "tclass": _by_key,
    "fdb": _by_address,
}


def as_added(objects: Iterable[Object]) -> list[Object]:
    """Objects on links in the order in which they came: the kernel tells the last one of IPv6 first."""
    found = list(objects)
    ipv6 = [obj for obj in found if obj.cls == "address" and ":" in str(obj.key[1])]
    return [*(obj for obj in found if obj.cls != "address" or ":" not in str(obj.key[1])), *reversed(ipv6)]
