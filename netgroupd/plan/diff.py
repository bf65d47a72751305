# SPDX-License-Identifier: GPL-2.0-or-later
"""(desired, actual) -> the changes between them, not yet in order.

What is owned and not wanted is deleted (hardware is let go), what is wanted and
missing is created, what the kernel will lose on the way is made again, and what
cannot change in place is deleted and created, with the reason.  What is not
owned and not wanted is not looked at.  Linear.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

from netgroupd.errors import Problem
from netgroupd.model import CLASSES, nexthop, route
from netgroupd.model.address import plain_address
from netgroupd.model.attr import Change
from netgroupd.model.bridge_vlan import vlans_joined
from netgroupd.model.mdb import is_of_host
from netgroupd.model.owner import LISTED
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State, called, problem_of
from netgroupd.model.tc.filter import incoming_link
from netgroupd.model.tc.queues import cannot_stay
from netgroupd.plan import address, bridge_vlan, fdb, mdb, mst, rules, settings, token, vf, vlan_global, without_mac
from netgroupd.plan.compare import UNOWNED, UNSAID, differing, hardest, kind_of
from netgroupd.plan.default_vlan import Defaults
from netgroupd.plan.fate import Fate, Losses, muted
from netgroupd.plan.link import diff_links
from netgroupd.plan.made import Made
from netgroupd.plan.named import named_in
from netgroupd.plan.owned import Owned
from netgroupd.plan.readdressed import forgetting
from netgroupd.plan.replaced import Replaced, replaced
from netgroupd.plan.step import Op, Step
from netgroupd.plan.stranded import Stranded
from netgroupd.plan.tc import anew, atomic, classes, tables, taken, turns
from netgroupd.plan.tc.hooks import emptied_blocks
from netgroupd.plan.tc.templates import holding

# Lost nexthops and addresses take routes along, and qdiscs what hangs on them; a
# chain gets or loses its template without rules in it.
_FIRST = ("address", "nexthop", "qdisc", "chain")
_STAYING = frozenset({"sysctl", "token", "vlan_global", "mst", "ethtool", "sriov", "vf"})
_WAYS = {"route": route.WAY, "nexthop": nexthop.WAY}
_BY_KERNEL = 2  # its protocol number of routes
_IN_THE_WAY = "it is there, and in the way of what is wanted"


class Changes(NamedTuple):
    """What differs of ``links``, of which ``made`` tells what is new among them, and of ``others``.

    Some links are ``down`` while they change, ``released`` ports leave before any does.
    ``replaced`` is deleted when something else has taken its place.
    ``holding`` are rules that are deleted first: before the templates of the chains that they lead to, their blocks, or
    the links that they are about.
    ``idle`` are the nexthops that are deleted when what went by way of them goes elsewhere, or is gone.
    """

    links: tuple[Step, ...] = ()
    others: tuple[Step, ...] = ()
    down: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()
    idle: frozenset[Key] = frozenset()
    holding: frozenset[Key] = frozenset()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    fate: Fate = Fate({}, {}, {})
    emptied: frozenset[str] = frozenset()
    replaced: Replaced = Replaced()
    made: Made = Made.by(())

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them."""
        return self.links + self.others


def diff(desired: State, actual: State, owned: Owned, *, whole: bool = True) -> Changes:
    """Find what turns ``actual`` into ``desired``; unless ``whole`` the first of it will do."""
    links = diff_links(desired, actual, owned, whole=whole)
    if links.steps and not whole:
        return Changes(tuple(links.steps))
    losses = Losses(links.fate, actual)
    losses.remade(classes.remade(desired, actual), actual)
    run = _Run(desired, actual, owned, losses)
    made = Made.by(links.steps)
    run.forgetting = forgetting(made.told)
    losses.mute(muted([*made.told, *run.of("sysctl")], actual.of("link")), actual)
    steps = run.before = [*links.steps]
    doomed = (obj for key, obj in actual.of("nexthop").items() if key not in desired.of("nexthop"))
    idle, heirs = losses.outlast(doomed), dict[Key, list[Step]]()
    for cls in _FIRST:
        found = run.of(cls)
        if cls == "chain":
            losses.holding = holding(found, actual)
        goes = (step.object for step in found if step.op is Op.DELETE or cls == "chain")
        lost = (obj for obj in goes if cls != "nexthop" or obj.key not in idle)
        if deleted := list(lost):
            losses.deleted(cls, deleted, actual)
            if cls == "address" and not owned.was:
                run.stranded = Stranded(deleted, desired)
            found = run.of(cls)
            if cls == "address":
                heirs = address.successors(found, actual.of(cls), actual.of("link"), losses.why)
                losses.succeeded({key[0] for key in heirs})
        steps += found
    for cls in CLASSES:
        if cls != "link" and cls not in _FIRST:
            found = run.of(cls)
            if cls == "filter":
                found = tables.arrange(found, desired, actual)
                found = turns.arrange(found, desired, actual, atomic.unmet(found, actual))
            steps += found
    problems = (*links.problems, *run.problems.values())
    others = steps[len(links.steps) :]
    told = (problems, tuple(links.warnings), links.fate, losses.emptied, replaced(others, losses.why, heirs))
    first = losses.holding | _in_emptied_blocks(others, links.fate, actual) | _about_links_that_go(others, links.fate)
    return Changes(tuple(links.steps), tuple(others), links.down, links.released, idle, first, *told, made)


