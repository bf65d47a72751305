# SPDX-License-Identifier: GPL-2.0-or-later
"""changes -> stages: the same changes, cut into the messages they take, in the order they must run.

Between classes that is the order of PHASES.  Within a phase links go by depth:
what is below, or is the master, comes first, and last on the way down.  Linear
but for sorting by depth, which is at most a handful.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from netgroupd.model.address import LEAST_MTU
from netgroupd.model.kinds.bond import told_before
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.bridge_vlan import SNOOPING, apart, bridge_in
from netgroupd.plan.compare import in_the_end, kind_of
from netgroupd.plan.depth import Depths, side_by_side
from netgroupd.plan.diff import Changes
from netgroupd.plan.fate import TEAMING, carried_down
from netgroupd.plan.narrowed import is_still_small, outgrown, sized_by_ports
from netgroupd.plan.pairs import peers_made_along, said_of_peer
from netgroupd.plan.passing import kept_down
from netgroupd.plan.phases import PHASES
from netgroupd.plan.pieces import DOWN, OF_PORTS, Manner, claimed, follows, late, pieces_of, shrinks
from netgroupd.plan.ports_above import ports_above
from netgroupd.plan.settings import concerns, rank
from netgroupd.plan.step import Op, Step
from netgroupd.plan.swap import untangle
from netgroupd.plan.tc.classes import held, remade
from netgroupd.plan.tc.hooks import Hook, Queues
from netgroupd.plan.tc.order import LEVELS, Order
from netgroupd.plan.token import deafened, is_early
from netgroupd.plan.without_mac import bare, made_late, nameless, secured

_KNOWN = frozenset(PHASES)
QUEUES = frozenset({"qdisc", "tclass"})
_CREATING = frozenset({"create links", "create links of bridges"})
# A bond that comes to a bridge has the MAC of its ports by then, or the bridge could have the one before for a moment.
UPPER_FIRST = frozenset({"delete link", "take links down", "take links down again", "shrink links", "enslave links"})


class Stage(NamedTuple):
    """The steps of one phase, in order, each with the depth of its link (0 for other objects)."""

    phase: str
    steps: list[Step]
    depths: list[int]


def order(changes: Changes, desired: State, actual: State) -> list[Stage]:
    """Bring ``changes`` into the order in which they must run."""
    cut = _Cut(changes, desired, actual)
    filters: Order | None = None
    first = remade(desired, actual)
    waiting = changes.replaced.waiting()
    cut.links(changes.links)
    for step in changes.others:
        cls = step.object.cls
        if id(step) in waiting:
            continue
        if cls == "filter":
            filters = filters or Order(changes.others, desired, first.rules | changes.holding)
            cut.add(filters.phase(step), step)
        elif cls == "bridge_vlan" and step.op is not Op.DELETE:
            cut.vlan(step)
        else:
            cut.replace(step, changes)
    for phase in ("add sysctl", "add sysctl of a link"):
        if phase in cut.phases:
            cut.phases[phase].sort(key=lambda step: rank(step.object))
    cut.settle_bridges()
    cut.hold_down(changes.fate.cycled)
    cut.hold_classes(first.classes, actual)
    was = Depths({}, actual.of("link"))
    will_be = Depths(desired.of("link"), actual.of("link"), cut.made, cut.along)
    for phase, state, sign in (("delete queue", actual, -1), ("delete class", actual, -1), ("add queue", desired, 1)):
        if phase in cut.phases:
            cut.phases[phase] = _by_depth(cut.phases[phase], Queues(state), sign)
    assert cut.phases.keys() <= _KNOWN, cut.phases.keys() - _KNOWN
    return [_stage(phase, cut.phases[phase], was, will_be, cut.haves) for phase in PHASES if phase in cut.phases]


def _by_depth(steps: list[Step], queues: Queues, sign: int) -> list[Step]:
    """Qdiscs and classes stand on each other in turn: what is below comes first, and goes last."""
    return sorted(steps, key=lambda step: sign * queues.depth(step.object))


def _stage(phase: str, steps: list[Step], was: Depths, will_be: Depths, links: Mapping[Key, Object]) -> Stage:
    if steps[0].object.cls == "ethtool":  # what a link can do follows from what the one below it does
        steps.sort(key=lambda step: will_be[step.object.name])
    if steps[0].object.cls != "link":
        return Stage(phase, steps, [0] * len(steps))
    depths = was if phase == "delete link" else will_be
    sign = -1 if phase in UPPER_FIRST else 1
    # What is given comes before all others, for a link below may take what one above it gives.
    given, steps = untangle(steps, links) if phase == "change links" else ([], steps)
    found = [sign * depths[link.key[0]] for step in steps if (link := step.after or step.before)]
    places = side_by_side(steps) if phase in _CREATING else range(len(steps))
    ranked = sorted(places, key=found.__getitem__)
    return Stage(phase, [*given, *map(steps.__getitem__, ranked)], [-1] * len(given) + sorted(found))


def _phase(step: Step, come: Set[object], changes: Changes) -> str:
    cls = step.object.cls
    if cls in QUEUES:
        return "delete queue" if step.op is Op.DELETE else "add queue"
    verb = "delete" if step.op is Op.DELETE else "add"
    if cls == "nexthop":
        what = "idle nexthop" if step.op is Op.DELETE and step.object.key in changes.idle else "nexthop"
        # A group goes by itself with the last of its members.
        return f"{verb} {what} group" if step.object.attrs.get("group") else f"{verb} {what}"
    if step.op is Op.DELETE:
        left = cls == "route" and step.object.key in changes.replaced.left
        return "delete route of a table that is left" if left else f"delete {cls}"
    if cls == "sysctl":
        return "add sysctl of a link" if concerns(step.object, come) else "add sysctl"
    if cls == "route" and not any(step.object.attrs.get(name) for name in ("via", "nexthops", "nhid")):
        return "add route to a link"
    return f"add {cls}"


class _Cut:
    """Collects steps by phase, cutting each change of a link into what its phases need."""

    def __init__(self, changes: Changes, desired: State, actual: State) -> None:
        self.phases: defaultdict[str, list[Step]] = defaultdict(list)
        self.down = changes.down
        self.wants: Mapping[Key, Object] = desired.of("link")
        self.haves: Mapping[Key, Object] = actual.of("link")
        self.options: Mapping[Key, Object] = actual.of("vlan_global")
        links, new, told = changes.links, changes.made, changes.made.told
        self.made = new.names
        self.come = self.made | {step.object.name for step in told if _is_new_here(step)}
        self.along = peers_made_along(links, new)
        leaving = (step.before for step in told if step.op is Op.DELETE or "master" in step.attrs)
        self.doomed = {step.object.name for step in told if step.op is Op.DELETE}
        self.left = {*outgrown(told), *(link.attrs.get("master") for link in leaving if link)}
        self.early = changes.released | claimed(links, told)
        without_ports = bare(links, new, self.haves, self.early)
        filling = without_ports | sized_by_ports(new, self.wants, self.haves)
        self.late = made_late(links, filling, secured(links, new, self.wants, self.haves))
        self.nameless = nameless(without_ports, self.haves)
        self.sides = desired, actual
        options = (step for step in changes.others if step.object.cls == "vlan_global")
        self.above = ports_above(links, new, self.wants, self.haves, self.down)
        self.deaf = deafened(changes.others)
        self.learning = {step.object.key for step in options if step.attrs.get(SNOOPING)}
        vlans = (step for step in changes.others if step.object.cls == "bridge_vlan")
        self.mapped = frozenset([(step.object.name, vni) for step in vlans if (vni := step.attrs.get("tunnel_id"))])
        self.careless: set[str] = set()  # masters that neither take something of a new port nor give it something
        self.unsettled: dict[str, str] = {}
        self.raised: set[str] = set()
        self._pieces: dict[tuple[int, Manner], tuple[tuple[str, Attrs], ...]] = {}

    def add(self, phase: str, step: Step) -> None:
        """Put ``step`` behind the others of its phase."""
        self.phases[phase].append(step)

    def replace(self, step: Step, changes: Changes) -> None:
        """Put ``step`` into its phase, and what it takes the place of before or behind it."""
        phase, found = _phase(step, self.come, changes), changes.replaced
        if phase == "delete mdb" and self._is_shut(step.object):
            phase = "delete mdb of a bridge that was shut"
        if step.object.cls == "token" and is_early(step, self.deaf):
            phase = "add token of a link that listens no more"
        place = (step.object.cls, step.object.key)
        made = step.op is Op.CREATE or step.object.cls == "address"
        before, behind = (found.before.get(place, ()), found.behind.get(place, ())) if made else ((), ())
        self.phases[phase] += (*before, step, *behind)

    def _is_shut(self, entry: Object) -> bool:
        """Whether a bridge cannot be told of a multicast group before it is changed: it is down, or does not snoop."""
        have, options = self.haves.get((entry.name,)), self.options.get((entry.name, entry.key[3]))
        if options and options.attrs.get("mcast_snooping") is False:
            return True
        return have is not None and (have.attrs.get("up") is False or have.attrs.get("mcast_snooping") is False)

    def links(self, steps: Iterable[Step]) -> None:
        """Cut the steps about links."""
        for step in steps:
            if step.before is None:
                self._create(step)
            elif step.op is Op.DELETE:
                self.add("delete link", step)
            else:
                self._change(step)

    def vlan(self, step: Step) -> None:
        """Cut what a VLAN takes only later, and its VNI where another of its port is to get that: no two have one."""
        now, later = apart(step, (bridge_in(step.object.name, *self.sides), step.object.key[1]), self.learning)
        if later:
            self.add("limit bridge_vlan", later)
        if now and now.before:
            self._unmap(now, now.before)
        elif now:
            self.add("add bridge_vlan", now)

    def _unmap(self, step: Step, have: Object) -> None:
        want = step.object
        tunnel = have.attrs.get("tunnel_id")
        left = step.attrs
        # A port that is to map no VLANs any more loses all, and takes nothing about them then.
        parts = "tunnel_id" in left and tunnel and tunnel != left["tunnel_id"]
        if parts and (not left["tunnel_id"] or (want.name, tunnel) in self.mapped):
            bare = have.without("tunnel_id")
            self.add("unmap bridge_vlan", Step(step.op, have, bare, {"tunnel_id": None}, step.why))
            have = bare
            if not left["tunnel_id"]:
                left = {name: value for name, value in left.items() if name != "tunnel_id"}
            if not left:
                return
        self.add("add bridge_vlan", Step(step.op, have, want, left, step.why))

    def _create(self, step: Step) -> None:
        want = step.after
        assert want
        name, attrs = str(want.key[0]), want.attrs
        riding = dict(attrs)
        up = riding.pop("up", None)
        later = {} if OF_PORTS.isdisjoint(attrs) else {attr: riding.pop(attr) for attr in attrs if attr in OF_PORTS}
        # It begins with that of the link below, whatever it is told.
        if attrs.get("mode") == "passthru" and "mac" in riding:
            later["mac"] = riding.pop("mac")
        if not all(riding.values()):  # what is new has nothing yet, and some cannot be told so
            riding = {attr: value for attr, value in riding.items() if value not in (None, ())}
            if riding.get("protodown") is False:  # which no link is by itself, and most may not even be told so
                del riding["protodown"]
        master = riding.get("master")
        if name in self.above.ports or (attrs.get("kind") in TEAMING and self._has_ports_first(want)):
            entering = Step(Op.CHANGE, want, want, {"master": riding.pop("master")}, step.why)
            self.phases["enslave links"] += self.above.told(entering)
        if name in self.along:
            self._come_along(want, riding, step.why)
        else:
            if self.along:
                riding |= said_of_peer(want, self.wants)
            phase = "create links of bridges" if name in self.late else "create links"
            self.phases[phase].append(_new(Step, (step.op, None, want, riding, step.why)))
        if later:
            self.add("settle links", Step(Op.CHANGE, want, want, later, step.why))
        if master and master not in self.careless:
            self._watch_port(want, want, str(master))
        if up:
            self._raise(name, want, want)

    def _come_along(self, want: Object, riding: dict[str, Value], why: str) -> None:
        """A link comes into being with its peer; the rest is a change, and its further names are new."""
        names = riding.pop("altnames", None)
        self.add("create links", Step(Op.CHANGE, want, want, riding, why))
        if names:
            self.add("settle links", Step(Op.CHANGE, want.without("altnames"), want, {"altnames": names}, why))

    def _has_ports_first(self, link: Object) -> bool:
        """Whether a new bond or team gets ports, and with them its MAC, before a bridge that is there gets it."""
        return kind_of(self.haves.get((link.attrs.get("master"),))) == "bridge" and link.name in self._masters

    @cached_property
    def _masters(self) -> frozenset[Value]:
        return frozenset([link.attrs.get("master") for link in self.wants.values()])

    def _raise(self, name: str, before: Object, want: Object) -> None:
        self.raised.add(name)
        phase = "bring links up below ports" if name in self.above.below else "bring links up"
        self.phases[phase].append(_new(Step, (_CHANGE, before, want, _UP, "")))

    def _change(self, step: Step) -> None:
        have, want, attrs = step.before, step.object, step.attrs
        assert have is not None
        if want.name in self.nameless:
            have = have.having({"mac": NO_MAC})  # as it is by then
        down = want.name in self.down
        manner = Manner(
            down,
            shrinks(attrs.get("mtu"), have.attrs.get("mtu")),
            want.name in self.early,
            late(have, attrs, self.left, self.haves),
            "mac" in attrs and have.attrs.get("mac") == NO_MAC,
            attrs.get("dev") in self.made or is_still_small(attrs.get("dev"), self.left, self.haves),
            follows(attrs, have),
            told_before(attrs, have.attrs) if "mode" in attrs and kind_of(have) == "bond" else frozenset(),
            kind_of(have) == "vxlan" and "dev" in attrs and have.attrs.get("dev") in self.doomed,
        )
        told = (id(attrs), manner)  # links that are told the same share the mapping that says it
        if (pieces := self._pieces.get(told)) is None:
            pieces = self._pieces[told] = tuple(pieces_of(attrs, manner))
        for phase, said in pieces:
            self.phases[phase] += self.above.told(Step(step.op, have, step.after, said, step.why))
        if attrs.get("master"):
            self._watch_port(have, want, str(attrs["master"]))
        if attrs.get("up") or (down and want.attrs.get("up", have.attrs.get("up"))):
            self._raise(want.name, have, want)

    def _watch_port(self, have: Object, want: Object, master: str) -> None:
        """A bridge takes the least MTU of its ports; a port that of its bond, which brings it up, as a team does."""
        said, there = self.wants.get((master,)), self.haves.get((master,))
        kind = kind_of(said or there)
        if kind not in TEAMING and not (said and "mtu" in said.attrs):
            self.careless.add(master)
        elif said and kind == "bridge":
            if said.attrs.get("mtu") not in (None, want.attrs.get("mtu", have.attrs.get("mtu"))):
                late = want.name in self.late or self.unsettled.get(master) == "settle bridges again"
                self.unsettled[master] = "settle bridges again" if late else "settle bridges"
        elif kind in TEAMING:
            sized = kind == "bond" and want.attrs.get("mtu") is not None
            if sized and want.attrs["mtu"] != in_the_end(master, self.wants, self.haves).get("mtu", _USUAL_MTU):
                self.add("settle links", Step(Op.CHANGE, have, want, {"mtu": want.attrs["mtu"]}))
            if want.attrs.get("up") is False:
                self.add("take links down again", Step(Op.CHANGE, have, want, DOWN))

    def settle_bridges(self) -> None:
        """Set the MTU of bridges again that a new port changes.

        A bridge takes the least MTU of its ports, until it is told its own
        while it exists and has another.
        """
        for name, phase in sorted(self.unsettled.items()):
            want = self.wants[name,]
            before = self.haves.get((name,), want)
            self.add(phase, Step(Op.CHANGE, before, want, {"mtu": want.attrs["mtu"]}))

    def hold_down(self, cycled: Iterable[str]) -> None:
        """Take VLANs down again that the kernel brings up with the link below them, as it does ``cycled`` ones.

        IPv6 addresses would not outlast that, nor those of the ports of bonds.
        """
        up = {name for name in cycled if (want := self.wants.get((name,))) and want.attrs.get("up")}
        for name in sorted(kept_down(self.raised | up, self.wants, self.haves)):
            want = self.wants[name,]
            self.add("take links down again", Step(Op.CHANGE, self.haves.get(want.key, want), want, DOWN))
        held = {step.object.name for step in self.phases.get("take links down again", ())}
        if held and (adding := self.phases.pop("add address", ())):
            low = held.union(name for name, _ in carried_down(held, self.wants))
            for step in adding:
                self.add("add address of a link held down" if step.object.name in low else "add address", step)

    def hold_classes(self, first: frozenset[Hook], actual: State) -> None:
        """Delete classes behind the rules that lead to them until then; of those that go ``first`` none does."""
        deleted = self.phases.get("delete queue", [])
        if not any(step.object.cls == "tclass" for step in deleted):
            return
        late = held(chain.from_iterable(self.phases.get(phase, ()) for phase in LEVELS), actual) - first
        del self.phases["delete queue"]
        for step in deleted:
            behind = step.object.cls == "tclass" and step.object.key in late
            self.add("delete class" if behind else "delete queue", step)


def _is_new_here(step: Step) -> bool:
    """Whether a link that is there has no settings of IPv6 before ``step``: it moves here, or its MTU was too small."""
    mtu = step.before.attrs.get("mtu") if step.before and "mtu" in step.attrs else None
    return "netns" in step.attrs or (isinstance(mtu, int) and mtu < LEAST_MTU["inet6"])


_new = tuple.__new__  # without the checks of the arguments' names: there are two steps for every link that is made
_CHANGE = Op.CHANGE
_USUAL_MTU = 1500  # of a bond that is new
_UP: Mapping[str, Value] = {"up": True}
