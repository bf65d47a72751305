# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wanted, without what has to wait for links that are not there.

A link without a kind is made by somebody else: a driver, or another program.
Until it comes it cannot be configured, and what stands on it cannot be made;
all the rest can.
"""

from collections.abc import Container, Iterable, Iterator, Mapping

from netgroupd.model.address import plain_address
from netgroupd.model.route import as_kept
from netgroupd.model.state import Attrs, Key, Object, State, records
from netgroupd.model.value import ip_bytes, split_prefix
from netgroupd.plan.compare import row_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.fold import fold_names
from netgroupd.plan.reach import closure
from netgroupd.plan.tc.hooks import blocks_of

_MASTER = "master"
_WAY = "dev"  # of a tunnel
_IN_USE = "active_slave"  # until it comes a bond uses another port


def without_absent(desired: State, actual: State) -> tuple[State, frozenset[str], tuple[str, ...]]:
    """The part of ``desired`` that can be had now, the links that are not there, and a warning for what waits."""
    want, have = desired.of("link"), actual.of("link")
    if want.keys() <= have.keys():  # at C speed where all are there
        return desired, frozenset(), ()
    absent = [link.name for key, link in want.items() if not link.attrs.get("kind") and key not in have]
    if not absent:
        return desired, frozenset(), ()
    attainable = without_links(desired, absent, actual)
    drop_unreachable(attainable, desired)
    waiting = len(desired) - len(attainable) - len(absent)
    comes, them = ("they come", "them") if len(absent) > 1 else ("it comes", "it")
    on_them = f" and {waiting} {'objects' if waiting > 1 else 'object'} on {them}" if waiting else ""
    told = f"not there yet, and configured when {comes}: {' '.join(fold_names(absent))}{on_them}"
    return attainable, frozenset(absent), (told,)


def without_links(desired: State, names: Iterable[str], actual: State) -> State:
    """``desired`` without the links called ``names`` and all that stands on them."""
    missing = standing_on(names, desired.of("link"), actual.of("link"))
    missing |= _empty_blocks(missing, desired, actual) | _shared_actions(missing, desired)
    return desired.having(**{cls: dict(_left(cls, desired, missing)) for cls in desired.classes})


def _empty_blocks(missing: frozenset[str], desired: State, actual: State) -> frozenset[str]:
    """The shared blocks that no link is in until one of the missing ones comes, and that can have no rules before."""
    waiting = {key: qdisc for key, qdisc in desired.of("qdisc").items() if qdisc.name in missing}
    others = {key: qdisc for key, qdisc in actual.of("qdisc").items() if qdisc.attrs.get("in_use")}  # the rest goes
    there = {**others, **desired.of("qdisc")}
    shared = {block for key, qdisc in there.items() if key not in waiting for block in blocks_of(qdisc)}
    return frozenset(name for qdisc in waiting.values() for name, _ in blocks_of(qdisc) - shared)


def _shared_actions(missing: frozenset[str], desired: State) -> frozenset[str]:
    """The actions that stand by themselves and lead to missing links, as rules name them."""
    actions = desired.of("action").values()
    return frozenset(f"{obj.key[0]} {obj.key[1]}" for obj in actions if missing.intersection(_needed_by_actions(obj)))


def _needed_by_actions(obj: Object) -> Iterator[str]:
    """The links that the actions of a rule lead to, and what they are called, which no link is."""
    for action in records(obj.attrs, "actions"):
        yield from (str(action[field]) for field in ("kind", "dev") if field in action)


def standing_on(names: Iterable[str], links: Mapping[Key, Object], there: Container[Key] = ()) -> frozenset[str]:
    """The links called ``names``, and all that cannot be without one of them; some are ``there`` already."""
    above: dict[str, list[str]] = {}
    for link in links.values():
        for field, lower in named_by(link.attrs):
            if not _can_do_without(link, field, there):
                above.setdefault(lower, []).append(link.name)
    return closure(names, above)


def _can_do_without(link: Object, field: str, there: Container[Key]) -> bool:
    if field == _WAY:
        return link.key in there  # a new one would send by whichever link there is, if it can be made at all
    row = row_of(link, field)
    return field == _IN_USE or (row is not None and row.nullable)


def named_by(attrs: Attrs) -> Iterator[tuple[str, str]]:
    """The attributes of a link that name another one."""
    for field in ("link", _WAY, "slave1", "slave2", "interlink", _MASTER, "primary", _IN_USE, "port.backup_port"):
        if attrs.get(field):
            yield field, str(attrs[field])


def _left(cls: str, desired: State, missing: frozenset[str]) -> Iterator[tuple[Key, Object]]:
    for key, obj in desired.of(cls).items():
        if cls == "link":
            if obj.name not in missing:
                yield key, _detached(obj, missing)
        elif cls == "route" and obj.attrs.get("nexthops"):
            hops = tuple(hop for hop in records(obj.attrs, "nexthops") if hop.get("dev") not in missing)
            if hops:
                yield key, obj._replace(attrs=as_kept({**obj.attrs, "nexthops": hops}))
        elif missing.isdisjoint(hangs_on(obj)) and missing.isdisjoint(_needed_by_actions(obj)):
            yield key, obj


def _detached(link: Object, missing: frozenset[str]) -> Object:
    """``link`` without the missing links that it can do without."""
    gone = {field for field, name in named_by(link.attrs) if name in missing}
    if not gone:
        return link
    if _MASTER in gone:
        gone |= {field for field in link.attrs if field.startswith("port.")}
    return link.without(*gone)


def drop_unreachable(attainable: State, desired: State) -> None:
    """Leave out what goes by way of an address or a nexthop that waits; of a group what is left goes by the others."""
    gone = {str(key[0]) for key in desired.of("nexthop").keys() - attainable.of("nexthop").keys()}
    for key, obj in list(attainable.of("nexthop").items()) if gone else ():
        members = tuple(records(obj.attrs, "group"))
        left = tuple(member for member in members if str(member.get("id")) not in gone)
        if members and not left:
            gone.add(str(key[0]))
        elif len(left) < len(members):
            attainable.add(obj.having({"group": left}))
    waiting = desired.of("address").keys() - attainable.of("address").keys()
    sources = set(map(plain_address, waiting))
    networks = networks_of(waiting) - networks_of(attainable.of("address"))
    sizes = {(bits, length) for bits, length, _ in networks}  # few, however many networks there are

    def stays(cls: str, key: Key, obj: Object) -> bool:
        if cls == "nexthop":
            return str(key[0]) not in gone
        if str(obj.attrs.get("nhid")) in gone or str(obj.attrs.get("src")) in sources:
            return False
        via = None if obj.attrs.get("dev") else obj.attrs.get("via")
        if via is None:
            return True
        gateway = ip_bytes(str(via))
        around = (network_of(gateway, length) for bits, length in sizes if bits == len(gateway) * 8)
        return networks.isdisjoint(around)

    for cls in ("nexthop", "route"):
        if cls in attainable.classes:
            attainable.classes[cls] = {key: obj for key, obj in attainable.of(cls).items() if stays(cls, key, obj)}


def networks_of(addresses: Iterable[Key]) -> set[tuple[int, int, int]]:
    """The networks that links with these addresses are in."""
    found = set()
    for _, address, peer in addresses:
        payload, length = split_prefix(str(address))
        found.add(network_of(ip_bytes(str(peer)) if peer else payload, length))
    return found


def network_of(address: bytes, length: int) -> tuple[int, int, int]:
    """The network of that prefix length which holds an address: the bits of either, and the prefix."""
    bits = len(address) * 8
    return bits, length, int.from_bytes(address, "big") >> (bits - length)