def _in_emptied_blocks(steps: list[Step], fate: Fate, actual: State) -> frozenset[Key]:
    """The rules of shared blocks that nothing is in any more when links and qdiscs have gone."""
    doomed = frozenset(step.object.key for step in steps if step.object.cls == "qdisc" and step.op is Op.DELETE)
    emptied = emptied_blocks(fate.gone, actual, doomed) if fate.gone or doomed else {}
    return frozenset(key for key in actual.of("filter") if key[0] in emptied) if emptied else frozenset()


def _about_links_that_go(steps: list[Step], fate: Fate) -> frozenset[Key]:
    """The rules that go with the links that packets come in by: of one that outlasts its link nobody can tell which."""
    if not fate.gone:
        return frozenset()
    doomed = (step.object.key for step in steps if step.object.cls == "filter" and step.op is Op.DELETE)
    return frozenset(key for key in doomed if incoming_link(key) in fate.gone)


def _in_doubt(pairs: Iterable[tuple[Object, Object | None]]) -> Iterator[tuple[Object, Object | None]]:
    """What is wanted and not there as it is to be; most of a million rules have the attributes of the one before."""
    wanted: Attrs | None = None
    there: Attrs | None = None
    for want, have in pairs:
        if have is None:
            yield want, have
        elif want[2] is wanted and have[2] is there:
            continue
        elif UNOWNED in have.attrs or differing(want, have):
            yield want, have
        elif want.cls != "sysctl":  # of which the name counts, too
            wanted, there = want.attrs, have.attrs


