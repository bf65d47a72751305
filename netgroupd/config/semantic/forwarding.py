# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of forwarding entries and neighbours, and not for the links that they are of."""

from collections.abc import Iterator, Mapping, Set

from netgroupd.config.checked import Checked
from netgroupd.model.bridge_vlan import DEFAULT_VID
from netgroupd.model.fdb import WITH_TABLES
from netgroupd.model.neighbour import pack_link_address
from netgroupd.model.state import Object
from netgroupd.model.value import Value

_OF_TUNNELS = ("dst", "vni", "port", "via", "nhid")
_OF_NEXTHOPS = frozenset({"dst", "vni", "port", "via"})
_TO_ONE = frozenset({"bareudp", "wireguard"})
_WITHOUT_ADDRESSES = _TO_ONE | {"nlmon", "xfrm"}
_LENGTHS = {**dict.fromkeys(("gre", "ipip", "sit", "vti"), 4), **dict.fromkeys(("ip6gre", "ip6tnl", "vti6"), 16)}
_OF_LENGTH = {4: "an IPv4 address", 6: "a MAC", 16: "an IPv6 address"}
_OF_ANY_LENGTH = frozenset({"", "bond", "ipvlan", "ipvtap", "team", "tun"})  # what is below or in them may have others
_ADDRESSED_OR_NOT = _OF_ANY_LENGTH | _WITHOUT_ADDRESSES


def entries(checked: Checked) -> None:
    """Only a VXLAN sends to other hosts, and by VNI if it has several; in the table of a bridge are its ports."""
    listed: dict[Value, set[Value]] = {}
    for link, vid in checked.state.of("bridge_vlan"):
        listed.setdefault(link, set()).add(vid)
    states: dict[tuple[Value, ...], Value] = {}
    for key, obj in checked.state.of("fdb").items():
        kind = checked.links.kind(obj.name)
        if obj.name == "lo":
            checked.refuse(obj, "", "'lo' has no forwarding entries: it sends no frames")
        if not kind or obj.name in checked.links.unsound:
            continue
        _of_tunnels(obj, kind, checked)
        if key[3] == "self" and kind not in WITH_TABLES:
            _received(obj, checked)
        elif kind != "vxlan":
            _sticking(obj, checked)
        if key[3] == "master":
            _bridged(obj, listed, checked)
        elif "state" in obj.attrs:
            _alike(obj, states, checked)


def _of_tunnels(obj: Object, kind: str, checked: Checked) -> None:
    for field in _sent(obj) if kind != "vxlan" else ():
        checked.refuse(obj, field, f"{obj.name!r} is no VXLAN, and sends to no other host ({field})", "leave it out")
    if kind == "vxlan" and obj.key[-1] is not None and not checked.attrs(obj.name).get("external"):
        told = f"{obj.name!r} has one VNI for all packets, and no entries for {obj.key[-1]} alone"
        checked.refuse(obj, "src_vni", told, f"leave it out, or set external of {obj.name!r}")
    if kind == "vxlan" and obj.key[3] == "self":
        _led(obj, checked)


def _alike(obj: Object, states: dict[tuple[Value, ...], Value], checked: Checked) -> None:
    """The kernel keeps one state of an address that is sent to several ends: that which it was told last."""
    state = obj.attrs["state"]
    first = states.setdefault((*obj.key[:2], obj.key[5]), state)
    if state != first:
        told = f"the entry {obj.key[1]} of {obj.name!r} is {first} to another end, and has one state for all"
        checked.refuse(obj, "state", told, f"set state: {first}, or leave it out")


def _sticking(obj: Object, checked: Checked) -> None:
    """What would not move to another port is an address that is behind one."""
    if obj.attrs.get("sticky") and obj.attrs.get("state") == "permanent":
        told = f"the entry {obj.key[1]} of {obj.name!r} is permanent, an address of the bridge, which moves to no port"
        checked.refuse(obj, "sticky", told, "set state: static, or leave it out")


def _bridged(obj: Object, listed: Mapping[Value, Set[Value]], checked: Checked) -> None:
    vid = obj.key[2]
    if checked.links.kind(obj.name) != "bridge" and not _may_be_in_bridge(obj, checked):
        checked.refuse(obj, "where", f"{obj.name!r} is no port of a bridge, in whose table this would be")
    elif obj.name in listed and vid not in (0, DEFAULT_VID, *listed[obj.name]):
        told = f"{obj.name!r} is not in VLAN {vid}, in which this would be"
        checked.refuse(obj, "vlan", told, f"list it in `vlans` of {obj.name!r}")


