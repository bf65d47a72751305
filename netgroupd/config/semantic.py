# SPDX-License-Identifier: GPL-2.0-or-later
"""What each object alone cannot tell: references, loops, and things that exclude each other.

Errors for what the kernel would refuse, or what cannot be meant; warnings for
what it takes and is doubtful.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from netgroupd.config.entries import Compiled, Sink, told
from netgroupd.config.links import Links
from netgroupd.config.loops import loops
from netgroupd.config.report import Report
from netgroupd.model import CLASSES
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.value import Value, split_prefix

_RESERVED_TABLES = {253: "default", 254: "main", 255: "local"}
_WAYS = frozenset({"via", "dev", "nexthops", "nhid"})
_NO_GATEWAY = frozenset({"blackhole", "unreachable", "prohibit", "throw"})


class _Checked(NamedTuple):
    """What the checks look at."""

    state: State
    links: Links
    sink: Sink
    report: Report

    def attrs(self, name: str) -> Attrs:
        """The attributes of a link, those of its group too; of one that no file names, none."""
        link = self.state.link(name)
        return link.attrs if link else {}

    def entry(self, obj: Object) -> Compiled:
        """The entry that an object is from."""
        return self.sink.entries[obj.cls][obj.key]


def check(state: State, links: Links, sink: Sink) -> None:
    """Look at the whole state; everything found goes to the report."""
    checked = _Checked(state, links, sink, links.report)
    for rule in _CHECKS:
        rule(checked)


def _complete(checked: _Checked) -> None:
    """Every kind has what it needs."""
    links = checked.links
    needs = {kind.name: kind.required | ({"link"} if kind.lower else set()) for kind in KINDS.values()}
    for name, attrs in links.attrs.items():
        needed = needs.get(str(attrs.get("kind")))
        if needed and not needed <= attrs.keys():
            what = " and ".join(map(repr, sorted(needed - attrs.keys())))
            checked.report.once(links.places[name], f"{name!r} needs {what}: it is of the kind {attrs['kind']}")


def _identified(checked: _Checked) -> None:
    """A tunnel has an id, or takes the one of each packet."""
    for name, attrs in checked.links.attrs.items():
        choice = _ONE_OF.get(str(attrs.get("kind")))
        if choice and not any(attrs.get(row) not in (None, False) for row in choice):
            told_ = f"{name!r} needs {' or '.join(map(repr, choice))}: it is of the kind {attrs['kind']}"
            checked.report.once(checked.links.places[name], told_)


_ONE_OF = {"vxlan": ("id", "external"), "geneve": ("id", "external"), "xfrm": ("if_id", "external")}


def _masters(checked: _Checked) -> None:
    links = checked.links
    refused = {""}
    for name, attrs in links.attrs.items():
        master = attrs.get("master")
        if not master or master not in links.attrs or master in refused:
            continue
        kind = KINDS.get(str(links.attrs[str(master)].get("kind")))
        if kind and not kind.master:
            refused.add(str(master))
            hint = "ports have bridges, bonds, teams and VRFs"
            place = links.place(name, "master")
            checked.report.once(place, f"{master!r} cannot be the master of {name!r}: it is a {kind.name}", hint)


def _loops(checked: _Checked) -> None:
    links = checked.links
    for loop in loops(links.attrs):
        name, other = loop[0], loop[1]
        key = "link" if links.attrs[name].get("link") == other else "master"
        checked.report.once(links.place(name, key), f"links stand on each other in a loop: {' → '.join(loop)}")


def _macs(checked: _Checked) -> None:
    links = checked.links
    for name, attrs in links.attrs.items():
        mac = attrs.get("mac")
        if not isinstance(mac, str):
            continue
        if int(mac[:2], 16) & 1:
            told_ = f"{mac} of {name!r} is a multicast address"
            checked.report.once(links.place(name, "mac"), told_, "the first byte of a link's own must be even, as 02")
        elif mac == "00:00:00:00:00:00":
            checked.report.once(links.place(name, "mac"), f"{name!r} cannot have the MAC address {mac}")


def _names(checked: _Checked) -> None:
    """No further name of a link is the name of another."""
    links = checked.links
    owners: dict[str, str] = {}
    for name, attrs in links.attrs.items():
        further = attrs.get("altnames") or ()
        assert isinstance(further, tuple)
        for other in map(str, further):
            owner = name if other not in links.attrs else other
            if owners.setdefault(other, owner) != name or owner != name:
                told_ = f"{other!r} cannot be another name of {name!r}"
                hint = "a link has that name" if owner != name else f"it is one of {owners[other]!r}"
                checked.report.once(links.place(name, "altnames"), told_, hint)


def _vlans(checked: _Checked) -> None:
    """One VLAN of a link is one device, and cannot carry more than the link does."""
    links = checked.links
    seen: dict[tuple[Value, Value, Value], str] = {}
    for name, attrs in links.attrs.items():
        if attrs.get("kind") != "vlan":
            continue
        key = (attrs.get("link"), attrs.get("id"), attrs.get("protocol", "802.1q"))
        other = seen.setdefault(key, name)
        if other != name and None not in key:
            at, before = links.places[name], checked.report.where(links.places[other])
            told_ = f"{name!r} and {other!r} are both VLAN {key[1]} of {key[0]!r}"
            checked.report.once(at, told_, f"{other!r} is from {before}")


def _sizes(checked: _Checked) -> None:
    links = checked.links.attrs  # complete by now: the groups' attributes are in it
    for name, attrs in links.items():
        mtu = attrs.get("mtu")
        if not isinstance(mtu, int) or attrs.get("kind") not in ("vlan", "macvlan", "macvtap"):
            continue
        below = links.get(str(attrs.get("link")), {}).get("mtu")
        if isinstance(below, int) and mtu > below:
            place = checked.links.place(name, "mtu")
            hint = f"at most {below} can pass below, or raise that"
            checked.report.once(place, f"mtu {mtu} of {name!r} is over that of {attrs['link']!r}", hint)


def _vrfs(checked: _Checked) -> None:
    links = checked.links
    by_table: dict[Value, str] = {}
    for name, attrs in links.attrs.items():
        if attrs.get("kind") != "vrf" or attrs.get("table") is None:
            continue
        table = attrs["table"]
        other = by_table.setdefault(table, name)
        if other != name:
            before = checked.report.where(links.place(other, "table"))
            told_ = f"VRFs {other!r} and {name!r} have the same table {table}"
            checked.report.once(links.place(name, "table"), told_, f"the other is at {before}")
        if table in _RESERVED_TABLES:
            told_ = f"VRF {name!r} has table {table}, which is the table {_RESERVED_TABLES[table]} of the host"
            checked.report.warn(links.place(name, "table"), told_)


def _references(checked: _Checked) -> None:
    """Every link that an object names is there."""
    there = checked.links.attrs.keys() | checked.links.known
    for cls, objects in checked.sink.classes.items():
        described = CLASSES[cls]
        by_key = [index for index, row in enumerate(described.key) if row.type.ref == "link"]
        by_attr = [row.name for row in described.attrs.values() if row.type.ref == "link"]
        seen: Attrs = {}
        for key, obj in objects.items():
            for index in by_key:
                if key[index] not in there:
                    _missing(checked, obj, key[index], "dev")
            if obj.attrs is not seen:  # of a range, they are often shared
                seen = obj.attrs
                for field, name in _named(obj.attrs, by_attr):
                    if name not in there:
                        _missing(checked, obj, name, field)


def _named(attrs: Attrs, by_attr: Sequence[str]) -> Iterator[tuple[str, Value]]:
    """The links that attributes name, and under which key of the file."""
    for field in by_attr:
        if attrs.get(field) is not None:
            yield field, attrs[field]
    for field in _LISTS.keys() & attrs.keys():
        for record in _records(attrs, field):
            if record.get("dev") is not None:
                yield _LISTS[field], record["dev"]


_LISTS = {"nexthops": "nexthops", "actions": "action"}  # attributes of several records, by the key in files


def _records(attrs: Attrs, field: str) -> tuple[Mapping[str, Value], ...]:
    found = attrs.get(field) or ()
    assert isinstance(found, tuple)
    return tuple(record for record in found if isinstance(record, Mapping))


def _missing(checked: _Checked, obj: Object, name: Value, field: str) -> None:
    hint = checked.report.nearest(str(name), checked.links.attrs) or "name it under `links`"
    checked.report.once(
        checked.entry(obj).place(field), f"there is no link {name!r}, for {told(obj.cls, obj.key)}", hint
    )


def _addresses(checked: _Checked) -> None:
    """No address twice in one routing domain; none that cannot be a host's."""
    domains: dict[str, str] = {}
    seen: dict[tuple[str, str], Key] = {}
    for key, obj in checked.state.of("address").items():
        link, text = str(key[0]), str(key[1])
        address = text.partition("/")[0]
        if link not in domains:
            domains[link] = _domain(link, checked)
        _address(address, text, obj, checked)
        if address.startswith("fe80:"):
            continue
        other = seen.setdefault((domains[link], address), key)
        if other != key:
            at = checked.entry(obj).place("address")
            there = checked.report.where(checked.sink.entries["address"][other].at)
            where = f"VRF {domains[link]!r}" if domains[link] else "the same routing domain"
            hint = f"the other is at {there}"
            checked.report.once(at, f"{address} is on {other[0]!r} and on {link!r}, both in {where}", hint)


