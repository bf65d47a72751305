# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that the kernel does not let be together: it refuses the second of them, or to enslave it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netgroupd.config.checked import Checked
from netgroupd.model.kinds import KINDS, RING_PORTS, TAKERS
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value, ip_bytes, is_multicast

WITHOUT_ETHERNET = frozenset(
    {"bareudp", "gre", "ip6gre", "ip6tnl", "ipip", "nlmon", "sit", "vti", "vti6", "wireguard", "xfrm"}
)
"""Kinds that send packets, and no frames."""

_TAPS = frozenset({"macvtap", "ipvtap"})  # whose program takes all that comes in
_UNFIT = {
    "bridge": WITHOUT_ETHERNET | _TAPS | {"bridge", "ipvlan", "vrf"},
    "bond": _TAPS | {"ipvlan", "vrf"},
    "team": _TAPS | {"ipvlan", "vrf"},
    "vrf": frozenset({"vrf"}),
}
_NO_FOUNDATION = WITHOUT_ETHERNET | {"vrf"}
_NO_FOUNDATION_OF = {
    "vlan": _NO_FOUNDATION | IPVLANS | {"hsr"},
    "macsec": _NO_FOUNDATION | IPVLANS | _TAPS,
    **dict.fromkeys(("macvlan", "macvtap"), _NO_FOUNDATION | IPVLANS | {"macvlan", "macvtap"}),
    **dict.fromkeys(IPVLANS, _NO_FOUNDATION | IPVLANS | _TAPS),
}
_MACVLANS = ("macvlan", "macvtap")
_NEVER_BELOW = frozenset({"loopback device", "tun of IP packets"})
_TAKE_PORTS = frozenset({"bond", "bridge", "team"})
_KEYED = ("erspan", "gre", "gretap", "ip6erspan", "ip6gre", "ip6gretap", "vti", "vti6")
_TOLD_APART = {
    **dict.fromkeys(_KEYED, "the same local, remote, dev and ikey"),
    **dict.fromkeys(("ip6tnl", "ipip", "sit"), "the same local, remote and dev"),
    "bareudp": "the same dstport",
    "geneve": "the same id, remote and dstport",
    "vxlan": "the same network (id) and dstport",
    "xfrm": "the same if_id",
}
_LIKE = {"ip6erspan": "ip6gretap"}  # the kernel has them in one table
_CAN_BE_EXTERNAL = ("erspan", "geneve", "gre", "gretap", "ip6erspan", "ip6gre", "ip6tnl", "ipip", "sit", "xfrm")
_OF_ALL = {kind: kind for kind in _CAN_BE_EXTERNAL} | {"ip6gretap": "ip6gre"}
_ENDS = ("local", "remote", "dev", "ikey")
_TELLING = {"bareudp": ("dstport",), "geneve": ("id", "remote", "dstport"), "xfrm": ("if_id",)}
_VXLAN_PORT, _GENEVE_PORT = 8472, 6081
_VXLAN_MODES = frozenset({"external", "gbp", "gpe", "remcsumrx", "udp6zerocsumrx", "vnifilter"})


def unfit_ports(checked: Checked) -> None:
    """No port is one that its master does not take."""
    links = checked.links
    for master, ports in checked.by_master.items():
        of_master = str(links.attrs.get(master, {}).get("kind"))
        for name in ports if of_master in _UNFIT else ():
            kind = links.attrs[name].get("kind")
            if kind in _UNFIT[of_master] or name == "lo":
                what = "the loopback device" if name == "lo" else f"a {kind}"
                told = f"{name!r} cannot be a port of the {of_master} {master!r}: it is {what}"
                checked.refuse_link(name, "master", told)


