# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel takes, or took before, and is hardly meant: each is a warning."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from netgroupd.config.checked import Checked
from netgroupd.config.loops import way
from netgroupd.config.sections.entries import told
from netgroupd.config.sections.ports import meant_by
from netgroupd.config.semantic import doubtful_tc
from netgroupd.config.semantic.gateways import ways_by_gateways
from netgroupd.config.semantic.mdb import unspoken, unspoken_in_vlan
from netgroupd.config.semantic.mst import shut_ports
from netgroupd.config.semantic.vlan_global import unused
from netgroupd.model.address import plain_address
from netgroupd.model.bridge_vlan import DEFAULT_VID, vlans_joined
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.mdb import senders
from netgroupd.model.route import TABLE_NAMES, family_of
from netgroupd.model.state import Object, records
from netgroupd.model.value import Value, ip_bytes, split_prefix

_PATTERN = frozenset("*?()")
_HARDWARE = frozenset({None, ""})  # was there before, and may be up
_OPEN_PORTS = frozenset({"bond", "team"})  # what enters is up by that
_DEEPEST = 8


def doubt(checked: Checked) -> None:
    """Look at the whole state; everything found goes to the report."""
    for rule in _DOUBTS:
        rule(checked)


def _ports_with_addresses(checked: Checked) -> None:
    for key, obj in checked.state.of("address").items():
        link = str(key[0])
        master = checked.attrs(link).get("master")
        kind = checked.attrs(str(master)).get("kind") if master else None
        if kind in ("bridge", "bond", "team"):
            told_ = f"{link!r} has an address and is a port of the {kind} {master!r}"
            checked.report.warn(checked.entry(obj).at, told_, f"packets to it arrive at {master!r}: put it there")


def _nexthops(checked: Checked) -> None:
    """Nexthop objects that only somebody else can have made."""
    nexthops = checked.state.of("nexthop")
    for obj in checked.state.of("route").values():
        nhid = obj.attrs.get("nhid")
        if nhid is not None and (nhid,) not in nexthops:
            checked.report.warn(checked.entry(obj).place("nhid"), f"no file describes nexthop {nhid}")
    for obj in nexthops.values():
        for member in records(obj.attrs, "group"):
            if (member.get("id"),) not in nexthops:
                place = checked.entry(obj).place("group")
                checked.report.warn(place, f"no file describes nexthop {member.get('id')}, of group {obj.key[0]}")


def _unfiltered(checked: Checked) -> None:
    """VLANs of a bridge that does not look at them."""
    # One that a link is taken out of asks nothing of it: NetworkManager takes its bridges out of theirs.
    for key, obj in vlans_joined(checked.state).items():
        name = str(key[0])
        attrs = checked.attrs(name)
        bridge = name if attrs.get("kind") == "bridge" else str(attrs.get("master"))
        of_bridge = checked.attrs(bridge)
        if of_bridge.get("kind") == "bridge" and not of_bridge.get("vlan_filtering"):
            hint = f"set vlan_filtering of {bridge!r}"
            checked.report.warn(checked.entry(obj).at, f"{bridge!r} does not tell VLANs apart", hint)


def _untagged_twice(checked: Checked) -> None:
    """Access ports of one VLAN that the bridge has put into its own too: what that one has for all goes out as well."""
    vlans = checked.state.of("bridge_vlan")
    for (name, vid), obj in vlans.items():
        if not (obj.attrs.get("pvid") and obj.attrs.get("untagged")):
            continue
        bridge = str(checked.attrs(str(name)).get("master"))
        attrs = checked.attrs(bridge)
        own = attrs.get("vlan_default_pvid", DEFAULT_VID)
        if attrs.get("vlan_filtering") and own not in (0, vid) and (name, own) not in vlans:
            told_ = f"{name!r} sends without a tag what is of VLAN {own}, too, into which {bridge!r} puts its ports"
            hint = f"`{{vid: {own}, member: false}}` takes it out, or `vlan_default_pvid: 0` of {bridge!r} all"
            checked.report.warn(checked.entry(obj).at, told_, hint)


