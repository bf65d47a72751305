# SPDX-License-Identifier: GPL-2.0-or-later
"""What any link, reference, route and entry must hold to, whatever its kind."""

from netgroupd.config.checked import Checked, named
from netgroupd.config.loops import loops, lower_links
from netgroupd.config.sections.entries import told
from netgroupd.config.sections.links import BESIDE, Links, rows_of
from netgroupd.model import CLASSES
from netgroupd.model.kinds import KINDS
from netgroupd.model.route import DEAD_ENDS
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import NO_MAC, Value, is_multicast, split_prefix

_WAYS = frozenset({"via", "dev", "nexthops", "nhid"})
_MOST_PORTS = 1023  # of a bridge: Linux has ten bits for their numbers, and none is 0


def complete(checked: Checked) -> None:
    """Every kind has what it needs."""
    links = checked.links
    for kind in map(str, checked.by_kind):
        row = KINDS.get(kind)
        needed = row.required | ({"link"} if row.lower else set()) if row else frozenset[str]()
        found = checked.of_kinds([kind] if needed else ())
        lacking = {name for field in needed for name, attrs in found if field not in attrs}  # nearly always none
        for name, attrs in found if lacking else ():
            if name in lacking and (missing := needed - attrs.keys() - _written(links, name)):
                what = " and ".join(map(repr, sorted(missing)))
                checked.report.once(links.places[name], f"{name!r} needs {what}: it is of the kind {kind}")


def _written(links: Links, name: str) -> set[str]:
    """The keys that files have for a link, or mean: what of these it lacks could not be read, and is told already."""
    keys = {key for block in links.blocks_of(name) for key in block.entries}
    return keys | links.values.meant(keys, (*rows_of(links.kind(name)), *BESIDE))


def identified(checked: Checked) -> None:
    """A tunnel has an id, or takes the one of each packet."""
    for name, attrs in checked.of_kinds(_ONE_OF):
        choice = _ONE_OF[str(attrs["kind"])]
        if all(attrs.get(row) is None or attrs[row] is False for row in choice):  # 0 is a network like others
            if _written(checked.links, name) & set(choice) - attrs.keys():
                continue
            told_ = f"{name!r} needs {' or '.join(map(repr, choice))}: it is of the kind {attrs['kind']}"
            checked.report.once(checked.links.places[name], told_)


_ONE_OF = {"vxlan": ("id", "external"), "geneve": ("id", "external"), "xfrm": ("if_id", "external")}


def masters(checked: Checked) -> None:
    links = checked.links
    for master, ports in checked.by_master.items():
        kind = KINDS.get(str(links.attrs.get(master, {}).get("kind")))
        if kind and not kind.master:
            hint = "ports have bridges, bonds, teams and VRFs"
            place = links.place(ports[0], "master")
            checked.report.once(place, f"{master!r} cannot be the master of {ports[0]!r}: it is a {kind.name}", hint)


def ports(checked: Checked) -> None:
    links = checked.links
    for master, ports in checked.by_master.items():
        if len(ports) > _MOST_PORTS and links.attrs.get(master, {}).get("kind") == "bridge":
            hint = f"Linux numbers the ports of a bridge from 1 to {_MOST_PORTS}"
            checked.refuse_link(master, "ports", f"{master!r} would have {len(ports)} ports", hint)


def stand_in_loops(checked: Checked) -> None:
    links = checked.links
    for loop in loops(links.attrs, checked.by_master):
        name, below = loop[0], loop[1]
        key = next((key for key, lower in lower_links(links.attrs[name]).items() if lower == below), "")
        place = links.place(name, key) if key else links.place(below, "master")
        checked.report.once(place, f"links stand on each other in a loop: {' → '.join(loop)}")


def macs(checked: Checked) -> None:
    for name, attrs in checked.saying("mac"):
        mac = attrs["mac"]
        if not isinstance(mac, str):
            continue
        if int(mac[:2], 16) & 1:
            told_ = f"{mac} of {name!r} is a multicast address"
            checked.refuse_link(name, "mac", told_, "the first byte of a link's own must be even, as 02")
        elif mac == NO_MAC:
            checked.refuse_link(name, "mac", f"{name!r} cannot have the MAC address {mac}")