def foundations(checked: Checked) -> None:
    """No lower link is given to what stands on none, for the kernel takes and forgets it."""
    for name, attrs in checked.saying("link", _ON_NONE):
        if link := attrs["link"]:
            kind = str(attrs["kind"])
            told = f"{name!r} cannot have the lower link {link!r}: a {kind} stands on none"
            if "dev" in KINDS[kind].attrs:
                hint = "the link that it sends by is its 'dev'"
            else:
                hint = f"its ports are those with 'master: {name}'" if KINDS[kind].port else "leave it out"
            checked.refuse_link(name, "link", told, hint)


_ON_NONE = tuple(name for name, kind in KINDS.items() if not kind.lower)


def unfit_foundations(checked: Checked) -> None:
    """What has frames of its own stands on what has frames, and not on its like, for the kernel looks below that."""
    links = checked.links
    fit: set[tuple[Value, Value]] = set()  # very many VLANs are of few links
    for name, attrs in checked.of_kinds(_NO_FOUNDATION_OF):
        if (pair := (attrs["kind"], attrs.get("link"))) in fit or attrs.get("link") == name:  # which is told as a loop
            continue
        lower, kind = str(attrs.get("link") or ""), str(attrs["kind"])
        below = links.attrs.get(lower, {})
        of_lower = "tun of IP packets" if below.get("mode") == "tun" else str(below.get("kind"))
        of_lower = "loopback device" if lower == "lo" else of_lower
        if of_lower in _NO_FOUNDATION_OF[kind] or of_lower in _NEVER_BELOW:
            told = f"{name!r}, a {kind}, cannot stand on {lower!r}: it is a {of_lower}"
            alike = TAKERS.get(of_lower) == TAKERS.get(kind, "") and below.get("link")
            hint = f"say 'link: {below['link']}', which is below {lower!r}" if alike else ""
            checked.refuse_link(name, "link", told, hint)
        else:
            fit.add(pair)


def tunnel_ends(checked: Checked) -> None:
    """A VXLAN sends by one protocol, from an address of its own, and says by which link where an address does not.

    To many at once a Geneve does not send.
    """
    links = checked.links
    for name, attrs in checked.saying("local", ["vxlan"]):
        if attrs["local"] and is_multicast(ip_bytes(str(attrs["local"]))):
            told = f"{name!r} cannot send from {attrs['local']}: that is a multicast address"
            checked.refuse_link(name, "local", told)
    for name, attrs in checked.saying("remote", ["geneve"]):
        if is_multicast(ip_bytes(str(attrs["remote"]))):
            told = f"{name!r} cannot send to {attrs['remote']}: that is a multicast address"
            checked.refuse_link(name, "remote", told, "say one other end, or make it a vxlan")
    for obj in checked.state.of("vni").values():
        remote, attrs = obj.attrs.get("remote"), checked.attrs(obj.name)
        if remote and is_multicast(ip_bytes(str(remote))) and not attrs.get("dev", obj.name in links.known):
            told = f"{obj.name!r} needs 'dev': many links lead to {remote}, of its network {obj.key[1]}"
            checked.refuse(obj, "remote", told, "say by which it sends")
    for name, attrs in checked.saying("remote", ["vxlan"]):
        local, remote = attrs.get("local"), attrs["remote"]
        by_link = remote and (is_multicast(ip_bytes(str(remote))) or str(remote).startswith("fe80:"))
        if by_link and not attrs.get("dev", name in links.known):
            told = f"{name!r} needs 'dev': many links lead to {remote}"
            checked.refuse_link(name, "remote", told, "say by which it sends")
        if local and remote and (":" in str(local)) != (":" in str(remote)):
            told = f"the ends of {name!r} are of different protocols: {local} and {remote}"
            checked.refuse_link(name, "remote", told)