def _domain(link: str, checked: _Checked) -> str:
    """The VRF that a link's addresses are in, "" for none; a port of a bridge is in the bridge's."""
    for _ in range(8):
        attrs = checked.attrs(link)
        if attrs.get("kind") == "vrf":
            return link
        if not attrs.get("master"):
            return ""
        link = str(attrs["master"])
    return ""


def _address(address: str, text: str, obj: Object, checked: _Checked) -> None:
    payload, length = split_prefix(text)
    entry = checked.entry(obj)
    multicast = payload[0] == 0xFF if len(payload) == 16 else payload[0] >> 4 == 0xE
    if (multicast and not obj.attrs.get("autojoin")) or not any(payload):
        what = "a multicast address" if multicast else "no address"
        checked.report.once(entry.place("address"), f"{address} is {what}; a link cannot have it")
        return
    spare = len(payload) * 8 - length
    if len(payload) == 4 and spare > 1:
        host = int.from_bytes(payload, "big") & ((1 << spare) - 1)
        if host in (0, (1 << spare) - 1):
            what = "network" if not host else "broadcast"
            checked.report.warn(entry.place("address"), f"{text} is the {what} address of its network")


def _ports_with_addresses(checked: _Checked) -> None:
    for key, obj in checked.state.of("address").items():
        link = str(key[0])
        master = checked.attrs(link).get("master")
        kind = checked.attrs(str(master)).get("kind") if master else None
        if kind in ("bridge", "bond", "team"):
            told_ = f"{link!r} has an address and is a port of the {kind} {master!r}"
            checked.report.warn(checked.entry(obj).at, told_, f"packets to it arrive at {master!r}: put it there")