class _Run:
    """One comparison, class by class."""

    def __init__(self, desired: State, actual: State, owned: Owned, losses: Losses) -> None:
        self.desired = desired
        self.actual = actual
        self.owned = owned
        self.losses = losses
        self.problems: dict[Key, Problem] = {}
        self.stranded = Stranded()
        self.before: list[Step] = []  # what else is changed, of the classes that come first
        self.forgetting: Mapping[str, str] = {}
        # What was there before a change does not say again what the last files take links out of.
        self._defaults = Defaults(desired, actual, () if owned.was else owned.named)
        self.listed = {cls: frozenset(str(key[0]) for key in desired.of(cls)) for cls in LISTED}

    def of(self, cls: str) -> list[Step]:
        """The changes to the objects of one class; deletions first, in reverse order."""
        wants = vlans_joined(self.desired) if cls == "bridge_vlan" else self.desired.of(cls)
        haves = self._haves(cls)
        doomed: list[Object] = []
        steps: list[Step] = []
        staying = len(wants)
        lossy = bool(self.losses) or (cls == "neighbour" and bool(self.forgetting))
        pairs = zip(wants.values(), map(haves.get, wants), strict=True)
        for want, have in pairs if lossy else _in_doubt(pairs):
            if have is None:
                staying -= 1
                steps.append(Step(Op.CREATE, None, want, want.attrs))
            elif lossy and (why := self.losses.why(have) or self._why_forgotten(have)):
                steps += self._lost(want, have, why)
            elif UNOWNED in have.attrs and UNOWNED not in want.attrs:
                steps += self._taken_over(want, have)
            elif attrs := differing(want, have) or (self._forgotten(want, have) if lossy else NOTHING):
                steps += self._different(want, have, attrs)
            elif lossy and (why := self.losses.in_the_way(have)):
                steps += _again(want, have, why)
            elif lossy and (why := self.stranded.why(have)):
                steps.append(Step(Op.CHANGE, have, want, want.attrs, why))
        if staying < len(haves):  # a million need not be looked for where nothing is to go
            doomed = [obj for key, obj in haves.items() if key not in wants and self._is_to_go(obj)]
            goes = [Step(Op.DELETE, obj, None, why=_IN_THE_WAY if UNOWNED in obj.attrs else "") for obj in doomed]
            steps = [*reversed(goes), *steps]
        return self._with_what_follows(cls, steps, doomed)

    def _why_forgotten(self, have: Object) -> str:
        """Why the link of a neighbour forgets it; one that is answered for it knows by itself."""
        return self.forgetting.get(have.name, "") if have.cls == "neighbour" and not have.key[2] else ""

    def _haves(self, cls: str) -> Mapping[Key, Object]:
        return taken.standing(self.actual) if cls == "action" else self.actual.of(cls)

    def _with_what_follows(self, cls: str, steps: list[Step], doomed: list[Object]) -> list[Step]:
        """Add what the kernel changes by itself with these steps."""
        if cls == "bridge_vlan":
            return self._with_default_vlans(steps, doomed)
        follows = _FOLLOWS.get(cls)
        return follows(self, steps, self.desired.of(cls), self.actual.of(cls)) if follows else steps

    def _with_default_vlans(self, steps: list[Step], doomed: list[Object]) -> list[Step]:
        said = self._defaults.follow(doomed, partial(self._lists, "bridge_vlan"))
        told = [step for step in said if not self.losses.why(step.object)]  # a port that comes has the default
        again = {step.object.key for step in told}
        steps = [*(step for step in steps if step.object.key not in again), *told, *self._defaults.out(self.losses)]
        return without_mac.marked(steps, self.before, self.actual.of("link"))

    def lost_options(self, haves: Mapping[Key, Object]) -> dict[Key, str]:
        """The VLANs whose options the kernel forgets, each with the reason."""
        lost = {key: why for key, have in haves.items() if (why := self.losses.why(have))}
        vlans = vlans_joined(self.desired)

        def stays(vlan: Object) -> bool:
            return (vlan.key in vlans or not self._is_to_go(vlan)) and not self.losses.why(vlan)

        left = vlan_global.left(self.actual, stays) if haves else ()
        return dict.fromkeys(left, "all leave the VLAN for a moment") | lost

    def _forgotten(self, want: Object, have: Object) -> Attrs:
        """What the kernel forgets of an object that stays."""
        return {"actions": want.attrs.get("actions", have.attrs["actions"])} if self.losses.forgets(have) else NOTHING

    def _said_again(self, want: Object, have: Object) -> Attrs:
        """What to say of an object that is lost; a source that nobody mentions is gone with its address."""
        if want.cls == "bridge_vlan":
            return bridge_vlan.said_again(want, have, self.desired, self.actual)
        source, said = have.attrs.get("src"), {**_way_that_stays(want, have), **_for_good(want, have)}
        if have.attrs.get(UNOWNED) == _BY_KERNEL and "src" not in want.attrs:
            return {**said, "src": None}  # it comes with an address, wherever that goes
        if "src" in want.attrs or not self.losses.source(source):
            return said
        return said if str(source) in self._addresses else {**said, "src": None}

    @cached_property
    def _addresses(self) -> frozenset[str]:
        """The addresses that are wanted, wherever."""
        return frozenset(map(plain_address, self.desired.of("address")))

    def _lost(self, want: Object, have: Object, why: str) -> tuple[Step, ...]:
        if address.stays_joined(have) or _stays_a_group(want, have):
            return _again(want, have, why)
        return (Step(Op.CHANGE, have, want, self._said_again(want, have), why),)

    def _different(self, want: Object, have: Object, attrs: Attrs) -> tuple[Step, ...]:
        flagged = want.cls == "filter" and bool(anew.flag_of(want))
        attrs = {**attrs, **more} if flagged and (more := anew.excluded(want, have)) else attrs
        change, name = hardest(want, attrs, have.attrs)
        if change is Change.RECREATE and have.attrs.get("in_use"):
            self.problems[want.key] = _in_use(want, name)
            return ()
        if change is Change.RECREATE:
            return _again(want, have, f"{called(want.cls)} {name} cannot change in place")
        if why := self.losses.in_the_way(have):
            return _again(want, have, why)
        if why := self.stranded.why(have):
            return (Step(Op.CHANGE, have, want, want.attrs, why),)
        if flagged and (problem := anew.unfit(want, have)):
            self.problems[want.key] = problem
            return ()
        if want.cls == "qdisc":
            attrs = {**attrs, **dict.fromkeys(sorted(cannot_stay(kind_of(want), want.attrs, have.attrs)))}
        why = "it was there before netgroupd" if UNOWNED in attrs else ""
        return (Step(Op.CHANGE, have, want, attrs, why),)

    def _taken_over(self, want: Object, have: Object) -> tuple[Step, ...]:
        """Make what somebody else has made netgroupd's; the kernel keeps in silence what cannot change in place."""
        change, name = hardest(want, differing(want, have), have.attrs)
        if change is Change.RECREATE:
            return _again(want, have, f"it is there, and {called(want.cls)} {name} cannot change in place")
        if want.cls == "nexthop" and nexthop.keeps_its_protocol(have.attrs):
            attrs = differing(want, have)  # it stays marked as theirs, and is netgroupd's as long as it is asked for
            return (Step(Op.CHANGE, have, want, attrs, "it is there"),) if attrs else ()
        return (Step(Op.CHANGE, have, want, _for_good(want, have), "it is there, and becomes netgroupd's"),)

    def _is_to_go(self, obj: Object) -> bool:
        if obj.cls in _STAYING or self.losses.goes_by_itself(obj):
            return False  # what a sysctl was before nobody knows, and VLANs and drivers always have options
        if obj.cls == "qdisc" and obj.attrs.get("in_use"):
            return False  # its other hook has rules that are not netgroupd's
        if obj.cls == "fdb" and UNSAID in obj.attrs:
            return False  # to delete it is to delete any one of several
        if obj.cls == "mdb" and not is_of_host(obj.key):
            return True  # it says whose it is
        return obj.cls not in LISTED or self._is_listed(obj)

    def _is_listed(self, obj: Object) -> bool:
        """Whether the entries of this link are netgroupd's to give."""
        if obj.cls == "bridge_vlan" and obj.key[1] in self._defaults.of(obj.name):
            return obj.key in self.desired.of("bridge_vlan")
        return self._lists(obj.cls, obj.name)

    def _lists(self, cls: str, name: str) -> bool:
        return name in self.listed[cls] or (cls, name) in named_in(self.owned.named).listed


