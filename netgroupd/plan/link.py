# SPDX-License-Identifier: GPL-2.0-or-later
"""(desired, actual) links -> which are created, changed, recreated, deleted or let go.

The fate of a link decides over everything on it, so links are compared first:
what goes takes the links above it along, and what is wanted of those is made
again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import NamedTuple
from weakref import WeakKeyDictionary

from netgroupd.errors import Problem
from netgroupd.model.attr import Change
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State, problem_of
from netgroupd.model.value import Value
from netgroupd.plan.again import broken, told_again
from netgroupd.plan.compare import differing, hardest, kind_of
from netgroupd.plan.fate import MOVABLE, TEAMING, Fate, carried_down, evicted, followers, peer_of
from netgroupd.plan.led_away import without_led_away
from netgroupd.plan.narrowed import kept_mtu
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Op, Step
from netgroupd.plan.vlans_up import as_below

_NEEDS_PORT_DOWN = frozenset({"bond", "team", "vrf"})
_WHILE_DOWN = (Change.DOWN, Change.EMPTY)
_WITHOUT_PORTS = (Change.VACANT, Change.EMPTY)
_LET_GO = "no file mentions it any more"
_OF_SEVERAL = {  # what is told of one link, and what of several
    "which no file has put there, loses its master": "which no file has put there, lose their master",
    "which no file mentions, loses its master": "which no file mentions, lose their master",
    "which no file mentions, stays without a carrier above": "which no file mentions, stay without a carrier above",
    "which is not netgroupd's, goes with": "which are not netgroupd's, go with",
}
_new = tuple.__new__  # without the checks of the arguments' names, for this is done for every link that is made
_SHAKING = frozenset({"up", "netns", "master"})  # what is on a link


class LinkChanges(NamedTuple):
    """What differs between links: some are ``down`` while they change, ``released`` ports leave before any does."""

    steps: list[Step]
    fate: Fate
    down: frozenset[str]
    released: frozenset[str]
    problems: list[Problem]
    warnings: list[str]


_agreed: WeakKeyDictionary[State, list[Object]] = WeakKeyDictionary()
"""The actual links that were what a desired state asks for, when there was nothing to do."""


def diff_links(desired: State, actual: State, owned: Owned, *, whole: bool = True) -> LinkChanges:
    """Find what turns the actual links into the desired ones, which from here on stay as they are.

    Unless ``whole`` the first that differs will do.
    """
    found = _Comparison(desired, actual, owned).result(whole=whole)
    if not (found.steps or found.problems or found.warnings):
        _agreed[desired] = [*actual.of("link").values()]
    return found


def _doubtful(desired: State, actual: State) -> Iterable[tuple[Key, Object]]:
    """The desired links, but for those whose actual ones are the very objects that agreed with them."""
    wants, haves = desired.of("link"), [*actual.of("link").values()]
    agreed = _agreed.get(desired)
    if agreed is None or len(agreed) != len(haves):
        return wants.items()
    changed = {have.key for have in compress(haves, map(is_not, haves, agreed))}
    if changed != {have.key for have in compress(agreed, map(is_not, agreed, haves))}:
        return wants.items()
    return [(key, want) for key, want in wants.items() if key in changed] if changed else ()


def _told(lost: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """What links lose by others, each with that one, as sentences about ranges of them."""
    if lost:
        from netgroupd.plan.fold import field_text, fold, name_text  # noqa: PLC0415  # seldom needed

        for what, links in lost.items():
            for found in fold(links):
                said = _OF_SEVERAL.get(what, what) if found.size > 1 else what
                yield f"{name_text(found)}, {said} {field_text(found, 1)}"


class _Comparison:
    """One run over all links; the lists fill as it goes."""

    def __init__(self, desired: State, actual: State, owned: Owned) -> None:
        self.doubtful = _doubtful(desired, actual)
        self.want = desired.of("link")
        self.have = actual.of("link")
        self.owned = owned
        self.created: list[Object] = []
        self.changed: dict[str, Attrs] = {}
        self.let_go: list[Step] = []
        self.leaving: dict[str, Object] = {}
        self.fate = Fate({}, {}, {})
        self.replaced: dict[str, str] = {}
        self.emptied: dict[str, str] = {}
        self.down: dict[str, str] = {}  # and why
        self.released: set[str] = set()
        self.problems: list[Problem] = []
        self.lost: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)

    def result(self, *, whole: bool) -> LinkChanges:
        """All changes, or the first and what goes with it."""
        self._compare(whole=whole)
        if len(self.have) != len(self.want) - len(self.created):
            for key, have in self.have.items():
                if key not in self.want and self.owned.has(have):
                    self._drop(have)
        self._take_along()
        self._reattach()
        self._release()
        self._empty()
        for name, attrs in [*self.changed.items()]:
            self._note_fate(name, attrs)
        for upper, lower in carried_down(list(self.fate.cycled), self.have) if self.fate.cycled else ():
            self.fate.cycled.setdefault(upper, self.fate.cycled[lower])
        down, released = frozenset(self.down), frozenset(self.released)
        return LinkChanges(self._steps(), self.fate, down, released, self.problems, [*_told(self.lost)])

    def _compare(self, *, whole: bool) -> None:
        haves = self.have
        for key, want in self.doubtful:
            have = haves.get(key)
            if have is None:
                assert want.attrs.get("kind"), f"{want.name} is hardware that is not there"
                self.created.append(want)
            else:
                wanted, actual = want.attrs, have.attrs
                if (
                    wanted.items() <= actual.items()
                    and "netns" not in actual
                    and ("master" in wanted or not actual.get("master"))
                ):
                    continue  # most links of a host, at C speed
                if attrs := self._differing(want, have):
                    self._change(want, have, attrs)
            if not whole and (self.created or self.changed):
                break

    def _differing(self, want: Object, have: Object) -> Attrs:
        """What differs; a port that files name no more is none, and one of which they name no namespace lives here."""
        attrs = differing(want, have)
        wanted, actual = want.attrs, have.attrs
        if "master" not in wanted and self._leaves(have):
            attrs = {**attrs, "master": None}
        if actual.get("netns") and "netns" not in wanted:
            attrs = {**attrs, "netns": None}
        if kept := kept_mtu(have, attrs):
            attrs = {**kept, **attrs}
        if "mac" in attrs and "master" not in attrs and self._has_mac_of_master(have):
            attrs = {name: value for name, value in attrs.items() if name != "mac"}
        return attrs

    def _leaves(self, port: Object) -> bool:
        """Whether the files have named a port, which they do no more, and its master stays."""
        name = port.attrs.get("master")
        master = self.have.get((name,))
        stays = (name,) in self.want or master is None or not self.owned.made(master)
        return stays and self.owned.names_port(name, port.name)

    def _has_mac_of_master(self, have: Object) -> bool:
        """Whether a link is a port of what gives its own MAC to its ports: theirs are what it chooses from."""
        master = self.have.get((have.attrs.get("master"),))
        return master is not None and kind_of(master) in TEAMING and master.attrs.get("fail_over_mac") != "active"

    def _change(self, want: Object, have: Object, attrs: Attrs) -> None:
        change, name = hardest(want if "kind" in want.attrs else have, attrs, have.attrs)
        if "netns" in attrs and kind_of(have) not in MOVABLE:
            change, name = Change.RECREATE, "netns"
        if change is Change.RECREATE:
            self._recreate(want, have, name)
            return
        self.changed[want.name] = attrs
        if change in _WITHOUT_PORTS:
            self.emptied[want.name] = name
        if change in _WHILE_DOWN and have.attrs.get("up"):
            self.down[want.name] = self.fate.cycled[want.name] = f"{want.name} goes down for `{name}` to change"

    def _recreate(self, want: Object, have: Object, name: str) -> None:
        kind = kind_of(have)
        if not (self.owned.made(have) or self._goes_with_other_end(have)):
            whose = f"a link of kind {kind} that is not netgroupd's" if kind else "hardware"
            told = f"{want.name!r} exists, is {whose}, and its `{name}` cannot change in place"
            self.problems.append(problem_of(want, told, "use another name, or delete it first"))
            return
        why = f"{kind} {name} cannot change in place"
        self.replaced[want.name] = why
        self.fate.gone[want.name] = f"{want.name} is recreated"

    def _goes_with_other_end(self, have: Object) -> bool:
        """Whether the other end of a pair is netgroupd's and goes: a new pair is marked at one end first."""
        other = self.have.get((peer_of(have),))
        want = self.want.get((peer_of(have),))
        stays = want is not None and peer_of(want) in ("", have.name)
        return other is not None and self.owned.made(other) and not stays

    def _drop(self, have: Object) -> None:
        if self.owned.made(have):
            self.fate.gone[have.name] = f"{have.name} is deleted"
            return
        free: dict[str, Value] = {"group": 0, "netns": None} if have.attrs.get("netns") else {"group": 0}
        if "netns" not in free and self._leaves(have):
            kept = {name: value for name, value in have.attrs.items() if not name.startswith("port.")}
            self.changed[have.name] = free = {**free, "master": None}
            self.leaving[have.name] = have._replace(attrs={**kept, **free})
            return
        after = have.having(free)
        self.let_go.append(Step(Op.CHANGE, have, after, free, _LET_GO))

    def _take_along(self) -> None:
        """Doom what stands on doomed links; what is wanted of it is made again."""
        moving = {name for name, attrs in self.changed.items() if "netns" in attrs}
        if not (moving or self.fate.gone):
            return
        found = [*evicted(moving, self.have)]
        while True:
            for name, lower in found:
                self._doom(name, lower)
            standing = without_led_away(self.have, self.changed, self.fate.gone, moving)
            for name, lower in followers([*self.fate.gone], standing):
                self._doom(name, lower)
            if not (found := [*broken(self.have, self.want, self.fate.gone, moving | self.fate.gone.keys())]):
                break
        for key, link in self.have.items() if moving else ():
            lower = str(link.attrs.get("link"))
            if lower in moving and key not in self.want and link.name not in self.fate.gone:
                self.lost["which no file mentions, stays without a carrier above"].append((link.name, lower))

    def _doom(self, name: str, lower: str) -> None:
        link = self.have[name,]
        self.changed.pop(name, None)
        if link.key in self.want:
            self.fate.gone[name] = f"{name} is recreated"
            self.replaced[name] = f"it goes with {lower}"
            return
        self.fate.gone[name] = f"{name} is deleted"
        if not self.owned.made(link):
            self.lost["which is not netgroupd's, goes with"].append((name, lower))

    def _reattach(self) -> None:
        """Make the ports that stay ports again, when their master is recreated, and have tunnels send by their link."""
        if self.replaced:
            for name, attrs in [*told_again(self.have, self.want, self.changed, self.fate.gone, self.replaced)]:
                self._tell(name, attrs)

    def _release(self) -> None:
        """Note what ports lose that stay when their VRF or bridge goes."""
        if not self.fate.gone:
            return
        for have in self.have.values():
            master = have.attrs.get("master")
            if master not in self.fate.gone or have.name in self.fate.gone:
                continue
            if have.key in self.want and master not in self.replaced and not self.owned.names_port(master, have.name):
                self.lost["which no file has put there, loses its master"].append((have.name, str(master)))
            if have.key not in self.want and (master in self.replaced or not self.owned.made(have)):
                self.lost["which no file mentions, loses its master"].append((have.name, str(master)))
            kind = kind_of(self.have.get((master,)))
            if kind == "vrf":
                self.fate.cycled[have.name] = f"{have.name} leaves {master}"
            elif kind == "bridge":
                self.fate.moved[have.name] = f"{have.name} leaves {master}"
            elif kind in TEAMING and have.attrs.get("up"):
                self.fate.cycled[have.name] = f"{have.name} leaves {master}"
                self._raise_again(have.name)

    def _empty(self) -> None:
        """Have the ports of a link leave it, and those that stay come back, for what it changes only without any."""
        parted: dict[str, bool] = {}  # from which links, and whether any port for good
        for have in self.have.values() if self.emptied else ():
            master = str(have.attrs.get("master"))
            if master not in self.emptied or master not in self.changed or have.name in self.fate.gone:
                continue
            if have.key not in self.want and have.name not in self.leaving:
                told = f"`{self.emptied[master]}` of {master!r} cannot change while {have.name!r} is its port"
                hint = f"take {have.name} out first, or name it under `ports`"
                self.problems.append(problem_of(self.want[master,], f"{told}, which no file mentions", hint))
                continue
            self.released.add(have.name)
            leaves = "master" in self.changed.get(have.name, NOTHING)
            parted[master] = leaves or parted.get(master, False)
            if not leaves:
                self._tell(have.name, {"master": master})
                fate = self.fate.moved if self._kind(master) == "bridge" else self.fate.cycled
                fate[have.name] = f"{have.name} leaves {master} for its `{self.emptied[master]}` to change"
        for master, for_good in parted.items():
            if self._kind(master) == "bond":
                self._keep_mac(master, for_good=for_good)

    def _keep_mac(self, bond: str, *, for_good: bool) -> None:
        """Tell a bond its MAC, which it has not any more without ports; not one that may be of a port that leaves."""
        said = self.want[bond,].attrs
        own = {**self.have[bond,].attrs, **said}
        is_own = not for_good and own.get("fail_over_mac") in (None, "none")
        if "mac" in (own if is_own else said):
            self._tell(bond, {"mac": own["mac"]})

    def _raise_again(self, name: str) -> None:
        want = self.want.get((name,))
        if want and want.attrs.get("up", True):
            self._tell(name, {"up": True, **self.changed.get(name, NOTHING)})

    def _tell(self, name: str, attrs: Attrs) -> None:
        """Tell a link something more; it may share what is said so far with others."""
        self.changed[name] = {**self.changed.get(name, NOTHING), **attrs}

    def _note_fate(self, name: str, attrs: Attrs) -> None:
        if _SHAKING.isdisjoint(attrs):
            return
        have, want = self.have[name,], self._after(name)
        if attrs.get("up") is False:
            self.fate.cycled[name] = f"{name} goes down"
        if "netns" in attrs:
            self._move(want, have, attrs)
            attrs = self.changed[name]
        if "master" not in attrs:
            return
        old, new = have.attrs.get("master"), attrs["master"]
        if port := {key: value for key, value in want.attrs.items() if key.startswith("port.")}:
            self._tell(name, port)
        leaves, enters = self._kind(old), self._kind(new)
        if "vrf" in (leaves, enters):
            self.fate.cycled[name] = f"{name} enters {new}" if enters == "vrf" else f"{name} leaves {old}"
        if leaves == "bridge":
            self.fate.moved.setdefault(name, f"{name} leaves {old}")
        if have.attrs.get("up") and (enters in _NEEDS_PORT_DOWN or leaves in _NEEDS_PORT_DOWN):
            self.down[name] = f"{name} goes down to {'enter' if new else 'leave'} {new or old}"
            self.fate.cycled.setdefault(name, self.down[name])
        elif enters in TEAMING and want.attrs.get("up") is False:
            self.fate.cycled.setdefault(name, f"{new} brings {name} up, which goes down again")

    def _move(self, want: Object, have: Object, attrs: Attrs) -> None:
        """Note that a link arrives in another namespace down, without a master and with nothing on it."""
        why = f"{want.name} moves to {attrs['netns'] or 'this network namespace'}"
        self.fate.gone[want.name] = why
        if want.attrs.get("master"):
            self._tell(want.name, {"master": want.attrs["master"]})
        if have.attrs.get("up"):
            self.down[want.name] = ""  # which goes without saying
            self.fate.cycled[want.name] = why

    def _kind(self, name: Value) -> str:
        return kind_of(self.want.get((name,))) or kind_of(self.have.get((name,)))

    def _steps(self) -> list[Step]:
        steps = self.let_go
        for name in reversed([name for name in self.fate.gone if name not in self.changed]):
            why = self.replaced.get(name, "")
            steps.append(Step(Op.DELETE, self.have[name,], None, why=why))
        wants, gone = self.want, self.fate.gone
        made = [want if "up" in want.attrs else as_below(want, wants, self.have, gone) for want in self.created]
        steps += [_new(Step, (Op.CREATE, None, want, want.attrs, "")) for want in made]
        for name, why in self.replaced.items():
            want = as_below(self._remade(name), wants, self.have, gone)
            steps.append(Step(Op.CREATE, None, want, want.attrs, why))
        for name, attrs in self.changed.items():
            steps.append(Step(Op.CHANGE, self.have[name,], self._after(name), attrs, self._why(name)))
        return steps

    def _why(self, name: str) -> str:
        """Why a link changes, where nobody has asked for that, or goes down for it."""
        if name in self.leaving:
            return _LET_GO
        if name in self.released:
            return self.fate.moved.get(name) or self.fate.cycled.get(name, "")
        return self.down.get(name, "")

    def _after(self, name: str) -> Object:
        """A link as it is to be."""
        return self.leaving.get(name) or self.want[name,]

    def _remade(self, name: str) -> Object:
        """The wanted link, of the kind that it had if the files leave that open."""
        want, have = self.want[name,], self.have[name,]
        if kind_of(want):
            return want
        return want._replace(attrs={"kind": kind_of(have), **want.attrs})
