# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes of IPv4, IPv6 and MPLS: RTM_NEWROUTE, RTM_DELROUTE and dumps filtered by protocol.

Several IPv6 routes of one destination and metric are one object here, as they
are one route to who wrote them.  Of several IPv4 ones only the first is used.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping

from netgroupd.kernel import unsaid
from netgroupd.kernel.layer3.encap import pack_encap, pack_labels, unpack_encap, unpack_labels
from netgroupd.kernel.layer3.routes_along import routes_along
from netgroupd.kernel.layer3.routes_beside import again, takes_turns
from netgroupd.kernel.layer3.routes_identity import (
    DST,
    HEADER,
    LENGTH,
    PRIORITY,
    PROTOCOL,
    RTM_DELROUTE,
    RTM_GETROUTE,
    RTM_NEWROUTE,
    TABLE,
    identity,
    is_in_the_kernels_name,
    key_of,
    lengths_of,
)
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, nest, u8, u32
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, dump_of_family, goal, pack_row, pack_rows, paths_of, single, unpack_rows
from netgroupd.model.address import SCOPES
from netgroupd.model.family import BY_SIZE, FAMILIES, FAMILY_NAMES
from netgroupd.model.owner import PROTO
from netgroupd.model.route import BEHIND, CLASS, DEAD_ENDS, EXPIRES, METRICS, TYPES, WAY
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value, ip_bytes, ip_text
from netgroupd.plan.compare import UNOWNED, UNSAID, same
from netgroupd.plan.step import AnyStep, Op, Step

_HOP = struct.Struct("=HBBi")  # length, flags, weight - 1, ifindex

_OIF, _GATEWAY, _METRICS, _MULTIPATH = 4, 5, 8, 9
_CACHEINFO, _VIA, _NEWDST, _ENCAP_TYPE, _ENCAP, _EXPIRES, _TTL_PROPAGATE = 12, 18, 19, 21, 22, 23, 26
_LEFT = struct.Struct("=8xi")  # of rta_cacheinfo: when the route expires, in hundredths of a second
_CENTI = 100
_LOCK = 1
_ONLINK = 4
_CLONED = 0x200
_SCOPE_ANY = 255
_MADE_BY_OPERATORS = frozenset({PROTO, 3, 4})  # RTPROT_BOOT, RTPROT_STATIC
_OTHERS: Attrs = {}  # of a route of another program, which only matters for those behind and beside it
_PLAIN = tuple(CLASS.attrs[name] for name in ("src", "nhid", "realm", "pref", "ttl_propagate"))
_OF_A_HOP = (CLASS.attrs["realm"],)
_SCOPE_NAMES = {number: name for name, number in SCOPES.items()}
_TYPE_NAMES = {number: name for name, number in TYPES.items()}
_OF_THEIR_OWN = frozenset({"nexthops", "nhid"})  # beside these a route has no realm itself
_LED = WAY | {"type"}
_METRIC_NAMES = {row.wire: name for name, row in METRICS.items()}


def dump(context: Context, selection: Selection) -> list[Object]:
    """All routes that are netgroupd's; of ``everything``, also those that somebody has set."""
    if selection.nexthops:
        return routes_along(context, selection.nexthops)
    found: dict[Key, Object] = {}
    held = selection.held.get("route")
    protocol = 0 if selection.everything or held else PROTO

    wholes = [(name, family, b"") for name, family in FAMILIES.items()]
    parts = [(name, FAMILIES[name], u32(TABLE, table)) for name in ("inet", "inet6") for table in selection.tables]
    for name, family, told in parts or wholes:
        decode = _Decoder(held, everything=selection.everything)
        header = HEADER.pack(family, 0, 0, 0, 0, protocol, 0, 0, 0)
        asked = message.request(RTM_GETROUTE, message.NLM_F_DUMP, header, told)
        # A kernel without routes of a family answers for it with those of all others.
        routes = [each for each in dump_of_family(context, asked, decode, "dump of routes") if each.key[0] == name]
        found |= {key: Object("route", key, _OTHERS) for key in decode.behind_others if key[0] == name}
        for route in routes:
            first = found.setdefault(route.key, route)
            if first is route or held:  # of several that are in the way the first is the one that is replaced
                continue
            if first.attrs is route.attrs is _OTHERS:
                continue
            if name == "inet6" or not selection.everything:
                found[route.key] = _joined(first, route)
            elif route.attrs is not _OTHERS:
                apart = _apart(route)
                found[apart.key] = apart
    return [route for route in found.values() if route.attrs is not _OTHERS]