def _patterns(checked: Checked) -> None:
    """Hardware with a name as a shell would look for it."""
    for name, attrs in checked.links.attrs.items():
        if attrs.get("kind") not in _HARDWARE or name in checked.links.known:
            continue
        if hint := meant_by(name) or ("" if _PATTERN.isdisjoint(name) else "several are a range, such as eth[0-3]"):
            checked.report.warn(checked.links.places[name], f"{name!r} is one link, of that very name", hint)


def _is_down(name: str, checked: Checked) -> bool:
    """Whether a link is down as far as the files go: one that is made is, until something has it up."""
    for _ in range(_DEEPEST):
        attrs = checked.attrs(name)
        if not attrs or (attrs.get("kind") in _HARDWARE and "up" not in attrs):
            return False
        if "up" in attrs or checked.attrs(str(attrs.get("master"))).get("kind") in _OPEN_PORTS:
            return attrs.get("up") is False
        if attrs.get("kind") != "vlan" or attrs.get("loose_binding"):
            return True
        name = str(attrs.get("link"))  # which it follows
    return False


def _vrfs(checked: Checked) -> None:
    links = checked.links
    for name, attrs in checked.of_kinds(["vrf"]):
        if _is_down(name, checked):
            checked.report.warn(links.place(name, "up"), f"nothing sets VRF {name!r} up", "nothing passes it: up: true")
        if (table := attrs.get("table")) in TABLE_NAMES:
            told_ = f"VRF {name!r} has table {table}, which is the table {TABLE_NAMES[table]} of the host"
            checked.report.warn(links.place(name, "table"), told_)


def _lower_links_down(checked: Checked) -> None:
    """The kernel refuses to set a VLAN up before what it is of, as a bond or team does with a port."""
    links = checked.links
    down: dict[Value, bool] = {}
    for name, attrs in checked.of_kinds(["vlan"]):
        below = attrs.get("link")
        if below not in down:
            down[below] = _is_down(str(below), checked)
        if not down[below] or attrs.get("loose_binding"):
            continue
        if attrs.get("up") or checked.attrs(str(attrs.get("master"))).get("kind") in _OPEN_PORTS:
            told_ = f"{name!r} is to be up, and nothing sets {below!r} up, which it is a VLAN of"
            checked.report.warn(links.place(name, "up"), told_, "the kernel refuses that")


def _ways_down(checked: Checked) -> None:
    """Routes out of links that are down, and nexthops out of those without a carrier, too."""
    found = _Neighbourhood(checked)
    for obj, gateway in ways_by_gateways(checked):
        dev = gateway.dev or found.link_down_to(gateway.via, obj)
        what = f"nothing sets {dev!r} up" if dev and _is_down(dev, checked) else ""
        if obj.cls == "nexthop" and dev and checked.attrs(dev).get("carrier") is False:
            what = f"{dev!r} has no carrier"
        if what:
            told_ = f"{what}, and {told(obj.cls, obj.key)} goes out of it"
            checked.report.warn(checked.entry(obj).at, told_, "the kernel refuses that")


