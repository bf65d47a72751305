# SPDX-License-Identifier: GPL-2.0-or-later
"""What has addresses and leads to them, right value by value, and which the kernel refuses or changes as a whole."""

from collections import Counter
from collections.abc import Iterator, Mapping

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.model.address import LEAST_MTU, SCOPES
from netgroupd.model.route import DEAD_ENDS, MAIN_TABLE, METRICS, family_of
from netgroupd.model.state import Attrs, Object, records
from netgroupd.model.sysctl import FORWARDING
from netgroupd.model.value import Value, is_multicast, split_prefix

_CALLED = {"inet": "IPv4", "inet6": "IPv6", "mpls": "MPLS"}


def forwarding(checked: Checked) -> None:
    """What are two names of one setting has one value."""
    said = [obj for path in FORWARDING if (obj := checked.state.of("sysctl").get((path,)))]
    if len({obj.attrs.get("value") for obj in said}) > 1:
        one, other = (f"{str(obj.key[0]).replace('/', '.')} is {obj.attrs['value']}" for obj in said)
        checked.refuse(said[1], "", f"{other}, and {one}: to the kernel they are one setting", "leave one of them out")


def addresses(checked: Checked) -> None:
    """What is said of an address is of its protocol, and it does not end before it is deprecated."""
    small = _small(checked)
    for key, obj in checked.state.of("address").items():
        attrs, peer = obj.attrs, key[2]
        if small and (mtu := small.get((obj.name, family_of(str(key[1]))))):
            what = f"{obj.name!r} has an mtu of {mtu[0]}, with which it cannot have {key[1]}"
            checked.refuse(obj, "", what, f"at least {mtu[1]}")
        if not attrs and peer is None:
            continue  # nearly all
        family = family_of(str(key[1]))
        if peer is not None and family_of(str(peer)) != family:
            checked.refuse(obj, "peer", f"{key[1]} is one of {_CALLED[family]}, and {peer} is not")
        for field in _OF_OTHER_ADDRESSES[family]:
            if attrs.get(field):
                checked.refuse(obj, field, f"{key[1]} is one of {_CALLED[family]}, which has no {field!r}")
        said = attrs.get("scope")
        if family == "inet6" and said is not None and said != (own := _scope_of(str(key[1]))):
            what = f"{key[1]} is one of IPv6, and its number says that its scope is {own}"
            checked.refuse(obj, "scope", what, "leave it out")
        _lifetimes(family, obj, checked)
        _of_its_sort(obj, checked)


def _of_its_sort(obj: Object, checked: Checked) -> None:
    """What only a group, a network of the usual size, or an address that is one can have."""
    text, attrs = str(obj.key[1]), obj.attrs
    address, length = split_prefix(text)
    wrong = {
        "autojoin": attrs.get("autojoin") and not is_multicast(address) and f"{text} is no multicast group to join",
        "mngtmpaddr": attrs.get("mngtmpaddr") and length != _HALF and f"{text} has no prefix of {_HALF} bits",
        "broadcast": attrs.get("broadcast") == "0.0.0.0" and f"0.0.0.0 is no broadcast address of {text}",
    }
    for field, what in wrong.items():
        if what:
            hint = "null is none" if field == "broadcast" else f"leave {field!r} out"
            checked.refuse(obj, field, str(what), hint)


_HALF = 64


def _small(checked: Checked) -> dict[tuple[str, str], tuple[int, int]]:
    """The links that are told to have too small an MTU for a protocol, with that and the least one."""
    sizes = [(name, mtu) for name, attrs in checked.saying("mtu") if isinstance(mtu := attrs["mtu"], int)]
    least = LEAST_MTU.items()
    return {(name, family): (mtu, needed) for name, mtu in sizes for family, needed in least if mtu < needed}


_OF_OTHER_ADDRESSES = {"inet": ("nodad", "home", "mngtmpaddr"), "inet6": ("label", "broadcast")}
_MULTICAST, _LOOPBACK = 0xFF00, bytes(15) + b"\1"
_OF_MULTICAST = {1: "host", 2: "link", 5: "site"}
_OF_UNICAST = {0xFE80: "link", 0xFEC0: "site"}