class _Decoder:
    """Reads routes; of other programs', which may be a million, only those behind and beside what counts.

    The kernel tells the routes of one key in a row; ``behind_others`` are keys of which another program's comes first.
    """

    def __init__(self, held: frozenset[Key] | None, *, everything: bool) -> None:
        self._held = held
        self._lengths = lengths_of(held or ())
        self._everything = everything
        self._row: Key = ()
        self._is_theirs = False
        self.behind_others: set[Key] = set()

    def __call__(self, payload: memoryview, names: Names) -> Object | None:
        if self._held and payload[LENGTH] not in self._lengths:
            return None
        route = _decode(payload, names, self._held, everything=self._everything)
        if route is None:
            return None
        theirs = route.attrs is _OTHERS
        if route.key != self._row:
            self._row, self._is_theirs = route.key, theirs
            return None if theirs else route
        if self._is_theirs and not theirs:
            self.behind_others.add(route.key)
        return route


def _apart(route: Object) -> Object:
    """A route behind another one of its key, under a key that no file has, with where it leads for telling it."""
    family, table, destination, *rest = route.key
    attrs = route.attrs
    ways = (way for way in _hops_of(attrs) if isinstance(way, Mapping))
    words = (f" {name} {way[name]}" for way in ways for name in ("via", "dev") if name in way)
    kind = "" if attrs["type"] == "unicast" else f"{attrs['type']} "
    return Object("route", (family, table, f"{kind}{destination}{''.join(words)}", *rest), {BEHIND: True})


def _joined(first: Object, second: Object) -> Object:
    """Two routes of one key as one with the next hops of both."""
    hops = (*_hops_of(first.attrs), *_hops_of(second.attrs))
    rest = {name: value for name, value in first.attrs.items() if name not in ("via", "dev", "onlink", "encap")}
    return first._replace(attrs={**rest, "nexthops": hops})


def _hops_of(attrs: Attrs) -> tuple[Value, ...]:
    hops = attrs.get("nexthops")
    if isinstance(hops, tuple):
        return hops
    hop = {name: attrs[name] for name in ("via", "dev", "encap") if name in attrs}
    return ({**hop, "weight": 1, "onlink": bool(attrs.get("onlink"))},)


def _decode(
    payload: memoryview,
    names: Names,
    held: frozenset[Key] | None = None,
    *,
    everything: bool = False,
    protocols: frozenset[int] = _MADE_BY_OPERATORS,
) -> Object | None:
    family, *_, protocol, scope, kind, flags = HEADER.unpack_from(payload)
    if flags & _CLONED or family not in FAMILY_NAMES:
        return None
    counts = protocol != PROTO if held else protocol in protocols
    if not (counts or everything or held):
        return None
    found = attributes(payload, HEADER.size)
    key = key_of(payload, found)
    if held and key not in held:
        return None
    if not (counts or (everything and is_in_the_kernels_name(payload, key))):
        return Object("route", key, _OTHERS)
    attrs: dict[str, Value] = {"scope": _SCOPE_NAMES.get(scope, scope), **_read_attrs(found, kind, flags, names)}
    if protocol != PROTO:
        attrs[UNOWNED] = protocol
    if everything and _has_unsaid(found):
        attrs[UNSAID] = True
    return Object("route", key, attrs)


def of_others(payload: memoryview, names: Names) -> Object | None:
    """The route of a message with all that it has, whoever made it."""
    return _decode(payload, names, everything=True, protocols=frozenset((payload[PROTOCOL],)))


def _has_unsaid(found: Mapping[int, memoryview]) -> bool:
    hops = _each_hop(found[_MULTIPATH]) if _MULTIPATH in found else ()
    return unsaid.of_route(found) or any(unsaid.of_way(inside) for *_, inside in hops)