def names(checked: Checked) -> None:
    """No further name of a link is the name of another."""
    links = checked.links
    owners: dict[str, str] = {}
    for name, attrs in checked.saying("altnames"):
        further = attrs["altnames"] or ()
        assert isinstance(further, tuple)
        for other in map(str, further):
            owner = name if other not in links.attrs else other
            if other == name:
                checked.refuse_link(name, "altnames", f"{name!r} is the name itself", "leave it out")
            elif owners.setdefault(other, owner) != name or owner != name:
                told_ = f"{other!r} cannot be another name of {name!r}"
                hint = "a link has that name" if owner != name else f"it is one of {owners[other]!r}"
                checked.refuse_link(name, "altnames", told_, hint)


def vlans(checked: Checked) -> None:
    """One VLAN of a link is one device, and cannot carry more than the link does."""
    links = checked.links
    seen: dict[tuple[Value, Value, Value], str] = {}
    for name, attrs in checked.of_kinds(["vlan"]):
        key = (attrs.get("link"), attrs.get("id"), attrs.get("protocol", "802.1q"))
        other = seen.setdefault(key, name)
        if other != name and None not in key:
            at, before = links.places[name], checked.report.where(links.places[other])
            told_ = f"{name!r} and {other!r} are both VLAN {key[1]} of {key[0]!r}"
            checked.report.once(at, told_, f"{other!r} is from {before}")


def vrfs(checked: Checked) -> None:
    links = checked.links
    by_table: dict[tuple[Value, Value], str] = {}
    for name, attrs in checked.of_kinds(["vrf"]):
        if attrs.get("table") is None:
            continue
        table = attrs["table"]
        other = by_table.setdefault((attrs.get("netns"), table), name)
        if other != name:
            before = checked.report.where(links.place(other, "table"))
            told_ = f"VRFs {other!r} and {name!r} have the same table {table}"
            checked.refuse_link(name, "table", told_, f"the other is at {before}")


def references(checked: Checked) -> None:
    """Every link that an object names is there."""
    described, known = checked.links.attrs, checked.links.known
    for cls, objects in checked.sink.classes.items():
        rows = CLASSES[cls]
        by_key = [index for index, row in enumerate(rows.key) if row.type.ref == "link"]
        by_attr = [row.name for row in rows.attrs.values() if row.type.ref == "link"]
        seen: Attrs = {}
        for key, obj in objects.items():
            for index in by_key:
                if key[index] not in described and key[index] not in known:
                    checked.missing_link(obj, key[index], rows.key[index].name if index else "dev")
            if obj.attrs is not seen:  # of a range, they are often shared
                seen = obj.attrs
                for field, name in named(obj.attrs, by_attr):
                    if name not in described and name not in known:
                        checked.missing_link(obj, name, field)


def addresses(checked: Checked) -> None:
    """None that cannot be a host's; and each once, or it is doubtful, and an error where the kernel takes one."""
    domains: dict[str, tuple[Value, str]] = {}
    seen: dict[tuple[tuple[Value, str], str], Key] = {}
    for key, obj in checked.state.of("address").items():
        link, text = str(key[0]), str(key[1])
        address = text.partition("/")[0]
        if link not in domains:
            domains[link] = checked.attrs(link).get("netns"), checked.domain(link)
        _address(address, text, obj, checked)
        if address.startswith("fe80:"):
            continue
        other = seen.setdefault((domains[link], address), key)
        if other != key:
            _twice(address, obj, other, domains[link][1], checked)