def alone(checked: Checked) -> None:
    """A macvlan that has all of its lower link (passthru) is the only one there, and has the MAC of that."""
    links = checked.links
    on: dict[str, list[str]] = {}
    for name, attrs in checked.of_kinds(_MACVLANS):
        on.setdefault(str(attrs.get("link") or ""), []).append(name)
    for name, _ in checked.saying("mode", _MACVLANS):
        attrs = links.attrs[name]
        others = [other for other in on[str(attrs.get("link") or "")] if other != name]
        if attrs["mode"] == "passthru" and attrs.get("link") and others:
            there = checked.report.where(links.places[others[0]])
            what = f"{name!r} cannot have all of {attrs['link']!r} (passthru): {others[0]!r} stands on it, too"
            checked.refuse_link(name, "mode", what, f"another mode; {others[0]!r} is from {there}")
        mac = links.attrs.get(str(attrs.get("link")), {}).get("mac")
        if attrs["mode"] == "passthru" and mac and attrs.get("mac", mac) != mac:
            what = f"{name!r} and {attrs['link']!r}, which it has all of (passthru), have one MAC, and are told two"
            checked.refuse_link(name, "mac", what, f"say it of one of them; {attrs['link']!r} is told {mac}")


class _Taker(NamedTuple):
    """What all that comes in by a link is handed to, and the link and its attribute that say so."""

    sort: str
    name: str
    key: str


def takers(checked: Checked) -> None:
    """What comes in by a link is handed to its master, or to links of one sort that stand on it."""
    links = checked.links
    first: dict[str, _Taker] = {}
    for link, taker in _handed_on(checked):
        if link not in first:
            first[link] = _Taker("port", link, "master") if _gives_all_to_its_master(link, links.attrs) else taker
        before = first[link]
        if before.sort != taker.sort:
            there = checked.report.where(links.place(before.name, before.key))
            hint = f"the kernel hands what comes in to one of them; the other is at {there}"
            told = f"{link!r} is {_role(before, checked)} and {_role(taker, checked)}"
            checked.refuse_link(taker.name, taker.key, told, hint)


def _handed_on(checked: Checked) -> Iterator[tuple[str, _Taker]]:
    """The links that hand what comes in to one that stands on them, each with that."""
    for name, attrs in checked.of_kinds(TAKERS):
        if attrs.get("link"):
            yield str(attrs["link"]), _Taker(TAKERS[str(attrs["kind"])], name, "link")
    for name, attrs in checked.of_kinds(["hsr"]):
        yield from ((str(attrs[key]), _Taker(f"ring {name}", name, key)) for key in RING_PORTS if attrs.get(key))


def _gives_all_to_its_master(name: str, links: Mapping[str, Attrs]) -> bool:
    master = links.get(name, {}).get("master")
    return bool(master) and links.get(str(master), {}).get("kind") in _TAKE_PORTS


def _role(taker: _Taker, checked: Checked) -> str:
    attrs = checked.links.attrs[taker.name]
    if taker.key == "master":
        return f"a port of {attrs['master']!r}"
    return f"in the ring {taker.name!r}" if taker.key in RING_PORTS else f"below the {attrs['kind']} {taker.name!r}"


def tunnels(checked: Checked) -> None:
    """No two tunnels are such that what comes in could be for either."""
    links = checked.links
    seen: dict[tuple[Value, ...], str] = {}
    for name, attrs in checked.of_kinds(_TOLD_APART):
        identity = _identity(attrs)
        other = seen.setdefault(identity, name) if identity else name
        if other != name:
            kind, like = str(attrs["kind"]), str(links.attrs[other]["kind"])
            kinds = f"both of the kind {kind}" if kind == like else f"of the kinds {kind} and {like}"
            _second(name, other, f"{name!r} and {other!r}, {kinds}, have {_TOLD_APART[kind]}", checked)


def _second(name: str, other: str, what: str, checked: Checked) -> None:
    places = checked.links.places
    checked.report.once(places[name], what, f"{other!r} is from {checked.report.where(places[other])}")


