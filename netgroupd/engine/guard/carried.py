# SPDX-License-Identifier: GPL-2.0-or-later
"""What the ways need of links, addresses, routes, nexthops and neighbours, and which steps take it away.

Only what surely does counts.  A port of a bridge that no longer learns or no longer floods, or
that maps VLANs to tunnels, still has its packets, and so has one that is isolated, as long as
they come from the bridge itself; one that does neither is found by nobody.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from netgroupd.engine.guard.bridged import vlans_by_bridge
from netgroupd.engine.guard.carriers import carriers, spares
from netgroupd.engine.guard.detour import is_followed, leads_away
from netgroupd.engine.guard.forwarded import Receivers, is_kept_from, keeps_questions, takes_nothing_from
from netgroupd.engine.guard.tunnels import WayTo, misses_far_end
from netgroupd.engine.guard.way import Way, contains
from netgroupd.model.address import plain_address
from netgroupd.model.bridge_vlan import DEFAULT_VID
from netgroupd.model.state import Attrs, Key, Object, State, records
from netgroupd.model.token import NONE, lower_half
from netgroupd.model.value import NO_MAC, Value
from netgroupd.model.vlan_global import TREE
from netgroupd.plan.compare import kind_of
from netgroupd.plan.default_vlan import DEFAULT
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step

# With one of these nothing goes through a link any more.
_SEVERING = {
    "up": False,
    "carrier": False,
    "protodown": True,
    "arp": False,
    "port.team_enabled": False,
    "protect": False,  # of MACsec, which the other end does not take then unless it was told to
    "policy": "blackhole",
    "peer_policy": "blackhole",
}
_OPEN = "forwarding"
_EVER = "forever"
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})


class Carried:
    """The links, addresses, nexthops and neighbours that the ways need, each with whose way it is."""

    def __init__(self, ways: Sequence[Way], around: State, plan: Plan, way_to: WayTo) -> None:
        self._around = around
        self._way_to = way_to
        self._plan = plan
        self._links = around.of("link")
        self._carriers: dict[str, list[Way]] = {}
        self._sources: dict[str, list[Way]] = {}
        self._nexthops: dict[Value, list[Way]] = {}
        self._tables: dict[tuple[Value, Value], str] = {
            (way.family, way.route.table): way.link for way in reversed(ways) if way.to
        }
        # The default routes that are followed: behind them are those for when they fail.
        self._followed: dict[Value, int] = {}
        # What nobody has resolved yet has no other address.
        hops = ((way.link, way.route.gateway or way.to, False) for way in ways)
        self._neighbours: dict[Key, Way] = {hop: way for hop, way in zip(hops, ways, strict=True) if way.route.lladdr}
        self._within: dict[str, set[str]] = {}  # the ports that something comes by into a bridge
        self._through_spares: dict[str, list[Way]] = {}  # what goes through each port of bonds, teams and rings
        self._shared: dict[str, str] = {}  # which of these has the port
        for way in ways:
            self._sources.setdefault(way.route.source, []).append(way)
            used = way.route
            if way.to and not used.length:
                followed = self._followed.get((way.family, used.table), 0)
                self._followed[way.family, used.table] = max(used.metric, followed)
            for number in (used.nexthop, *self._members(way)):
                self._nexthops.setdefault(number, []).append(way)
        self._ways = ways
        self._vlans: dict[tuple[Way, str], frozenset[Value]] = {}  # in which a way goes through a bridge, if known
        by_port: dict[tuple[str, str], list[Way]] = {}
        for way in ways:
            by_port.setdefault((way.link, way.behind), []).append(way)
        for leaving in by_port.values():
            self._add_carriers(leaving)
        # Bridges through which the ways go with a VLAN's tag.
        uppers = (self._links.get((name,)) for name in self._carriers)
        self._tagged = {str(upper.attrs.get("link")) for upper in uppers if upper and kind_of(upper) == "vlan"}

    def _add_carriers(self, leaving: Sequence[Way]) -> None:
        carrying = dict(carriers(leaving[0].link, self._links, leaving[0].behind))
        known = vlans_by_bridge(carrying, self._links, self._around.of("bridge_vlan"))
        self._vlans.update({(way, bridge): vlans for way in leaving for bridge, vlans in known.items()})
        for name, above in carrying.items():
            self._carriers.setdefault(name, []).extend(leaving)
            if above and self._links[name,] in spares(self._links[above,], self._links):
                self._through_spares.setdefault(name, []).extend(leaving)
                self._shared[name] = above
            if above and self._links[above,].attrs.get("master") == name:
                self._within.setdefault(name, set()).add(above)

    def links(self) -> Iterator[tuple[str, str]]:
        """The links that the ways need, each with whose way it is."""
        yield from ((name, ways[0].whose) for name, ways in self._carriers.items())

    def cut_by(self, step: Step) -> tuple[str, str] | None:
        """The link that a step would cut, and whose way that is."""
        obj = step.object
        if obj.cls == "address" and (step.op is Op.DELETE or _runs_out(step)):
            leaving = self._sources.get(plain_address(obj.key), ())
            cut = [way for way in leaving if not self._leaves_with_another(obj, way)]
            return (obj.name, cut[0].whose) if cut and not self._is_back_at_once(obj) else None
        if obj.cls == "token":
            return self._readdressed(step)
        if obj.cls == "route" and (link := self._rerouted(step)):
            return link, "the default route"
        if obj.cls == "nexthop":
            ways = self._nexthops.get(obj.key[0], ())
            away = next((way for way in ways if leads_away(step, follows=self._followed_by(way))), None)
            return (away.link, away.whose) if away else None
        if obj.cls == "fdb":
            way = next((way for way in self._ways if self._forwards_elsewhere(step, way)), None)
            return (way.link, way.whose) if way else None
        return self._misdirected(step) if obj.cls == "neighbour" else self._interrupted(step)

    def _members(self, way: Way) -> list[Value]:
        """The members that a way may go by, of the group that its nexthop is, if it is one."""
        group = self._around.of("nexthop").get((way.route.nexthop,))
        return [one.get("id") for one in records(group.attrs, "group") if self._followed_by(way)(one)] if group else []

    def _followed_by(self, way: Way) -> Callable[[Attrs], bool]:
        return lambda hop: is_followed(hop, way, self._around.of("nexthop"))

    def _forwards_elsewhere(self, step: Step, way: Way) -> bool:
        """Whether an entry has a bridge or a VXLAN send what is for one end of a way elsewhere."""
        entry, link = step.after, self._links.get((step.object.name,))
        if kind_of(link) == "vxlan" and step.object.key[3] == "self":
            about = step.object.key[1] in (way.route.lladdr, NO_MAC) and way in self._carriers.get(step.object.name, ())
            return about and link is not None and self._receivers.are_missed(link, way.route.lladdr)
        if entry is None or link is None:
            return False
        bridge = link.name if kind_of(link) == "bridge" else str(link.attrs.get("master") or "")
        own = entry.key[3] == "self" and link.name != bridge  # what a card takes in, a port does anyway
        if own or way not in self._carriers.get(bridge, ()) or not self._is_about(entry, way, bridge):
            return False
        here = self._links.get((way.link,))
        macs = {link.attrs.get("mac") for link in (self._links[bridge,], here) if link}
        return is_kept_from(entry, way.route.lladdr, way.behind) or (entry.key[3] == "master" and entry.key[1] in macs)

    @cached_property
    def _receivers(self) -> Receivers:
        return Receivers(self._around, self._plan)

    def _is_about(self, entry: Object, way: Way, bridge: str) -> bool:
        """Whether an entry is for the VLAN in which a way goes through a bridge; one for none is for all."""
        return not entry.key[2] or entry.key[2] in self._vlans.get((way, bridge), ())

    def _is_back_at_once(self, address: Object) -> bool:
        """Whether an address comes again, and with it what others had by it; of IPv6 it is in doubt for a while."""
        return ":" not in str(address.key[1]) and address.key in self._coming

    def _leaves_with_another(self, gone: Object, way: Way) -> bool:
        """Whether another address does for a way: the same in another subnet or, for the default route, any there."""
        if gone.name in self._plan.emptied or way.link not in ("", gone.name):
            return False
        left = [key for key in self._left if key[0] == gone.name and (":" in str(key[1])) == (":" in str(gone.key[1]))]
        same = any(plain_address(key) == way.route.source for key in left)
        anybody = way.anywhere and way.route.gateway
        near = way.route.gateway or way.to
        return bool(same or (anybody and left)) and (not near or any(contains(key[2] or key[1], near) for key in left))

    @cached_property
    def _left(self) -> frozenset[Key]:
        """The addresses that there are in the end; one of IPv6 that comes is in doubt for a while."""
        steps = [step for step in singles(self._plan.steps) if step.object.cls == "address"]
        going = {step.object.key for step in steps if step.op is Op.DELETE or _runs_out(step)}
        there = self._around.of("address").keys() - going
        return frozenset(there | {key for key in self._coming if ":" not in str(key[1])})

    @cached_property
    def _coming(self) -> frozenset[Key]:
        steps = singles(self._plan.steps)
        return frozenset(step.object.key for step in steps if step.object.cls == "address" and step.op is Op.CREATE)

    def _interrupted(self, step: Step) -> tuple[str, str] | None:
        """The link that a step about one, or about a VLAN of one, cuts."""
        obj = step.object
        ways = self._carriers.get(obj.name, [])
        if obj.cls == "bridge_vlan":
            cut = [way for way in ways if _retags(step) and self._is_in_vlan(step, way)]
        elif obj.cls == "vlan_global":
            return self._moved_to_a_tree(step)
        elif obj.cls == "mst":
            cut = ways if step.attrs.get("state", _OPEN) != _OPEN else []
        elif obj.cls != "link" or step.op is Op.CREATE:
            cut = []
        elif self._severs(step):
            through = self._through_spares.get(obj.name, [])
            spared = through if through and self._has_ports(self._shared[obj.name]) else []
            cut = [way for way in ways if way not in spared] + self._homeless(step)
        elif DEFAULT in step.attrs and self._plan_of[obj.name].attrs.get("vlan_filtering"):
            cut = [way for way in ways if self._is_in_default(step, way)]
        elif "min_links" in step.attrs and not self._has_ports(obj.name):
            cut = ways
        elif keeps_questions(step.attrs) and self._is_within(obj.name):
            cut = [way for way in ways if way.family == "inet6"]
        else:
            cut = [way for way in ways if misses_far_end(step, way.to, self._way_to) or self._is_unheard(step, way)]
        return (obj.name, cut[0].whose) if cut else None

    def _is_within(self, port: str) -> bool:
        """Whether a port of a bridge is where what comes goes on to this host."""
        link = self._links.get((port,))
        return link is not None and port in self._within.get(str(link.attrs.get("master")), ())

    def _is_unheard(self, step: Step, way: Way) -> bool:
        """Whether a macvlan takes nothing from the neighbour of a way any more."""
        told = step.attrs.keys() & {"mode", "macaddr"} and way.link == step.object.name
        return bool(told) and takes_nothing_from(way.route.lladdr, self._plan_of[step.object.name])

    def _homeless(self, step: Step) -> list[Way]:
        """The ways of which a link takes the address along: it goes, and no other has it then, or changes its VRF."""
        leaves = step.op is Op.DELETE or "netns" in step.attrs
        ways = self._holders.get(step.object.name, []) if leaves or "master" in step.attrs else []
        if ways and leaves:
            return [way for way in ways if way.route.source not in self._given]
        masters = (step.attrs.get("master"), step.before.attrs.get("master") if step.before else None)
        links = (self._plan_of.get(str(name)) or self._links.get((name,)) for name in masters)
        return ways if ways and any(kind_of(link) == "vrf" for link in links) else []

    @cached_property
    def _holders(self) -> dict[str, list[Way]]:
        """By the links that have the address which they leave with; few plans take away or move any link."""
        holders: dict[str, list[Way]] = {}
        for address in self._around.of("address").values():
            if ways := self._sources.get(plain_address(address.key)):
                holders.setdefault(address.name, []).extend(ways)
        for way in self._ways:
            for name in way.holders:
                holders.setdefault(name, []).append(way)
        return holders

    @cached_property
    def _given(self) -> frozenset[str]:
        """The addresses of IPv4 that come to a link."""
        return frozenset(plain_address(key) for key in self._coming if ":" not in str(key[1]))

    def _has_ports(self, name: str) -> bool:
        """Whether a bond, team or ring has ports enough left that have a carrier; with LACP it may need several."""
        bond = self._plan_of.get(name, self._links[name,])
        staying = [link for link in spares(self._links[name,], self._links) if link.name not in self._severed]
        carrying = sum(bool(link.attrs.get("up")) and link.attrs.get("carrier") is not False for link in staying)
        least = bond.attrs.get("min_links") if bond.attrs.get("mode") == "802.3ad" else 1
        return carrying >= (least if isinstance(least, int) and least else 1)

    @cached_property
    def _plan_of(self) -> dict[str, Object]:
        """Links as they are to be, of those that change: files leave open what they keep."""
        links = ((step.before, step.after) for step in singles(self._plan.steps) if step.object.cls == "link")
        return {then.name: now.having(then.attrs) if now else then for now, then in links if then}

    @cached_property
    def _severed(self) -> frozenset[str]:
        """The links that nothing goes through any more, be it for a moment."""
        steps = (step for step in singles(self._plan.steps) if step.object.cls == "link" and step.op is not Op.CREATE)
        return frozenset(step.object.name for step in steps if self._severs(step))

    def _is_in_vlan(self, step: Step, way: Way) -> bool:
        """Whether a way may be in a VLAN of a port, or without a tag in what takes the place of the port's own."""
        port, vid = step.object.key
        link = self._links.get((port,))
        bridge = str(port if link is None or kind_of(link) == "bridge" else link.attrs.get("master"))
        vlans = self._vlans.get((way, bridge))
        if vlans is None or (vid in vlans and not _only_takes_in(step)):
            return True
        members = self._around.of("bridge_vlan")
        tagged = all((vlan := members.get((port, own))) and not vlan.attrs.get("untagged") for own in vlans)
        return bool(step.attrs.get("pvid")) and not tagged

    def _is_in_default(self, step: Step, way: Way) -> bool:
        """Whether a way may go through a bridge in what has been its default VLAN, which ports and the bridge leave."""
        assert step.before
        vlans = self._vlans.get((way, step.object.name))
        return vlans is None or step.before.attrs.get(DEFAULT, DEFAULT_VID) in vlans

    def _moved_to_a_tree(self, step: Step) -> tuple[str, str] | None:
        """The port that is shut in the spanning tree which a step puts a VLAN of it into."""
        tree, (bridge, vid) = step.attrs.get(TREE), step.object.key
        for name, ways in self._carriers.items() if tree else ():
            link = self._links.get((name,))
            member = link and link.attrs.get("master") == bridge and (name, vid) in self._around.of("bridge_vlan")
            if member and self._states.get((name, tree)) != _OPEN:
                return name, ways[0].whose
        return None

    @cached_property
    def _states(self) -> dict[Key, Value]:
        """What ports do in spanning trees in the end."""
        made = (step.object for step in singles(self._plan.steps) if step.object.cls == "mst")
        return {obj.key: obj.attrs["state"] for obj in (*self._around.of("mst").values(), *made)}

    def _readdressed(self, step: Step) -> tuple[str, str] | None:
        """The link that loses the address which it has made with its token, by another one."""
        have = step.before.attrs["token"] if step.before else NONE
        made = (ways[0] for source, ways in self._sources.items() if ":" in source and _is_made_with(source, have))
        return next(((step.object.name, way.whose) for way in made if step.object.name in self._carriers), None)

    def _misdirected(self, step: Step) -> tuple[str, str] | None:
        """The link by which the neighbour that a way leaves for would be sent to another address than it has."""
        way = self._neighbours.get(step.object.key)
        said = step.attrs.get("lladdr")
        ages = step.object.attrs.get("state") == "reachable"  # the kernel asks again then, and finds what is right
        return (way.link, way.whose) if way and said and said != way.route.lladdr and not ages else None

    def _rerouted(self, step: Step) -> str:
        """The link of a default route, of a table that the ways use, that a step takes away or leads elsewhere."""
        family, table, destination, _, metric = step.object.key
        assert isinstance(metric, int)
        spare = metric > self._followed.get((family, table), metric)
        if (family, table) not in self._tables or destination not in _DEFAULTS or spare:
            return ""
        if not any(leads_away(step, follows=self._followed_by(way)) for way in self._ways):
            return ""
        return str((step.before or step.object).attrs.get("dev") or self._tables[family, table])

    def _severs(self, step: Step) -> bool:
        """Whether a step about a link interrupts what the link carries."""
        attrs = step.attrs
        if step.op is Op.DELETE or attrs.keys() & {"master", "netns"}:
            return True
        if any(attrs.get(name) == value for name, value in _SEVERING.items()) or self._shuts(step):
            return True
        then = self._plan_of[step.object.name].attrs
        if attrs.get("mode") == "l3" or (attrs.get("mode") == "source" and not then.get("macaddr")):
            return True  # an ipvlan hears no ARP then, and a macvlan nothing
        if attrs.get("vlan_filtering"):
            # Without a tag everything is in the default VLAN; with one it needs a VLAN on every port.
            return step.object.name in self._tagged or not then.get(DEFAULT, DEFAULT_VID)
        return False

    def _shuts(self, step: Step) -> bool:
        """Whether a setting of a bridge's port keeps back what goes through it."""
        attrs, port = step.attrs, step.object.name
        assert step.before
        bridge = str(step.before.attrs.get("master") or "")
        then = self._plan_of[port].attrs
        unknown = then.get("port.learning") is False and then.get("port.flood") is False
        if attrs.get("port.locked") or (unknown and attrs.keys() & {"port.learning", "port.flood"}):
            return port not in self._attended
        return bool(attrs.get("port.isolated")) and not self._isolated.isdisjoint(self._opposite(port, bridge))

    @cached_property
    def _attended(self) -> set[str]:
        """The ports of which it is said who is behind them: a locked one takes frames of nobody else for long."""
        made = (step.object for step in singles(self._plan.steps) if step.after)
        known = (obj for obj in (*self._around.of("fdb").values(), *made) if obj.cls == "fdb")
        return {entry.name for entry in known if entry.key[3] == "master"}

    def _opposite(self, port: str, bridge: str) -> Iterator[str]:
        """The other ports of a bridge that the ways go by, if they go in by one and out by another."""
        within = self._within.get(bridge, set())
        for name in self._carriers:
            link = self._links.get((name,))
            if link and name != port and link.attrs.get("master") == bridge and (name in within) != (port in within):
                yield name

    @cached_property
    def _isolated(self) -> set[str]:
        """The ports that are isolated, or will be."""
        links = {name for (name, *_), link in self._links.items() if link.attrs.get("port.isolated")}
        said = {
            step.object.name: step.attrs["port.isolated"]
            for step in singles(self._plan.steps)
            if step.object.cls == "link" and "port.isolated" in step.attrs
        }
        return {str(name) for name in links - said.keys()} | {name for name, isolated in said.items() if isolated}


def _runs_out(step: Step) -> bool:
    """Whether an address that stayed for ever goes when its time is over, be that after the change was confirmed."""
    before = step.before.attrs.get("valid_lft") if step.before else None
    return before == _EVER != step.attrs.get("valid_lft", _EVER)


def _is_made_with(address: str, token: Value) -> bool:
    return token != NONE and lower_half(address) == lower_half(str(token))


def _only_takes_in(step: Step) -> bool:
    """Whether a port only begins or ends to take what has no tag into a VLAN whose packets it sends with one."""
    said = step.attrs.keys() & {"pvid", "untagged", "state"}
    return step.op is Op.CHANGE and said == {"pvid"} and bool(step.before and not step.before.attrs.get("untagged"))


def _retags(step: Step) -> bool:
    """Whether a step about a VLAN of a port takes or shuts it away, or changes what has a tag and what has none."""
    attrs = step.attrs
    changed = step.op is Op.CHANGE and (attrs.keys() & {"pvid", "untagged"} or attrs.get("state", _OPEN) != _OPEN)
    return step.op is Op.DELETE or bool(changed) or bool(attrs.get("pvid"))