def _twice(address: str, obj: Object, other: Key, vrf: str, checked: Checked) -> None:
    at, link = checked.entry(obj).place("address"), str(obj.key[0])
    hint = f"the other is at {checked.report.where(checked.sink.entries['address'][other].at)}"
    if link == other[0] and ":" in address:
        checked.report.once(at, f"{link!r} would have {address} twice, of which the kernel takes one", hint)
    elif obj.key[2] is None and other[2] is None:  # with a peer it is how links from one host to many are numbered
        where = f"on {other[0]!r} and on {link!r}, both in {f'VRF {vrf!r}' if vrf else 'the same routing domain'}"
        if link == other[0]:
            where = f"twice on {link!r}, with two lengths"
        checked.report.warn(at, f"{address} is {where}", hint)


def _address(address: str, text: str, obj: Object, checked: Checked) -> None:
    payload, length = split_prefix(text)
    entry = checked.entry(obj)
    multicast = is_multicast(payload)
    joined = obj.attrs.get("autojoin") or not entry.record.whole
    if (multicast and not joined) or not any(payload):
        what = "a multicast address" if multicast else "no address"
        checked.refuse(obj, "address", f"{address} is {what}; a link cannot have it")
        return
    if address == "::1" and obj.name != "lo" and checked.links.kind(obj.name) != "vrf":
        checked.refuse(obj, "address", f"{address} is the loopback address; {obj.name!r} cannot have it")
    spare = len(payload) * 8 - length
    if len(payload) == 4 and spare > 1:
        host = int.from_bytes(payload, "big") & ((1 << spare) - 1)
        if host in (0, (1 << spare) - 1):
            what = "network" if not host else "broadcast"
            checked.report.warn(entry.place("address"), f"{text} is the {what} address of its network")


def routes(checked: Checked) -> None:
    for obj in checked.state.of("route").values():
        attrs = obj.attrs
        entry = checked.entry(obj)
        ways = sorted(name for name in _WAYS if attrs.get(name) is not None)
        name = told(obj.cls, obj.key)
        if attrs.get("type") in DEAD_ENDS:
            if ways:
                checked.refuse(obj, ways[0], f"{name} is of type {attrs['type']} and leads nowhere")
        elif not ways and entry.record.whole:  # or what could not be read, which is told, may say it
            hint = "give it via, dev, nexthops or nhid, or a type such as blackhole"
            checked.refuse(obj, "", f"{name} does not say where to", hint)
        if attrs.get("nexthops") == ():
            checked.refuse(obj, "nexthops", f"{name} has no way among its 'nexthops'", "name one")
        if len({"via", "nexthops", "nhid"} & set(ways)) > 1:
            checked.refuse(obj, "", f"{name} has {' and '.join(ways)}, of which it can have one")


def layer2(checked: Checked) -> None:
    for key, obj in checked.state.of("address").items():
        if checked.attrs(str(key[0])).get("l2only"):
            checked.refuse(obj, "", f"{key[0]!r} is l2only and can have no address")


def unshared(checked: Checked) -> None:
    """What only one VLAN of a port can have is not given to two."""
    seen: dict[tuple[str, str], Value] = {}
    for key, obj in checked.state.of("bridge_vlan").items():
        tunnel = obj.attrs.get("tunnel_id")
        for has, what in ((obj.attrs.get("pvid"), "for untagged packets (pvid)"), (tunnel, f"with tunnel_id {tunnel}")):
            other = seen.setdefault((obj.name, what), key[1]) if has else key[1]
            if other != key[1]:
                checked.refuse(obj, "", f"{obj.name!r} has two VLANs {what}, {other} and {key[1]}")


def forwarded(checked: Checked) -> None:
    """A bridge sends what is for one address by one port."""
    seen: dict[tuple[Value, ...], str] = {}
    for (name, mac, vlan, where, *_), obj in checked.state.of("fdb").items():
        master = checked.links.attrs.get(str(name), {}).get("master") if where == "master" else None
        other = seen.setdefault((master, mac, vlan), str(name)) if master else name
        if other != name:
            in_vlan = f" in VLAN {vlan}" if vlan else ""
            told_ = f"the bridge {master!r} cannot send what is for {mac}{in_vlan} by {name!r}: it does so by {other!r}"
            checked.refuse(obj, "", told_)