def _read_attrs(found: Mapping[int, memoryview], kind: int, flags: int, names: Names) -> dict[str, Value]:
    word = _TYPE_NAMES.get(kind, kind)
    attrs: dict[str, Value] = {"type": word}
    attrs |= unpack_rows(_PLAIN, found, names)
    if "nhid" in attrs:
        # The way is the nexthop's, though the kernel tells it again, even that it is a blackhole.
        attrs["type"] = "unicast" if word == "blackhole" else word
    elif _MULTIPATH in found:
        attrs["nexthops"] = tuple(_read_hops(found[_MULTIPATH], names))
    elif word not in DEAD_ENDS:  # IPv6 says "dev lo" of routes that lead nowhere
        attrs |= _read_way(found, names) | {"onlink": bool(flags & _ONLINK)}
    if _METRICS in found:
        attrs |= _read_metrics(found[_METRICS])
    if _CACHEINFO in found and (left := _LEFT.unpack_from(found[_CACHEINFO])[0]) > 0:
        attrs[EXPIRES] = -(-left // _CENTI)
    return attrs


def _read_way(found: Mapping[int, memoryview], names: Names) -> dict[str, Value]:
    """Where a route or one of its next hops goes."""
    way: dict[str, Value] = {}
    if _GATEWAY in found:
        way["via"] = ip_text(bytes(found[_GATEWAY]))
    elif _VIA in found:
        way["via"] = ip_text(bytes(found[_VIA][2:]))
    if _OIF in found:
        way["dev"] = names.name(int.from_bytes(found[_OIF], "little"))
    if _NEWDST in found:
        way["as"] = unpack_labels(bytes(found[_NEWDST]))
    if _ENCAP_TYPE in found and (encap := unpack_encap(found[_ENCAP_TYPE], found[_ENCAP], names)):
        way["encap"] = encap
    return way


def _each_hop(payload: memoryview) -> Iterator[tuple[int, int, int, dict[int, memoryview]]]:
    start = 0
    while start + _HOP.size <= len(payload):
        size, flags, weight, index = _HOP.unpack_from(payload, start)
        yield flags, weight, index, attributes(payload, start + _HOP.size, start + size)
        start += (size + 3) & ~3


def _read_hops(payload: memoryview, names: Names) -> Iterator[Value]:
    for flags, weight, index, found in _each_hop(payload):
        dev = {"dev": names.name(index)} if index else {}
        way = _read_way(found, names) | dev | unpack_rows(_OF_A_HOP, found, names)
        yield {**way, "weight": weight + 1, "onlink": bool(flags & _ONLINK)}


def _read_metrics(payload: memoryview) -> dict[str, Value]:
    found = attributes(payload)
    values: dict[str, Value] = {}
    for row in METRICS.values():
        if row.wire in found and row.type.unpack:
            values[row.name] = row.type.unpack(bytes(found[row.wire]))
    if _LOCK in found:
        bits = int.from_bytes(found[_LOCK], "little")
        values["lock"] = tuple(name for number, name in _METRIC_NAMES.items() if bits >> number & 1)
    return values


def _scope(family: str, attrs: Attrs) -> int:
    """The scope that ``ip`` would give to a route that mentions none."""
    scope = attrs.get("scope")
    if family != "inet":
        return 0
    if isinstance(scope, str):
        return SCOPES[scope]
    kind = attrs.get("type", "unicast")
    if kind == "local":
        return SCOPES["host"]
    if kind in ("broadcast", "multicast", "anycast"):
        return SCOPES["link"]
    ways = _hops_of(attrs)
    gateway = any(isinstance(way, Mapping) and "via" in way for way in ways)
    return 0 if gateway or kind != "unicast" or "nhid" in attrs else SCOPES["link"]


def _pack_way(family: str, way: Attrs, names: Names) -> Iterator[bytes]:
    if (via := way.get("via")) is not None:
        gateway = ip_bytes(str(via))
        own = (family == "inet6") == (len(gateway) == 16) and family != "mpls"
        version = BY_SIZE[len(gateway)]
        yield attr(_GATEWAY, gateway) if own else attr(_VIA, struct.pack("=H", version) + gateway)
    if "as" in way:
        yield attr(_NEWDST, pack_labels(way["as"]))
    if "encap" in way:
        yield pack_encap(way["encap"], _ENCAP_TYPE, _ENCAP, names)


def _pack_hops(family: str, hops: Value, names: Names) -> bytes:
    assert isinstance(hops, tuple)
    parts = []
    for hop in hops:
        assert isinstance(hop, Mapping)
        inside = b"".join(_pack_way(family, hop, names)) + pack_rows(_OF_A_HOP, hop, names)
        weight = hop.get("weight", 1)
        assert isinstance(weight, int)
        index = names.index(str(hop["dev"])) if "dev" in hop else 0
        flags = _ONLINK if hop.get("onlink") else 0
        parts.append(_HOP.pack(_HOP.size + len(inside), flags, weight - 1, index) + inside)
    return attr(_MULTIPATH, b"".join(parts))


def _pack_metrics(attrs: Attrs, names: Names) -> bytes:
    parts = [pack_row(row, attrs[row.name], names) for row in METRICS.values() if row.name in attrs]
    locked = attrs.get("lock")
    if isinstance(locked, tuple) and locked:
        parts.append(u32(_LOCK, sum(1 << METRICS[str(name)].wire for name in locked)))
    return nest(_METRICS, *parts) if parts else b""


def _body(key: Key, attrs: Attrs, names: Names) -> Iterable[bytes]:
    family = str(key[0])
    flags = _ONLINK if attrs.get("onlink") else 0
    kind = TYPES[str(attrs.get("type", "unicast"))]
    yield identity(key, _scope(family, attrs), kind, flags, attrs.get(UNOWNED, PROTO))
    if "nexthops" in attrs:
        yield _pack_hops(family, attrs["nexthops"], names)
    elif "nhid" not in attrs:
        yield from _pack_way(family, attrs, names)
        if "dev" in attrs:
            yield u32(_OIF, names.index(str(attrs["dev"])))
    for row in _PLAIN:
        if row.name in attrs and row.wire != _TTL_PROPAGATE:
            yield pack_row(row, attrs[row.name], names)
    if "ttl_propagate" in attrs:
        yield u8(_TTL_PROPAGATE, int(bool(attrs["ttl_propagate"])))
    if isinstance(left := attrs.get(EXPIRES), int):
        yield u32(_EXPIRES, left)
    yield _pack_metrics(attrs, names)


def _goal(step: Step) -> Attrs:
    """What a route shall hold: one that comes to lead elsewhere has the scope of that, and no way if nowhere.

    The time that others gave to it is kept only for giving it back to them.
    """
    held = goal(step, WAY)
    if step.after and EXPIRES not in step.after.attrs:
        held = {name: value for name, value in held.items() if name != EXPIRES}
    if held.keys() & _OF_THEIR_OWN and step.after and "realm" not in step.after.attrs:
        held = {name: value for name, value in held.items() if name != "realm"}
    if step.op is not Op.CHANGE or step.before is None or step.after is None:
        return held
    before, said = step.before.attrs, {**step.after.attrs, **step.attrs}
    if all(same(name, step.attrs[name], before.get(name)) for name in _LED & step.attrs.keys()):
        return held
    stale = {"scope"} - said.keys()
    if held.get("type") in DEAD_ENDS:
        stale |= WAY if "type" in said else {"type"}
    return {name: value for name, value in held.items() if name not in stale}


def _deletion(route: Object) -> bytes:
    """The type is part of what IPv4 looks for, and the protocol, which is ours; next hops and scope are left open."""
    told = route.attrs
    kind = 0 if told.get("nhid") else TYPES.get(str(told.get("type", "unicast")), 0)
    return message.request(RTM_DELROUTE, 0, identity(route.key, _SCOPE_ANY, kind, 0))


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes; two where others have routes beside ours."""
    one = single(step)
    key = one.object.key
    if one.op is Op.DELETE:
        yield _deletion(one.object)
        return
    body = _body(key, _goal(one), context.names)
    first = context.beside.get(key) if takes_turns(one) else None
    if first is not None:
        how = message.NLM_F_CREATE | (_behind(one) if first else message.NLM_F_APPEND)
        anew = _deletion(one.before or one.object), message.request(RTM_NEWROUTE, how, *body)
        # Why it is said again may be that it is lost on the way.
        yield from (Call(lambda: again(context.socket, key, *anew)),) if one.why else anew
        return
    yield message.request(RTM_NEWROUTE, message.NLM_F_CREATE | _how(one), *body)


def _behind(step: Step) -> int:
    return message.NLM_F_APPEND if BEHIND in step.object.attrs else 0


def _how(step: Step) -> int:
    """In place of which others a route comes: what of IPv4 is there by now stays."""
    if step.op is Op.CHANGE:
        return message.NLM_F_REPLACE
    if step.object.key[0] != "inet" or step.after is None or UNOWNED in step.after.attrs:
        return message.NLM_F_EXCL
    return _behind(step)


CODEC = Codec(
    dump,
    encode,
    blamer(
        {
            **paths_of(CLASS.attrs[name] for name in ("via", "dev", "nexthops", "encap", "as")),
            **paths_of(_PLAIN),
            **paths_of(METRICS.values(), _METRICS),
            (DST,): "to",
            (_VIA,): "via",
            (TABLE,): "table",
            (PRIORITY,): "metric",
            (_ENCAP_TYPE,): "encap",
        }
    ),
    HEADER.size,
)
