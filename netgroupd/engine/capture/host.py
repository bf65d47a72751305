# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has -> a configuration for it, with ranges folded, whose expansion is what the host has.

What is as it is by itself is not written, nor is what the kernel or another
program adds to what is there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from netgroupd.engine.capture.given import as_given
from netgroupd.engine.capture.keys import keyed, secured
from netgroupd.engine.capture.leading import led
from netgroupd.engine.capture.macs import chosen_macs
from netgroupd.engine.capture.names import nameable, untold_ages, writable
from netgroupd.engine.capture.order import as_added, in_order
from netgroupd.engine.capture.settings import of_drivers, settings_of
from netgroupd.engine.capture.tc import action_rows, sayable, tc_rows
from netgroupd.engine.capture.vfs import functions_of
from netgroupd.engine.capture.vlans import folded, options_of, states_of, untold_trees, vlan_attrs
from netgroupd.engine.capture.yaml_text import is_sayable, key_text, quoted, texts_of, unquoted
from netgroupd.engine.kept.inherited import inherited, is_held_down, mtu_above, of_port
from netgroupd.engine.kept.lent import ALONE, least_of_ports
from netgroupd.kernel.usual import Likeness, Usual, differing_from
from netgroupd.model.bridge_vlan import OUT, taken_out
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.bond import of_its_mode
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.route import DEAD_ENDS, MAIN_TABLE, TABLE_NAMES
from netgroupd.model.state import NOTHING, Key, Object, State, records
from netgroupd.model.token import NONE
from netgroupd.model.value import Value, split_prefix
from netgroupd.plan.compare import UNOWNED, group_of, kind_of, row_of
from netgroupd.plan.fate import TEAMING, hangs_on
from netgroupd.plan.fold import Row, fold, fold_names
from netgroupd.plan.led_away import is_outgrown
from netgroupd.plan.present import USUAL
from netgroupd.plan.tc.beside import unplaced

# Which port a bond uses follows from its ports, and is another when that fails.
_OTHERWISE = frozenset({"kind", "link", "group", "master", "mac", "carrier", "mtu", "active_slave"})
_OF_HARDWARE = frozenset({"up", "alias", "altnames", "netns"})
# Of a route the usual scope depends on where it leads.
_BY_ITSELF: Mapping[str, Mapping[str, Value]] = {**USUAL, "route": {"type": "unicast", "pref": "medium"}}
# The kernel gives them, and does not say so of the first; systemd gives the other before that.
_OF_LOOPBACK = frozenset({("lo", "127.0.0.1/8", None), ("lo", "::1/128", None)})
_IP6_METRIC = 1024


def captured(
    actual: State, usual: Usual, group_names: Mapping[int, str], elsewhere: frozenset[str] = frozenset()
) -> str:
    """Write the configuration whose expansion is ``actual``, but for what its comments say is left out.

    Of ``elsewhere`` a part is in another network namespace.
    """
    actual, given = as_given(in_order(unplaced(actual)), elsewhere)
    actual, unnamed = nameable(actual)
    actual, bytewise = writable(actual)
    actual, comments = sayable(actual)
    actual, keys = keyed(actual)
    shared = settings_of(actual).get("", {})
    outside = [*untold_trees(actual), *untold_ages(actual)]
    sections = [
        ("groups", [f"  {name}: {{id: {number}}}\n" for number, name in sorted(_groups(actual, group_names).items())]),
        ("links", _blocks(_rows_of_links(actual, usual, group_names))),
        ("nexthops", _blocks(_rows(actual, "nexthop", _nexthop))),
        *((name, _entries(_rows(actual, cls, make))) for name, cls, make in _LISTS),
        ("actions", _blocks(action_rows(actual))),
        ("tc", _blocks(tc_rows(actual))),
        ("sysctl", [f"  {path}: {unquoted(quoted(value))}\n" for path, value in shared.items()]),
    ]
    written = "\n".join(f"{name}:\n{''.join(lines)}" for name, lines in sections if lines) or "{}\n"
    return "".join((*given, *unnamed, *bytewise, *comments, *outside, *secured(actual), *keys)) + written


def _groups(actual: State, names: Mapping[int, str]) -> dict[int, str]:
    used = {link.attrs.get("group") for link in actual.of("link").values()}
    return {number: name for number, name in names.items() if number in used and number != GROUP_BASE}