def _again(want: Object, have: Object, why: str) -> tuple[Step, ...]:
    return Step(Op.DELETE, have, None, why=why), Step(Op.CREATE, None, want, want.attrs, why)


def _stays_a_group(want: Object, have: Object) -> bool:
    """Whether members that are not lost keep a group of nexthops, which cannot become what is wanted."""
    return bool(have.attrs.get("group")) and hardest(want, differing(want, have), have.attrs)[0] is Change.RECREATE


def _for_good(want: Object, have: Object) -> Attrs:
    """What to say of ``want``: what others have given for a time stays, unless it says that it does not."""
    if UNOWNED in want.attrs or have.attrs.get("valid_lft", "forever") == "forever":
        return want.attrs
    return {"valid_lft": "forever", "preferred_lft": "forever", **want.attrs}


def _way_that_stays(want: Object, have: Object) -> Attrs:
    """What nobody says of where ``have`` leads, unless that is elsewhere from here on."""
    way = _WAYS.get(want.cls, frozenset())
    if have.attrs.get("nhid") or not way.isdisjoint(differing(want, have)):
        return NOTHING
    unsaid = way - want.attrs.keys()
    if want.cls == "route" and "via" in want.attrs and route.finds_its_link({**have.attrs, **want.attrs}):
        unsaid -= {"dev"}  # the gateway may be another link's by now
    return {name: have.attrs[name] for name in sorted(unsaid) if have.attrs.get(name)}


def _in_use(want: Object, name: str) -> Problem:
    message = f"another {name} takes a new {want.attrs['kind']} on {want.name}, and somebody else uses the one there is"
    hint = f"see `tc qdisc show dev {want.name} clsact`, and `tc filter show` of its hooks; take those away first"
    return problem_of(want, message, hint)


_Follows: TypeAlias = Callable[[_Run, list[Step], Mapping[Key, Object], Mapping[Key, Object]], list[Step]]

_FOLLOWS: Mapping[str, _Follows] = {
    "action": lambda run, steps, *_: taken.waiting(steps, run.actual),
    "address": lambda run, steps, wants, haves: address.arranged(
        steps, wants, haves, run.losses.why, run.losses.along.keys()
    ),
    "fdb": lambda _run, steps, wants, haves: fdb.said_again(steps, wants, haves),
    "mdb": lambda run, steps, wants, haves: mdb.arranged(steps, wants, haves, run.losses.why),
    "mst": lambda run, steps, *_: mst.said_again(steps, run.before, run.desired, run.actual),
    "rule": lambda _run, steps, wants, haves: rules.arranged(steps, wants, haves),
    "sriov": lambda run, steps, *_: vf.explained(steps, vf.remade(run.desired, run.actual)),
    "sysctl": lambda _run, steps, wants, haves: [*steps, *settings.said_again(steps, wants, haves)],
    "token": lambda _run, steps, *_: token.needed(steps),
    "vf": lambda run, steps, *_: vf.said_again(steps, run.desired, vf.remade(run.desired, run.actual)),
    "vlan_global": lambda run, steps, wants, haves: vlan_global.said_again(
        steps, wants, haves, run.lost_options(haves)
    ),
}
"""What the kernel changes by itself with the steps about a class, of which these are wanted and there."""