class _Neighbourhood:
    """By which links gateways are reached of which none is named: those that have an address of their network."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._vrfs = {attrs.get("table") for _, attrs in checked.of_kinds(["vrf"])}
        self._links: dict[tuple[int, int, int], set[str]] | None = None
        self._lengths: set[tuple[int, int]] = set()

    def link_down_to(self, via: str, obj: Object) -> str:
        """A link that leads to a gateway and is down, where no other leads there; "" otherwise."""
        if obj.cls != "route" or not via:
            return ""
        if self._links is None:
            self._links = self._by_network()
            self._lengths = {(size, length) for size, length, _ in self._links}
        address = ip_bytes(via)
        table = obj.key[1] if obj.key[1] in self._vrfs else None
        found: set[str] = set()
        for size, length in self._lengths:
            if size == len(address):
                network = int.from_bytes(address, "big") >> size * 8 - length
                found.update(self._links.get((size, length, network), ()))
        here = [link for link in sorted(found) if self._table_of(link) == table]
        return here[0] if here and all(_is_down(link, self._checked) for link in here) else ""

    def _by_network(self) -> dict[tuple[int, int, int], set[str]]:
        links: dict[tuple[int, int, int], set[str]] = {}
        for key in self._checked.state.of("address"):
            address, length = split_prefix(str(key[1]))
            address = address if key[2] is None else ip_bytes(str(key[2]))
            network = int.from_bytes(address, "big") >> len(address) * 8 - length
            links.setdefault((len(address), length, network), set()).add(str(key[0]))
        return links

    def _table_of(self, link: str) -> Value:
        vrf = self._checked.domain(link)
        return self._checked.attrs(vrf).get("table") if vrf else None


def _gateways_outside(checked: Checked) -> None:
    """Gateways in no network of their link; of links without addresses nothing is known."""
    asked = [(obj, one) for obj, one in ways_by_gateways(checked) if one.dev and one.via and not one.onlink]
    if not asked:
        return
    networks = _networks(checked, frozenset(one.dev for _, one in asked))
    for obj, one in asked:
        address = ip_bytes(one.via)
        known = networks.get((one.dev, len(address)))
        if known and not address.startswith(b"\xfe\x80") and not any(_is_in(address, *network) for network in known):
            told_ = f"gateway {one.via} is in no network of {one.dev!r}"
            checked.report.warn(checked.entry(obj).place(one.field), told_, "if it is there nevertheless: onlink: true")


def _sources_of_nobody(checked: Checked) -> None:
    """Addresses that a route prefers, and that no link has, or one in another VRF.

    A link without addresses gets them from elsewhere.
    """
    said = [obj for obj in checked.state.of("route").values() if obj.attrs.get("src")]
    if not said:
        return
    keys = [address.key for address in checked.state.of("address").values()]
    known: dict[str, set[str]] = {str(obj.attrs["src"]): set() for obj in said}
    for key in keys:
        if (vrfs := known.get(plain_address(key))) is not None:
            vrfs.add(checked.domain(str(key[0])))
    numbered = {(str(key[0]), family_of(str(key[1]))) for key in keys}
    for obj in said:
        source, dev = str(obj.attrs["src"]), str(obj.attrs.get("dev") or "")
        vrfs = known[source]
        if not vrfs and (dev, obj.key[0]) in numbered:
            told_ = f"no file gives a link the address {source}, from which {told(obj.cls, obj.key)} sends"
            checked.report.warn(checked.entry(obj).place("src"), told_, "the kernel refuses that where nobody has")
        elif vrfs and not any(_may_send_from(vrf, obj, checked) for vrf in vrfs):
            where = " and ".join(f"VRF {vrf!r}" if vrf else "no VRF" for vrf in sorted(vrfs))
            told_ = (
                f"{told(obj.cls, obj.key)} sends from {source}, which is an address in {where}: the route is elsewhere"
            )
            checked.report.warn(checked.entry(obj).place("src"), told_, "the kernel refuses that")


def _may_send_from(vrf: str, route: Object, checked: Checked) -> bool:
    """Whether a route may prefer an address of ``vrf``: of IPv6 that of its link, of IPv4 that of its table or none."""
    if route.key[0] == "inet6":
        dev = route.attrs.get("dev")
        return not dev or checked.domain(str(dev)) == vrf
    return not vrf or checked.attrs(vrf).get("table") == route.key[1]


def _networks(checked: Checked, links: frozenset[str]) -> Mapping[tuple[str, int], set[tuple[bytes, int]]]:
    """The networks of some links by the length of their addresses: of addresses, and of routes without gateway."""
    found: defaultdict[tuple[str, int], set[tuple[bytes, int]]] = defaultdict(set)
    for key in checked.state.of("address"):
        if key[0] in links:
            address, length = split_prefix(str(key[1]))
            if key[2] is not None:
                address = ip_bytes(str(key[2]))
            found[(str(key[0]), len(address))].add((address, length))
    for obj in checked.state.of("route").values():
        dev = obj.attrs.get("dev")
        if dev in links and obj.attrs.get("via") is None and obj.key[0] != "mpls":
            address, length = split_prefix(str(obj.key[2]))
            if (str(dev), len(address)) in found:
                found[(str(dev), len(address))].add((address, length))
    return found


def _is_in(address: bytes, network: bytes, length: int) -> bool:
    spare = len(address) * 8 - length
    return int.from_bytes(address, "big") >> spare == int.from_bytes(network, "big") >> spare


def _groups(checked: Checked) -> None:
    """Multicast groups that a bridge is not told, or does not look at."""
    for obj in checked.state.of("mdb").values():
        bridge, entry = checked.attrs(obj.name), checked.entry(obj)
        if bridge.get("kind") != "bridge":
            continue
        if _is_down(obj.name, checked):
            told_ = f"nothing sets {obj.name!r} up, and it is told the group {obj.key[2]}"
            checked.report.warn(entry.at, told_, "the kernel refuses that")
        if obj.key[3] and not bridge.get("vlan_filtering"):
            hint = f"leave `vid` out, or set vlan_filtering of {obj.name!r}"
            checked.report.warn(entry.place("vid"), f"{obj.name!r} does not tell VLANs apart", hint)
        if obj.key[4] is not None and (hint := unspoken(obj, bridge)):
            checked.report.warn(entry.place("src"), f"{obj.name!r} looks at no senders of {obj.key[2]}", hint)
        options = checked.state.of("vlan_global").get((obj.name, obj.key[3]))
        field = "source_list" if senders(obj.attrs) else "src" if obj.key[4] is not None else ""
        if field and obj.key[3] and (hint := unspoken_in_vlan(obj, bridge, options)):
            told_ = f"{obj.name!r} looks at no senders of {obj.key[2]} in VLAN {obj.key[3]}"
            checked.report.warn(entry.place(field), told_, hint)


def _cables(checked: Checked) -> None:
    """Bridges that cables join to a ring, with nothing to break it."""
    links = checked.links.attrs
    joined: defaultdict[str, list[str]] = defaultdict(list)
    roots: dict[str, str] = {}
    for name, attrs in checked.of_kinds(PAIRS):
        peer = str(attrs.get("peer"))
        if name > peer:
            continue
        ends = [str(links.get(end, {}).get("master") or "") for end in (name, peer)]
        if not all(links.get(bridge, {}).get("kind") == "bridge" for bridge in ends):
            continue
        if any(links[bridge].get("stp_state") for bridge in ends):
            continue
        if _joins(roots, *ends):
            for here, there in (ends, reversed(ends)):
                joined[here].append(there)
        else:
            ring = way(joined, *ends)
            told_ = f"bridges are joined to a ring: {' → '.join((*ring, ring[0]))}"
            hint = f"packets go round for ever; set stp, or take out the cable {name!r}"
            checked.report.warn(checked.links.place(name, "peer"), told_, hint)


def _joins(roots: dict[str, str], *ends: str) -> bool:
    """Whether this puts together what was apart; ``roots`` leads from each bridge to the one that stands for all."""
    tops = []
    for end in ends:
        top = end
        while roots.setdefault(top, top) != top:
            roots[top] = roots[roots[top]]
            top = roots[top]
        tops.append(top)
    roots[tops[0]] = tops[1]
    return tops[0] != tops[1]


_DOUBTS: tuple[Callable[[Checked], None], ...] = (
    _vrfs,
    _lower_links_down,
    _ways_down,
    _gateways_outside,
    _sources_of_nobody,
    _ports_with_addresses,
    _nexthops,
    _unfiltered,
    _untagged_twice,
    _patterns,
    _groups,
    unused,
    shut_ports,
    _cables,
    *doubtful_tc.DOUBTS,
)