def _scope_of(address: str) -> str:
    """The scope of an IPv6 address, as the kernel tells it whatever is said."""
    number, _ = split_prefix(address)
    start = int.from_bytes(number[:2], "big")
    if start >= _MULTICAST:
        return _OF_MULTICAST.get(start & 0xF, "global")
    return "host" if number == _LOOPBACK else _OF_UNICAST.get(start & 0xFFC0, "global")


def _lifetimes(family: str, obj: Object, checked: Checked) -> None:
    ends, deprecated = (obj.attrs.get(field, "forever") for field in ("valid_lft", "preferred_lft"))
    entry = checked.entry(obj)
    if ends == 0:
        checked.refuse(obj, "valid_lft", f"{obj.key[1]} is not valid for any time", "leave it out")
    elif isinstance(ends, int) and "preferred_lft" in obj.attrs and not _within(deprecated, ends):
        what = f"{obj.key[1]} cannot be preferred for {deprecated} and valid for {ends}"
        checked.refuse(obj, "preferred_lft", what, f"at most {ends}")
    elif family == "inet" and ends == "forever" and deprecated != "forever" and entry.record.whole:
        what = f"{obj.key[1]} cannot be preferred for {deprecated} and valid forever: it is one of IPv4"
        checked.refuse(obj, "preferred_lft", what, "give it a valid_lft")


def _within(seconds: Value, most: int) -> bool:
    return isinstance(seconds, int) and seconds <= most


def routes(checked: Checked) -> None:
    """The addresses of a route are of its protocol; only a gateway of IPv4 routes can be of the other."""
    for obj in checked.state.of("route").values():
        family = str(obj.key[0])
        if family == "mpls":
            continue
        named: list[tuple[str, Value]] = [("src", obj.attrs.get("src"))]
        if family == "inet6":
            named.append(("via", obj.attrs.get("via")))
            named += (("nexthops", hop.get("via")) for hop in records(obj.attrs, "nexthops"))
        for field, address in named:
            if address is not None and family_of(str(address)) != family:
                what = f"{told('route', obj.key)} is one of {_CALLED[family]}, and {address} is not"
                checked.refuse(obj, field, what)
        if family == "inet6" and any(hop.get("realm") for hop in records(obj.attrs, "nexthops")):
            what = f"{told('route', obj.key)} is one of {_CALLED[family]}, which has no 'realm'"
            checked.refuse(obj, "nexthops", what)
        if family == "inet6" and any(not hop.get("via") for hop in records(obj.attrs, "nexthops")):
            what = f"each of the ways of {told('route', obj.key)} needs a gateway (via)"
            checked.refuse(obj, "nexthops", what, "IPv6 has several ways only by gateways")


def ways(checked: Checked) -> None:
    """What only one way has is not said beside several, or a nexthop object, or none; nor what another protocol has."""
    for obj in checked.state.of("route").values():
        for field, what, hint in (*_beside_ways(obj.attrs), *_of_other_protocols(obj)):
            checked.refuse(obj, field, f"{told('route', obj.key)} {what}", hint)