def _led(obj: Object, checked: Checked) -> None:
    """The kernel takes no entry of a VXLAN that does not say where to, also where that has a remote, and no VLAN."""
    if obj.key[2]:
        told = f"{obj.name!r} is a VXLAN, and has no VLAN {obj.key[2]} in its own table"
        checked.refuse(obj, "vlan", told, "leave it out, or set where: master")
    _reached(obj, checked)
    if not (obj.key[4] or obj.attrs.get("dst") or obj.attrs.get("nhid")):
        told = f"the entry {obj.key[1]} of the VXLAN {obj.name!r} does not say where to"
        checked.refuse(obj, "", told, "give it a dst or nhid")
    number = obj.attrs.get("nhid")
    for field in (field for field in _sent(obj) if field in _OF_NEXTHOPS) if number else ():
        told = f"the entry {obj.key[1]} of the VXLAN {obj.name!r} has a nexthop, and beside it {field!r}"
        checked.refuse(obj, field, told, "take one of them out")
    used = checked.state.of("nexthop").get((number,))
    if used and not (used.attrs.get("fdb") and used.attrs.get("group")):
        told = f"nexthop {number} is no group for forwarding entries, and {obj.name!r} has it for {obj.key[1]}"
        checked.refuse(obj, "nhid", told, "it needs a group, with fdb")


def _reached(obj: Object, checked: Checked) -> None:
    """A VXLAN sends by one IP version, that of what it is told of where it sends; by IPv4 if nothing is."""
    attrs, dst = checked.attrs(obj.name), obj.key[4] or obj.attrs.get("dst")
    end = str(attrs.get("remote") or attrs.get("local") or "")
    if not dst or (not end and obj.name in checked.links.known) or (":" in end) is (":" in str(dst)):
        return
    version, other = ("IPv6", "IPv4") if ":" in end else ("IPv4", "IPv6")
    told = f"{obj.name!r} sends over {version}, and {dst} is an address of {other}"
    hint = "" if end else "say by `local` of it from where"
    checked.refuse(obj, "dst", told, hint)


def _received(obj: Object, checked: Checked) -> None:
    """A link that forwards nothing has addresses to receive for, and no more than these."""
    said = {"vlan": obj.key[2], "sticky": obj.attrs.get("sticky")}
    for field in (field for field, value in said.items() if value):
        told = f"{obj.name!r} forwards nothing, and has no {field!r} of {obj.key[1]} in a table of its own"
        checked.refuse(obj, field, told, "leave it out, or set where: master")


def _sent(obj: Object) -> Iterator[str]:
    *_, dst, src_vni = obj.key
    yield from (name for name in _OF_TUNNELS if obj.attrs.get(name) or (name == "dst" and dst))
    if src_vni is not None:
        yield "src_vni"


def _may_be_in_bridge(obj: Object, checked: Checked) -> bool:
    """Whether its master is a bridge, as far as can be told: what no file says of a link that others made stays."""
    attrs = checked.attrs(obj.name)
    if "master" not in attrs and obj.name in checked.links.known:
        return True
    master = attrs.get("master")
    return bool(master) and checked.links.kind(str(master)) in ("", "bridge")


def neighbours(checked: Checked) -> None:
    """The kernel has one neighbour of IPv4, 0.0.0.0, on a link that sends to no addresses, and on some no address."""
    for key, obj in checked.state.of("neighbour").items():
        kind, attrs = checked.links.kind(obj.name), checked.attrs(obj.name)
        of_packets = kind == "tun" and attrs.get("mode") == "tun"
        if (of_packets or kind in _WITHOUT_ADDRESSES) and obj.attrs.get("lladdr"):
            told = f"{obj.name!r} is a {kind}, and its neighbours have no link-layer addresses"
            checked.refuse(obj, "lladdr", told, "leave it out")
        elif obj.attrs.get("lladdr") and kind not in _OF_ANY_LENGTH:
            _length(obj, kind, checked)
        elif "lladdr" in obj.attrs and not (obj.attrs.get("managed") or key[2]) and kind not in _ADDRESSED_OR_NOT:
            told = f"a neighbour on {obj.name!r}, a {kind}, has a link-layer address always: null takes none away"
            checked.refuse(obj, "lladdr", told, "leave it out, or give it one")
        to_one = of_packets or kind in _TO_ONE or (kind in _LENGTHS and bool(attrs.get("remote")))
        if (obj.name == "lo" or to_one) and not (key[2] or ":" in str(key[1])):
            told = f"{obj.name!r} sends to no link-layer addresses, and cannot have {key[1]} as a neighbour"
            checked.refuse(obj, "ip", told)


def _length(obj: Object, kind: str, checked: Checked) -> None:
    """A link-layer address is as long as those of its link: of one that is longer the kernel takes the beginning."""
    lladdr, length = obj.attrs["lladdr"], _LENGTHS.get(kind, 6)
    if len(pack_link_address(lladdr)) != length:
        told = f"the link-layer address of a neighbour on {obj.name!r}, a {kind}, is {_OF_LENGTH[length]}, not {lladdr}"
        checked.refuse(obj, "lladdr", told)