def _blocks(rows: Iterable[Row]) -> list[str]:
    """Mappings by name."""
    lines = []
    for pattern in fold(rows):
        name, *fields = texts_of(pattern)
        key = key_text(name)
        body = "".join(f"    {unquoted(field)}\n" for field in fields)
        lines.append(f"  {key}:\n{body}" if body else f"  {key}: {{}}\n")
    return lines


def _entries(rows: Iterable[Row]) -> list[str]:
    """Lists of mappings whose first field is the name."""
    return [f"  - {{{', '.join(map(unquoted, texts_of(pattern)))}}}\n" for pattern in fold(rows)]


def _fields(attrs: Mapping[str, Value]) -> Iterator[str]:
    for name, value in attrs.items():
        if is_sayable(value):
            yield f"{name}: {quoted(value)}"


def _rows_of_links(actual: State, usual: Usual, names: Mapping[int, str]) -> Iterator[Row]:
    nested = {name: _texts(actual, cls) for name, cls in _NESTED.items()}
    nested |= {"vlan_global": options_of(actual), "mst": states_of(actual), "token": _tokens(actual)}
    nested["ethtool"] = of_drivers(actual)
    nested |= functions_of(actual)
    settings = {name: quoted(found) for name, found in settings_of(actual).items()}
    macs = chosen_macs(actual)
    led_to_lo = _is_led_to_lo(actual)
    sizes = least_of_ports(actual)
    for link in actual.of("link").values():
        attrs = dict(_link(link, actual, usual, names, sizes))
        if link.name in macs:
            attrs["mac"] = macs[link.name]
        for name, texts in (*nested.items(), ("sysctl", settings)):
            if link.name in texts:
                attrs[name] = texts[link.name]
        if link.name == "lo" and link.attrs.get("up") and (attrs or group_of(link) or led_to_lo):
            attrs = {"up": True, **attrs}  # it is up on any host, but not in a namespace that is new
        if attrs or kind_of(link):
            fields = (f"{name}: {value if name in _READY else quoted(value)}" for name, value in attrs.items())
            yield (link.name, *fields)


def _is_led_to_lo(actual: State) -> bool:
    """Whether something needs lo to be up: what leads there, and a nexthop that leads nowhere."""
    led = (obj for cls in ("route", "nexthop") for obj in actual.of(cls).values())
    return any("lo" in hangs_on(obj) or obj.attrs.get("blackhole") for obj in led)


_NESTED = {"addresses": "address", "vlans": "bridge_vlan", "vnis": "vni"}
_MAIN = {"address": "address", "bridge_vlan": "vid", "vni": "vni"}
_READY = frozenset({*_NESTED, "vlan_global", "mst", "ethtool", "num_vfs", "vfs", "sysctl", "token"})


def _link(
    link: Object, actual: State, usual: Usual, names: Mapping[int, str], sizes: Mapping[str, int]
) -> Iterator[tuple[str, Value]]:
    kind, attrs = kind_of(link), link.attrs
    links = actual.of("link")
    lower = links.get((attrs.get("link"),))
    by_itself = usual.get(Likeness.of(link, links.get((attrs.get("master"),))), NOTHING)
    if kind not in KINDS:
        said = _OF_HARDWARE - {"up"} if link.name == "lo" else _OF_HARDWARE
        yield from ((name, attrs[name]) for name in sorted(said) if attrs.get(name))
        yield from _nested(of_port(link, by_itself))
    else:
        yield "kind", kind
        if KINDS[kind].lower and lower and not (kind == "vlan" and link.name == f"{lower.name}.{attrs.get('id')}"):
            yield "link", lower.name
        elif kind == "vlan":
            attrs = {name: value for name, value in attrs.items() if name != "id"}
        elif kind == "bond":
            attrs = of_its_mode(attrs)
        by_itself = {**by_itself, **inherited(link, lower)}
        required = {name: attrs[name] for name in sorted(KINDS[kind].required) if name in attrs}
        chosen = {**required, **differing_from(by_itself, attrs, _OTHERWISE | required.keys())}
        yield from _nested({"up": False, **chosen} if is_held_down(link, lower) else chosen)
    if attrs.get("mtu") is not None and not _has_mtu_by_itself(link, links, usual, sizes):
        yield "mtu", attrs["mtu"]
    if attrs.get("master"):
        yield "master", attrs["master"]
    group = attrs.get("group")
    if group not in (None, 0, GROUP_BASE):
        yield "group", names.get(int(str(group)), group)