def _routes(checked: _Checked) -> None:
    nexthops = checked.state.of("nexthop")
    for obj in checked.state.of("route").values():
        attrs = obj.attrs
        entry = checked.entry(obj)
        ways = sorted(name for name in _WAYS if attrs.get(name) is not None)
        name = told(obj.cls, obj.key)
        if attrs.get("type") in _NO_GATEWAY:
            if ways:
                checked.report.once(entry.place(ways[0]), f"{name} is of type {attrs['type']} and leads nowhere")
        elif not ways and not _WAYS & entry.entries.keys():  # one that could not be read is told already
            hint = "give it via, dev, nexthops or nhid, or a type such as blackhole"
            checked.report.once(entry.at, f"{name} does not say where to", hint)
        if len({"via", "nexthops", "nhid"} & set(ways)) > 1:
            checked.report.once(entry.at, f"{name} has {' and '.join(ways)}, of which it can have one")
        nhid = attrs.get("nhid")
        if nhid is not None and (nhid,) not in nexthops:
            checked.report.warn(entry.place("nhid"), f"no file describes nexthop {nhid}")


def _nexthops(checked: _Checked) -> None:
    nexthops = checked.state.of("nexthop")
    for obj in nexthops.values():
        members = obj.attrs.get("group") or ()
        assert isinstance(members, tuple)
        for member in members:
            number = member.get("id") if isinstance(member, Mapping) else None
            if (number,) not in nexthops:
                place = checked.entry(obj).place("group")
                checked.report.warn(place, f"no file describes nexthop {number}, of group {obj.key[0]}")


def _unfiltered(checked: _Checked) -> None:
    """VLANs of a bridge that does not look at them."""
    for key, obj in checked.state.of("bridge_vlan").items():
        name = str(key[0])
        attrs = checked.attrs(name)
        bridge = name if attrs.get("kind") == "bridge" else str(attrs.get("master"))
        of_bridge = checked.attrs(bridge)
        if of_bridge.get("kind") == "bridge" and not of_bridge.get("vlan_filtering"):
            hint = f"set vlan_filtering of {bridge!r}"
            checked.report.warn(checked.entry(obj).at, f"{bridge!r} does not tell VLANs apart", hint)


def _layer2(checked: _Checked) -> None:
    for key, obj in checked.state.of("address").items():
        if checked.attrs(str(key[0])).get("l2only"):
            told_ = f"{key[0]!r} is l2only and can have no address"
            checked.report.once(checked.entry(obj).at, told_)


def _pvids(checked: _Checked) -> None:
    seen: dict[str, Value] = {}
    for key, obj in checked.state.of("bridge_vlan").items():
        if obj.attrs.get("pvid"):
            other = seen.setdefault(obj.name, key[1])
            if other != key[1]:
                told_ = f"{obj.name!r} has two VLANs for untagged packets (pvid), {other} and {key[1]}"
                checked.report.once(checked.entry(obj).at, told_)


_CHECKS: tuple[Callable[[_Checked], None], ...] = (
    _complete,
    _identified,
    _masters,
    _loops,
    _macs,
    _names,
    _vlans,
    _sizes,
    _vrfs,
    _references,
    _addresses,
    _ports_with_addresses,
    _routes,
    _nexthops,
    _pvids,
    _unfiltered,
    _layer2,
)