def _identity(attrs: Attrs) -> tuple[Value, ...]:
    """What the kernel tells a tunnel by; () for one that it does not."""
    kind, netns = attrs.get("kind"), attrs.get("netns")
    if kind == "vxlan":
        number = 0 if attrs.get("external") else attrs.get("id")
        end = str(attrs.get("remote") or attrs.get("local") or "")
        if number is None or attrs.get("vnifilter") or end.startswith("fe80:"):  # then the link counts too
            return ()
        modes = sorted(_modes(attrs) - {"vnifilter"})
        return (kind, netns, number, attrs.get("dstport", _VXLAN_PORT), ":" in end, *modes)
    if attrs.get("external") or (kind == "xfrm" and not attrs.get("if_id")):
        return ()
    usual = {"dstport": _GENEVE_PORT}
    said = (attrs.get(name, usual.get(name)) for name in _TELLING.get(str(kind), _ENDS))
    return (_LIKE.get(str(kind), kind), netns, *said)


def _modes(attrs: Attrs) -> frozenset[str]:
    """The ways of taking packets that a VXLAN is told."""
    return frozenset(mode for mode in _VXLAN_MODES.intersection(attrs) if attrs[mode])


def external_tunnels(checked: Checked) -> None:
    """There is one tunnel of a kind that takes all packets; of GENEVE one for each port, and no other on that."""
    taken: dict[tuple[Value, ...], str] = {}
    for name, attrs in checked.saying("external", _OF_ALL):
        if attrs["external"] and (other := taken.setdefault(_place(attrs), name)) != name:
            _beside_external(name, other, checked)
    for name, attrs in checked.of_kinds(["geneve"] if taken else []):
        if not attrs.get("external") and (first := taken.get(_place(attrs))):
            _beside_external(name, first, checked)


def _place(attrs: Attrs) -> tuple[Value, ...]:
    """Where there can be one that takes all packets."""
    kind = str(attrs["kind"])
    return _OF_ALL[kind], attrs.get("netns"), attrs.get("dstport", _GENEVE_PORT) if kind == "geneve" else None


def _beside_external(name: str, other: str, checked: Checked) -> None:
    what = f"{name!r} cannot be beside {other!r}, which is external and takes all packets of its kind"
    _second(name, other, what, checked)


def listeners(checked: Checked) -> None:
    """WireGuards that are up listen on a port each."""
    links = checked.links
    taken: dict[tuple[Value, ...], str] = {}
    for name, attrs in checked.saying("listen_port", ["wireguard"]):
        if not checked.attrs(name).get("up"):
            continue
        other = taken.setdefault((attrs.get("netns"), attrs["listen_port"]), name)
        if other != name:
            told = f"{name!r} cannot listen on port {attrs['listen_port']}: {other!r} does"
            hint = f"another listen_port; {other!r} is from {checked.report.where(links.places[other])}"
            checked.refuse_link(name, "listen_port", told, hint)


def sockets(checked: Checked) -> None:
    """VXLANs that are up share the socket of a port, which takes packets in one way."""
    links = checked.links
    seen: dict[tuple[Value, ...], tuple[str, frozenset[str]]] = {}
    for name, attrs in checked.of_kinds(() if _VXLAN_MODES.isdisjoint(checked.words["vxlan"]) else ["vxlan"]):
        if not checked.attrs(name).get("up"):
            continue
        end = str(attrs.get("remote") or attrs.get("local") or "")
        if end.startswith("fe80:"):  # whose socket is one of the link below
            continue
        modes = _modes(attrs)
        port = attrs.get("dstport", _VXLAN_PORT)
        for version in (4, 6) if attrs.get("external") else (6 if ":" in end else 4,):
            other, others = seen.setdefault((attrs.get("netns"), port, version), (name, modes))
            if modes != others:
                what = f"{name!r} cannot have port {port}: {other!r} has it, and takes packets in another way"
                hint = f"another dstport; {other!r} is from {checked.report.where(links.places[other])}"
                checked.refuse_link(name, "dstport", what, hint)
                break