def _beside_ways(attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    """The fields that are said in vain, what is wrong with them, and what would be right."""
    whole = next((field for field in _ELSEWHERE if attrs.get(field)), "")
    if whole:
        for field in _OF_ONE_WAY:
            if attrs.get(field) is not None:
                hint = f"say that {_ELSEWHERE[whole]}" if (whole, field) != ("nhid", "realm") else "leave it out"
                yield field, f"has {whole!r} and beside it {field!r}", hint
    elif attrs.get("type") in DEAD_ENDS:
        for field in ("encap", "onlink"):
            if attrs.get(field) is not None:
                yield field, f"is of type {attrs['type']} and leads nowhere", f"take {field!r} out"


def _of_other_protocols(obj: Object) -> Iterator[tuple[str, str, str]]:
    """The same of what a route of its protocol has not."""
    family, table, _, tos, metric = obj.key
    said: Attrs = {**obj.attrs, "tos": tos, "table": table != MAIN_TABLE, "metric": metric}
    for field in _OF_OTHERS[str(family)]:
        if said.get(field) not in _USUAL.get(field, _NOTHING):
            yield field, f"is one of {_CALLED[str(family)]}, which has no {field!r}", ""


def links_of_gateways(checked: Checked) -> None:
    """A gateway is looked for by a link that is named, where the address alone does not say by which."""
    for cls in ("route", "nexthop"):
        for obj in checked.state.of(cls).values():
            ways = records(obj.attrs, "nexthops")
            for field, way in (("via", obj.attrs), *(("nexthops", hop) for hop in ways)):
                via = str(way.get("via") or "")
                if way.get("dev") or not via:
                    continue
                if via.startswith(_LINK_LOCAL):
                    what = f"{told(cls, obj.key)} does not say by which link {via} is reached"
                    checked.refuse(obj, field, what, "give it a dev")
                elif way.get("onlink"):
                    what = f"{told(cls, obj.key)} does not say on which link {via} is (onlink)"
                    checked.refuse(obj, field, what, "give it a dev")


def scopes(checked: Checked) -> None:
    """What lies behind a gateway is farther than the link, and this host's own addresses are not."""
    for obj in checked.state.of("route").values():
        scope, least = obj.attrs.get("scope"), _FARTHEST.get(str(obj.attrs.get("type")))
        if scope and least and SCOPES[str(scope)] < SCOPES[least]:
            what = f"{told('route', obj.key)} is of type {obj.attrs['type']}, and its scope is {scope}"
            checked.refuse(obj, "scope", what, f"say {least}, or leave it out")
        near = scope == "host" or (scope == "link" and not obj.attrs.get("nhid"))
        used = checked.state.of("nexthop").get((obj.attrs.get("nhid"),))
        ends = used is not None and used.attrs.get("blackhole")
        if near and not ends and any(obj.attrs.get(field) for field in ("via", "nhid")):
            what = f"{told('route', obj.key)} leads by a gateway, and its scope is {scope}"
            checked.refuse(obj, "scope", what, "leave it out")


_FARTHEST = {"anycast": "link", "broadcast": "link", "local": "host"}


def locks(checked: Checked) -> None:
    """Of all that can be locked the clamp of the congestion window has to be there."""
    for obj in checked.state.of("route").values():
        locked, entry = obj.attrs.get("lock"), checked.entry(obj)
        if isinstance(locked, tuple) and "cwnd" in locked and not obj.attrs.get("cwnd") and entry.record.whole:
            checked.refuse(obj, "lock", f"{told('route', obj.key)} has no 'cwnd' to lock", "give it one")


_OF_ONE_WAY = ("dev", "encap", "onlink", "as", "realm")
_ELSEWHERE = {"nexthops": "in each of them", "nhid": "in that nexthop object"}
_OF_FAMILIES = {
    "scope": ("inet",),
    "realm": ("inet",),
    "tos": ("inet",),
    "pref": ("inet6",),
    "as": ("mpls",),
    "ttl_propagate": ("mpls",),
    "type": ("inet", "inet6"),
    "onlink": ("inet", "inet6"),
    "nhid": ("inet", "inet6"),
    "src": ("inet", "inet6"),
    **dict.fromkeys(METRICS, ("inet", "inet6")),
    "table": ("inet", "inet6"),
    "metric": ("inet", "inet6"),
}
_OF_OTHERS = {
    family: tuple(field for field, families in _OF_FAMILIES.items() if family not in families) for family in _CALLED
}
_NOTHING: tuple[Value, ...] = (None, 0, False, "global", "medium", ())
_USUAL: Mapping[str, tuple[Value, ...]] = {
    "ttl_propagate": (None,),
    "type": (None, "unicast"),
}  # of others the kernel takes what there is anyhow


def nexthops_of_routes(checked: Checked) -> None:
    """No IPv6 route goes by a nexthop object of IPv4."""
    described = checked.state.of("nexthop")
    for obj in checked.state.of("route").values() if described else ():
        used = described.get((obj.attrs.get("nhid"),)) if obj.key[0] == "inet6" else None
        if used is None:
            continue
        members = [described.get((member.get("id"),)) for member in records(used.attrs, "group")]
        ipv4 = next((each for each in (members or [used]) if each and _family_of_nexthop(each) == "inet"), None)
        if ipv4:
            what = f"{told('route', obj.key)} is one of IPv6, and nexthop {ipv4.key[0]} is not"
            hint = "" if ipv4.attrs.get("via") else f"say 'family: inet6' of nexthop {ipv4.key[0]}"
            checked.refuse(obj, "nhid", what, hint)


def _family_of_nexthop(obj: Object) -> str:
    """What a nexthop is of that is no group: of IPv4, if nothing says otherwise."""
    via = obj.attrs.get("via")
    return str(obj.attrs.get("family") or (family_of(str(via)) if via else "inet"))


def gateways(checked: Checked) -> None:
    """No gateway is looked for by a VRF itself, unless that has a network of its own."""
    vrfs = set(checked.by_kind.get("vrf", ())) - {address.name for address in checked.state.of("address").values()}
    led = (obj for cls in ("route", "nexthop") for obj in checked.state.of(cls).values()) if vrfs else ()
    for obj in led:
        for field, way in (("dev", obj.attrs), *(("nexthops", hop) for hop in records(obj.attrs, "nexthops"))):
            via = str(way.get("via") or _LINK_LOCAL)
            taken = way.get("onlink") or via.startswith(_LINK_LOCAL) or obj.key[0] == "mpls"
            if way.get("dev") in vrfs and not taken:
                what = f"{via} is reached by a link in the VRF {way['dev']!r}, not by that itself"
                checked.refuse(obj, field, what, "name that link")


_LINK_LOCAL = "fe80:"


def rules(checked: Checked) -> None:
    """The networks of a rule are of its protocol, it does one thing, and it goes only forward."""
    for obj in checked.state.of("rule").values():
        family, pref = str(obj.key[0]), obj.key[1]
        for field in ("from", "to"):
            network = obj.attrs.get(field)
            if network not in (None, "default") and family_of(str(network)) != family:
                what = f"this rule is one of {_CALLED[family]}, and {network} is not"
                checked.refuse(obj, field, what, "write a rule for each protocol")
        if family == "inet6" and obj.attrs.get("realms"):
            checked.refuse(obj, "realms", "this rule is one of IPv6, which has no 'realms'")
        _services(family, obj, checked)
        does = [field for field in _ACTIONS if obj.attrs.get(field)]
        if any(obj.attrs.get("action", _ACTIONS[field]) != _ACTIONS[field] for field in does):
            does.insert(0, f"action {obj.attrs['action']}")
        elif obj.attrs.get("l3mdev") and "lookup" in does:  # of others it selects the packets that are of a VRF
            does.append("l3mdev")
        if len(does) > 1:
            checked.refuse(obj, does[-1], f"this rule has {' and '.join(does)}, of which it can have one")
        target = obj.attrs.get("goto")
        if obj.attrs.get("action") == "goto" and not does:
            what = "this rule does not say where to go on"
            checked.refuse(obj, "action", what, "give it goto, with the pref of another rule")
        if isinstance(target, int) and isinstance(pref, int) and target <= pref:
            what = f"a rule at {pref} cannot go to {target}"
            checked.refuse(obj, "goto", what, "the kernel goes only to a larger pref")


def _services(family: str, obj: Object, checked: Checked) -> None:
    """Of IPv4 the kernel looks at few bits of a tos, and at all of a DSCP; and at one of them."""
    tos = obj.attrs.get("tos")
    if family == "inet" and isinstance(tos, int) and tos > _MOST_OF_TOS:
        checked.refuse(obj, "tos", f"a rule of IPv4 cannot select by a tos of {tos}", f"say 'dscp: {tos >> 2}'")
    elif tos and obj.attrs.get("dscp") is not None:
        checked.refuse(obj, "dscp", "this rule has tos and dscp, of which it can have one")


_MOST_OF_TOS = 0x1C
_ACTIONS = {"lookup": "lookup", "goto": "goto"}


def nexthops(checked: Checked) -> None:
    """A nexthop leads somewhere by its own protocol; or it is a group of others."""
    for obj in checked.state.of("nexthop").values():
        attrs, entry = obj.attrs, checked.entry(obj)
        name, via, family = f"nexthop {obj.key[0]}", attrs.get("via"), attrs.get("family")
        if via and family and family_of(str(via)) != family:
            checked.refuse(obj, "via", f"{name} is one of {_CALLED[str(family)]}, and {via} is not")
        if attrs.get("group") is not None:
            _group(name, obj, checked)
        elif odd := [field for field in _OF_GROUPS if attrs.get(field) is not None]:
            checked.refuse(obj, odd[0], f"{name} is no group, and can have no {odd[0]!r}")
        elif not any(attrs.get(way) for way in ("dev", "blackhole", "fdb")) and entry.record.whole:
            checked.refuse(obj, "", f"{name} does not say where to", "give it dev, blackhole or group")
        else:
            for does, others in _NOT_BESIDE.items():
                for way in others if attrs.get(does) else ():
                    if attrs.get(way):
                        checked.refuse(obj, way, f"{name} is {_WHAT[does]}, and can have no {way!r}")
            if attrs.get("onlink") and not via and entry.record.whole:
                checked.refuse(obj, "onlink", f"{name} has no gateway (via) that could be on its link")


_OF_RESILIENT = ("buckets", "idle_timer", "unbalanced_timer")
_OF_GROUPS = ("group_type", *_OF_RESILIENT)
_NOT_BESIDE = {"blackhole": ("via", "dev", "encap", "onlink", "fdb"), "fdb": ("dev", "encap", "onlink")}
_WHAT = {"blackhole": "a blackhole", "fdb": "for forwarding entries (fdb)"}


def _group(name: str, obj: Object, checked: Checked) -> None:
    """A group has members, each once, and none that is a group; and it is nothing else."""
    described = checked.state.of("nexthop")
    for way in ("family", "via", "dev", "blackhole", "encap", "onlink"):
        if obj.attrs.get(way):
            checked.refuse(obj, way, f"{name} is a group, and can have no {way!r} itself")
    _resilient(name, obj, checked)
    members = [member.get("id") for member in records(obj.attrs, "group")]
    if not members:
        checked.refuse(obj, "group", f"the group of {name} has no members")
    for number, times in Counter(members).items():
        if times > 1:
            checked.refuse(obj, "group", f"{name} has {number} in its group twice", "use weight")
        if other := described.get((number,)):
            _member(name, obj, other, checked)


def _resilient(name: str, obj: Object, checked: Checked) -> None:
    """A resilient group has buckets, and no other has."""
    entry, resilient = checked.entry(obj), obj.attrs.get("group_type") == "resilient"
    for field in _OF_RESILIENT if not resilient else ():
        if obj.attrs.get(field) is not None:
            what = f"{name} can have no {field!r}: it is no resilient group"
            checked.refuse(obj, field, what, "set group_type: resilient")
    if resilient and obj.attrs.get("buckets") is None and entry.record.whole:
        checked.refuse(obj, "group_type", f"{name} is a resilient group without 'buckets'", "say how many")


def _member(name: str, group: Object, member: Object, checked: Checked) -> None:
    """A member is no group, sends what the group sends, and leads somewhere unless it is alone."""
    place, told = checked.entry(group).place("group"), f"{name} cannot have {member.key[0]} in its group"
    if member.attrs.get("group"):
        checked.report.once(place, f"{told}: that is a group itself")
    elif bool(member.attrs.get("fdb")) is not bool(group.attrs.get("fdb")):
        what = f"{told}: one is for forwarding entries (fdb), and one is not"
        checked.report.once(place, what, "say fdb of both, or of neither")
    elif member.attrs.get("blackhole") and len(records(group.attrs, "group")) > 1:
        checked.report.once(place, f"{told} of several: that is a blackhole")


_FOUND_OUT = ("lladdr", "state", "router")


def neighbours(checked: Checked) -> None:
    """Of an address that is answered for there is nothing to know, and of a managed one the kernel finds it out."""
    for key, obj in checked.state.of("neighbour").items():
        for field in _FOUND_OUT if obj.attrs.get("managed") and not key[2] else ():
            if obj.attrs.get(field):
                what = f"{key[1]} on {key[0]!r} is managed: its {field!r} is what the kernel finds out"
                checked.refuse(obj, field, what)
        for field in ("lladdr", "state", "managed") if key[2] else ():
            if obj.attrs.get(field):
                checked.refuse(obj, field, f"{key[1]} on {key[0]!r} is answered for (proxy), and has no {field!r}")
