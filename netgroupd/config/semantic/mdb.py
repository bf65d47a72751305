# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast groups that a bridge does not take, or that lead nowhere in it."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from netgroupd.config.checked import Checked
from netgroupd.model.bridge_vlan import DEFAULT_VID, is_out
from netgroupd.model.mdb import MOST_SOURCES, family_of, is_of_host, senders
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value, ip_bytes, is_multicast

_USUAL_MOST = 4096
_SENDERS = ("filter_mode", "source_list")
_SPEAKS = {4: ("mcast_igmp_version", 3), 6: ("mcast_mld_version", 2)}


class _Wrong(NamedTuple):
    """What is wrong with an entry, in which of its fields, and what would be right."""

    field: str
    told: str
    hint: str = ""


def memberships(checked: Checked) -> None:
    """Every entry is one that its bridge takes."""
    for key, obj in checked.state.of("mdb").items():
        if {key[0], key[1]} & checked.links.unsound or not _in_its_bridge(obj, checked):
            continue
        bridge = checked.attrs(obj.name)
        for rule in _RULES:
            for wrong in rule(obj, bridge):
                checked.refuse(obj, wrong.field, wrong.told, wrong.hint)
        _in_a_snooped_vlan(obj, bridge, checked)
        _in_a_vlan_that_learns(obj, bridge, checked)
        _apart_from_lists(obj, checked)
    _fit(checked)


def _in_its_bridge(obj: Object, checked: Checked) -> bool:
    """Whether the bridge is one and has the port, as far as can be told."""
    links, entry = checked.links, checked.entry(obj)
    bridge, port = str(obj.key[0]), str(obj.key[1])
    kind = links.kind(bridge)
    if kind != "bridge" and (kind or bridge not in links.known):
        hint = "a port's groups are written under `mdb` of its bridge, with `port`"
        links.report.missing(entry.place("dev"), f"{bridge!r} is no bridge", hint)
        return False
    attrs = links.attrs.get(port)
    if is_of_host(obj.key) or (attrs is None and port in links.known):
        return True
    if attrs is None:
        return False  # there is no such link, which is told
    if attrs.get("master") == bridge or (port in links.known and "master" not in attrs):
        return True
    hint = f"name it in `ports` of {bridge!r}"
    links.report.missing(entry.place("port"), f"{port!r} is no port of the bridge {bridge!r}", hint)
    return False


def _of_host(obj: Object, _bridge: Attrs) -> Iterator[_Wrong]:
    if is_of_host(obj.key) and family_of(obj.key[2]):
        told = f"{obj.name!r} itself cannot be in {obj.key[2]} for good: the kernel forgets that after some minutes"
        hint = "name a port of it, or give it the address of the group under `addresses`, with `autojoin: true`"
        yield _Wrong("port", told, hint)


def _not_of_ip(obj: Object, _bridge: Attrs) -> Iterator[_Wrong]:
    """A MAC address has no senders."""
    if not family_of(obj.key[2]):
        for field in ("src", *_SENDERS):
            if (obj.key[4] if field == "src" else obj.attrs.get(field)) is not None:
                yield _Wrong(field, f"{obj.key[2]} is no group of IP, and has no {field!r}")


def _senders(obj: Object, _bridge: Attrs) -> Iterator[_Wrong]:
    """Senders are hosts, and speak the protocol of the group."""
    family = family_of(obj.key[2])
    if not family:
        return
    for field, sender in (("src", obj.key[4]), *(("source_list", one) for one in senders(obj.attrs))):
        if sender is None:
            continue
        if family_of(sender) != family:
            yield _Wrong(field, f"{obj.key[2]} is a group of IPv{family}, and {sender} is not of that")
        elif is_multicast(ip_bytes(str(sender))):
            yield _Wrong(field, f"{sender} is a group, and cannot be a sender")


def _lists(obj: Object, _bridge: Attrs) -> Iterator[_Wrong]:
    """A list is for the entry of all senders, and has some."""
    listed = senders(obj.attrs)
    for field in _SENDERS:
        if obj.key[4] is not None and obj.attrs.get(field) is not None:
            yield _Wrong(field, f"an entry for the sender {obj.key[4]} has no {field!r}", "leave one of them out")
    if obj.attrs.get("filter_mode") == "include" and not listed:
        yield _Wrong("filter_mode", "an entry that includes no sender is for none", "list some in `source_list`")
    if len(listed) > MOST_SOURCES:
        yield _Wrong("source_list", f"these are {len(listed)} senders", f"the kernel takes {MOST_SOURCES}")


def _spoken(obj: Object, bridge: Attrs) -> Iterator[_Wrong]:
    """Only a bridge that speaks of senders tells of them again."""
    said = [field for field in _SENDERS if obj.attrs.get(field) is not None]
    if bridge.get("kind") == "bridge" and said and (wrong := unspoken(obj, bridge)):
        yield _Wrong(said[0], f"{obj.name!r} looks at no senders of {obj.key[2]}", wrong)