def _has_mtu_by_itself(link: Object, links: Mapping[Key, Object], usual: Usual, sizes: Mapping[str, int]) -> bool:
    """Whether any such link has this MTU: what it sends through says no other one, and its bond or ports the same."""
    mtu, master = link.attrs.get("mtu"), links.get((link.attrs.get("master"),))
    if kind_of(link) == "vxlan" and (dev := links.get((link.attrs.get("dev"),))) and is_outgrown(link, dev):
        return True  # or as much of it as there can be
    if link.attrs.get("dev"):
        return False
    if kind_of(link) == "bridge":
        return mtu == sizes.get(link.name, ALONE)  # to tell it that would keep it from growing and shrinking with them
    if master and kind_of(master) in TEAMING:
        return mtu == master.attrs.get("mtu")
    if lower := links.get((link.attrs.get("link"),)):
        return mtu == mtu_above(lower, link)
    alone = usual.get(Likeness.of(link, None), NOTHING)
    return mtu == (65536 if link.name == "lo" else alone.get("mtu", 1500))


def _nested(attrs: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    port = {name[5:]: value for name, value in attrs.items() if name.startswith("port.")}
    yield from ((name, value) for name, value in attrs.items() if not name.startswith("port."))
    if port:
        yield "port", port


def _tokens(actual: State) -> dict[str, str]:
    """The token of each link that has one."""
    given = (obj for obj in actual.of("token").values() if obj.attrs["token"] != NONE)
    return {obj.name: quoted(obj.attrs["token"]) for obj in given}


def _texts(actual: State, cls: str) -> dict[str, str]:
    """What is written under each link of the objects on it."""
    plain: dict[str, list[str]] = defaultdict(list)
    detailed: dict[str, dict[Key, list[str]]] = defaultdict(lambda: defaultdict(list))  # by what is said of them
    behind: dict[str, list[str]] = defaultdict(list)
    first: dict[Key, int] = {}
    objects = [obj for obj in as_added(actual.of(cls).values()) if obj.key not in _OF_LOOPBACK]
    if cls == "bridge_vlan":
        names = (link.name for link in actual.of("link").values())
        objects += (Object(cls, key, OUT) for key in taken_out(names, actual))
    last = frozenset(_to_be_last(objects, actual)) if cls == "address" else ()
    for obj in objects:
        main, attrs = _under(obj, actual)
        if not main:
            continue
        if obj.key in last or _is_behind(obj, first, detailed=bool(attrs)):
            behind[obj.name].append(main)
        elif attrs:
            # Addresses stay in the order in which they came.
            detailed[obj.name][quoted(attrs)[1:-1], main if cls == "address" else ""].append(main)
        else:
            plain[obj.name].append(main)
    texts = {name: folded(_MAIN[cls], alike) for name, alike in detailed.items()}
    return {
        name: f"[{', '.join([*_ranges(plain[name]), *texts.get(name, ()), *_ranges(behind[name])])}]"
        for name in dict.fromkeys([*plain, *texts])
    }


def _ranges(texts: list[str]) -> Iterator[str]:
    return (f'"{text}"' for text in fold_names(texts))


def _to_be_last(objects: Iterable[Object], actual: State) -> Iterator[Key]:
    """The IPv6 addresses that must be written behind the rest, lest others of their subnet come after them.

    Of several that are as good IPv6 sends from the last one that came; ranges are sorted, as with IPv4.
    """
    subnets: dict[Key, list[tuple[bool, int, Key]]] = defaultdict(list)
    for obj in objects:
        if ":" in str(obj.key[1]):
            address, length = split_prefix(str(obj.key[1]))
            number = int.from_bytes(address, "big")
            place = bool(_under(obj, actual)[1]), number, obj.key
            subnets[obj.name, length, number >> (128 - length)].append(place)
    for found in subnets.values():
        if not found[-1][0] and found[-1] != max(found):
            yield found[-1][2]


def _is_behind(obj: Object, first: dict[Key, int], *, detailed: bool) -> bool:
    """Whether an address must be written behind the rest, lest it come before the ``first`` of its subnet.

    That one is the address that IPv4 sends from; ranges are sorted, and stand before what has details.
    """
    if obj.cls != "address" or ":" in str(obj.key[1]):
        return False
    address, length = split_prefix(str(obj.key[1]))
    number = int.from_bytes(address, "big")
    subnet = (obj.name, length, number >> (32 - length))
    return number < first.setdefault(subnet, 1 << 32 if detailed else number) and not detailed


def _under(obj: Object, actual: State) -> tuple[str, dict[str, Value]]:
    attrs = _chosen(obj)
    if obj.cls == "bridge_vlan":
        said = vlan_attrs(obj, attrs, actual)
        return ("", {}) if said is None else (str(obj.key[1]), said)
    if obj.cls == "vni":
        return str(obj.key[1]), attrs
    if attrs.get("label") == obj.name:
        del attrs["label"]
    if obj.key[2]:
        attrs = {"peer": obj.key[2], **attrs}
    return str(obj.key[1]), attrs


def _chosen(obj: Object) -> dict[str, Value]:
    usual = _BY_ITSELF.get(obj.cls, NOTHING)
    return {
        name: value
        for name, value in obj.attrs.items()
        if not _says_nothing(obj, name, value) and (name not in usual or usual[name] != value)
    }


def _says_nothing(obj: Object, name: str, value: Value) -> bool:
    """Whether a file need not have this: what is off is as if it were not there, but where it need not be at all."""
    if value is None or name == UNOWNED:
        return True
    row = row_of(obj, name) if value is False else None
    return value is False and not (row and row.nullable)


def _rows(actual: State, cls: str, make: Callable[[Object], dict[str, Value]]) -> Iterator[Row]:
    for fields in led(cls, [make(obj) for obj in actual.of(cls).values()]):
        first, *rest = fields.items()
        main = first[1] if cls == "nexthop" else f"{first[0]}: {quoted(first[1])}"
        yield (str(main), *_fields(dict(rest)))


def _nexthop(obj: Object) -> dict[str, Value]:
    said = {"id": obj.key[0], **_chosen(obj)}
    members = records(said, "group")
    return said | {"group": tuple(map(_way, members))} if members else said


def _route(obj: Object) -> dict[str, Value]:
    family, table, destination, tos, metric = obj.key
    attrs = _chosen(obj)
    ways = attrs.get("nexthops")
    if isinstance(ways, tuple):
        attrs["nexthops"] = tuple(_way(way) for way in ways if isinstance(way, Mapping))
    if family != "inet" or attrs.get("scope") == _usual_scope(attrs):
        attrs.pop("scope", None)
    said: dict[str, Value] = {"to": destination}
    said |= {"table": table} if table != MAIN_TABLE else {}
    said |= {"tos": tos} if tos else {}
    said |= {"metric": metric} if metric != (_IP6_METRIC if family == "inet6" else 0) else {}
    if attrs.get("nhid"):  # the rest is what the nexthop says
        attrs = {name: value for name, value in attrs.items() if name not in ("via", "dev", "nexthops", "onlink")}
    return said | attrs


def _usual_scope(attrs: Mapping[str, Value]) -> str:
    """How far a route reaches where nothing is said of that."""
    far = attrs.get("type") in DEAD_ENDS or any(attrs.get(name) for name in ("via", "nexthops", "nhid"))
    return "host" if attrs.get("type") == "local" else "global" if far else "link"


def _way(way: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in way.items() if value is not False and (name != "weight" or value != 1)}


def _rule(obj: Object) -> dict[str, Value]:
    chosen = _chosen(obj)
    if named := TABLE_NAMES.get(chosen.get("lookup")):
        chosen["lookup"] = named
    return {"pref": obj.key[1], "family": obj.key[0], **chosen}


def _neighbour(obj: Object) -> dict[str, Value]:
    link, ip, proxy = obj.key
    return {"dev": link, "ip": ip, **({"proxy": True} if proxy else {}), **_chosen(obj)}


def _fdb(obj: Object) -> dict[str, Value]:
    link, mac, vlan, where, dst, src_vni = obj.key
    fields: dict[str, Value] = {"dev": link, "mac": mac, "where": where, **_chosen(obj)}
    optional = {"vlan": vlan or None, "dst": dst, "src_vni": src_vni}
    return fields | {name: value for name, value in optional.items() if value is not None}


def _mdb(obj: Object) -> dict[str, Value]:
    link, port, group, vid, src = obj.key
    optional = {"vid": vid or None, "src": src}
    fields: dict[str, Value] = {"group": group, "dev": link, "port": port}  # what ranges are made of comes first
    return fields | {name: value for name, value in optional.items() if value is not None} | _chosen(obj)


_LISTS = (
    ("routes", "route", _route),
    ("rules", "rule", _rule),
    ("neighbours", "neighbour", _neighbour),
    ("fdb", "fdb", _fdb),
    ("mdb", "mdb", _mdb),
)