def unspoken(obj: Object, bridge: Attrs) -> str:
    """What a bridge must be told before it looks at the senders of a group; "" if it does."""
    option, version = _SPEAKS.get(family_of(obj.key[2]), ("", None))
    return f"set {option} of {obj.name!r} to {version}" if option and bridge.get(option) != version else ""


def unspoken_in_vlan(obj: Object, bridge: Attrs, options: Object | None) -> str:
    """What must be said of a VLAN before a bridge that learns for each looks at the senders there; "" if it does."""
    option, version = _SPEAKS.get(family_of(obj.key[2]), ("", None))
    if not option or not bridge.get("mcast_vlan_snooping") or (options and options.attrs.get(option) == version):
        return ""
    return f"set {option} of VLAN {obj.key[3]} to {version}, under `vlan_global` of {obj.name!r}"


def _snooped(obj: Object, bridge: Attrs) -> Iterator[_Wrong]:
    if bridge.get("mcast_snooping") is False:
        told = f"{obj.name!r} sends all multicast to all ports, and takes no group: its 'mcast_snooping' is off"
        yield _Wrong("group", told, "leave `mcast_snooping` out")


def _filtered(obj: Object, bridge: Attrs) -> Iterator[_Wrong]:
    """The kernel would make one of it for each VLAN that the port is in just then."""
    if bridge.get("vlan_filtering") and not obj.key[3]:
        yield _Wrong("vid", f"{obj.name!r} tells VLANs apart, and {obj.key[2]} is in none", "say in which: vid: 1")


_RULES: tuple[Callable[[Object, Attrs], Iterator[_Wrong]], ...] = (
    _of_host,
    _not_of_ip,
    _senders,
    _lists,
    _spoken,
    _snooped,
    _filtered,
)


def _in_a_snooped_vlan(obj: Object, bridge: Attrs, checked: Checked) -> None:
    """A bridge that learns for each VLAN must be in that itself."""
    vid = obj.key[3]
    vlan = checked.state.of("bridge_vlan").get((obj.name, vid))
    in_it = not is_out(vlan) if vlan else vid in (0, bridge.get("vlan_default_pvid", DEFAULT_VID))
    if bridge.get("mcast_vlan_snooping") and not in_it:
        told = f"{obj.name!r} learns multicast for each VLAN, and is not in VLAN {vid} itself"
        checked.refuse(obj, "vid", told, f"name it under `vlans` of {obj.name!r}")


def _in_a_vlan_that_learns(obj: Object, bridge: Attrs, checked: Checked) -> None:
    """A bridge that learns for each VLAN takes groups of those alone where it does."""
    vid, options = obj.key[3], checked.state.of("vlan_global").get((obj.name, obj.key[3]))
    if not (bridge.get("mcast_vlan_snooping") and options and options.attrs.get("mcast_snooping") is False):
        return
    told = f"{obj.name!r} sends all multicast of VLAN {vid} to all ports, and takes no group there"
    hint = f"leave `mcast_snooping` out: {checked.report.where(checked.entry(options).place('mcast_snooping'))}"
    checked.refuse(obj, "vid", told, hint)


def _apart_from_lists(obj: Object, checked: Checked) -> None:
    """The kernel has an entry for each sender of a list already."""
    entries = checked.state.of("mdb")
    for sender in senders(obj.attrs):
        if other := entries.get((*obj.key[:4], sender)):
            told = f"{sender} has an entry of its own for {obj.key[2]} on {obj.key[1]!r}"
            hint = f"leave it out here, or there: {checked.report.where(checked.entry(other).at)}"
            checked.refuse(obj, "source_list", told, hint)


def _fit(checked: Checked) -> None:
    """A bridge that is to know too many groups ceases to look at any."""
    counts: Counter[Value] = Counter()
    last: dict[Value, Object] = {}
    seen: set[Key] = set()
    for obj in checked.state.of("mdb").values():
        bridge, _, group, vid, source = obj.key
        for sender in (source, *senders(obj.attrs)):
            if (known := (bridge, group, vid, sender)) not in seen:
                seen.add(known)
                counts[bridge] += 1
                last[bridge] = obj
    for bridge, count in counts.items():
        attrs = checked.attrs(str(bridge))
        most = attrs.get("mcast_hash_max", _USUAL_MOST)
        if attrs.get("kind") == "bridge" and isinstance(most, int) and count > most:
            told = f"{bridge!r} would be told {count:,} groups, and ceases to look at any behind {most:,}"
            place = checked.entry(last[bridge]).place("group")
            hint = f"set mcast_hash_max of {bridge!r} to more, such as {1 << count.bit_length()}"
            checked.report.once(place, told, hint)
