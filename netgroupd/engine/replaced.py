# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change takes the place of, attribute by attribute, and the goal that gives it back.

What a configuration does not mention keeps the kernel's value: the text of an
earlier generation alone would leave what the later ones gave.  So each generation
keeps what it changed of objects that were there before it.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from netgroupd.engine import anew, taken_over
from netgroupd.engine.lent import ALONE, Lent
from netgroupd.engine.links_back import unfit
from netgroupd.kernel.usual import Usual
from netgroupd.model.bridge_vlan import default_vid
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.bond import follows
from netgroupd.model.link import COMMON
from netgroupd.model.route import WAY
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.model.tc.red import lasting
from netgroupd.model.value import LINK, NO_MAC, Value
from netgroupd.plan.classes import given_a_share
from netgroupd.plan.compare import UNOWNED, ends, group_of, kind_of, row_of, same
from netgroupd.plan.fate import TEAMING, followers, hangs_on
from netgroupd.plan.mst import inside
from netgroupd.plan.named import Named, named_in
from netgroupd.plan.narrowed import narrowed
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import Json, objects_from, objects_to, singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.vf import without_functions
from netgroupd.plan.vlan_global import bridge_of, left

# These stay when no configuration mentions them; all else that is netgroupd's goes.
_STAYING = frozenset({"link", "sysctl", "token", "vlan_global", "mst", "ethtool", "sriov", "vf"})
# Of these a file says all that there is.
_WHOLE = frozenset({"rule", "action", "chain"})
# So it does of where a route or a nexthop leads, but for what it had not: not to mention that does not take it away.
# And so it does of what kind a thing is.
_SAID = {
    "route": WAY | {"type", "scope"},
    "nexthop": frozenset({"family", "via", "dev", "blackhole", "encap", "group"}),
    **dict.fromkeys(("link", "qdisc"), frozenset[str]()),
}
_KIND = frozenset({"kind"})
# Of these one may be made later with what is said then, in place of one that has gone.
_COMING_AGAIN = anew.CLASSES | {"neighbour"}
_LIFETIMES = frozenset({"valid_lft", "preferred_lft"})
_PORT = "port."
_MTU = frozenset({"mtu"})


class Replaced(NamedTuple):
    """What objects were, as far as a change has altered them, and what it made of the same attributes.

    ``None`` is an attribute that was not there.  Of what another one was made in place of, or may be one day, nobody
    has said what it is from then on: it is missing there.
    """

    was: tuple[Object, ...] = ()
    made: tuple[Object, ...] = ()

    @classmethod
    def by(
        cls,
        plan: Plan,
        actual: State,
        usual: Callable[[Mapping[Key, Object]], Usual],
        named: tuple[Named, Named] | None = None,
    ) -> "Replaced":
        """What ``plan`` alters of what ``actual`` has, by a change or by making it anew.

        ``usual`` tells what links have by themselves, as those that are made anew but for what is said of them, and
        ``named`` what the last files have, and what the new ones do, unless that is the same.
        """
        made: dict[tuple[str, Key], Attrs] = {}
        doomed: list[Object] = []
        for step in singles(plan.steps):
            obj = step.object
            place = obj.cls, obj.key
            have = actual.of(obj.cls).get(obj.key)
            if have is None or (obj.cls in _WHOLE and UNOWNED not in have.attrs):
                continue
            if step.op is Op.DELETE:
                made.pop(place, None)
                doomed += [obj] if obj.cls in _COMING_AGAIN else []
                continue
            said = taken_over.told(_said(step, have), have, obj, _SAID.get(obj.cls, _KIND))
            made[place] = {**made[place], **said} if place in made else said
        gone = [_rows(obj) for obj in doomed if obj.cls == "neighbour" and obj[:2] not in made]
        if again := [obj for obj in doomed if obj.cls in anew.CLASSES and obj[:2] in made]:
            for place, unsaid in anew.unsaid(again, made, actual, usual):
                made[place] = {**unsaid, **made[place]}
        for name, mtu in _made_smaller(made, plan, actual):
            made["link", (name,)] = {"mtu": mtu or anew.WHATEVER, **made.get(("link", (name,)), NOTHING)}
        for name in _opened(made, plan, actual):
            made["link", (name,)] = {"up": True, **made["link", (name,)]}
        for one in given_a_share(singles(plan.steps), actual):
            made[one[:2]] = {"ls": one.attrs["rt"], **made.get(one[:2], NOTHING)}
        bridges = _sized_bridges(made, actual)
        altered = _altered(
            ((cls == "link" and bridges.get(key)) or _lasting(actual.of(cls)[key]), attrs)
            for (cls, key), attrs in made.items()
        )
        forgotten = ((obj, obj._replace(attrs=NOTHING)) for obj in gone)
        taken = taken_over.with_named(altered, plan, actual, *named) if named else altered
        return cls._of(chain(taken, anew.drawn_macs(doomed, made, actual), forgotten))

    @classmethod
    def _of(cls, pairs: Iterable[tuple[Object, Object]]) -> "Replaced":
        pairs = tuple(pairs)
        return cls(tuple(was for was, _ in pairs), tuple(made for _, made in pairs))

    def then(self, later: "Replaced") -> "Replaced":
        """This change and a later one as if they were one."""
        found = {was[:2]: (was, made) for was, made in zip(self.was, self.made, strict=True)}
        for was, made in zip(later.was, later.made, strict=True):
            if before := found.get(was[:2]):
                first, last = before
                if _was_another(first):  # what it had not then, another one had in its place
                    was, made = (_only(first.attrs, obj) for obj in (was, made))  # noqa: PLW2901
                known = _only(last.attrs.keys() - (was.attrs.keys() - made.attrs.keys()), last)
                was = was._replace(attrs={**was.attrs, **first.attrs})  # noqa: PLW2901  # joined
                made = made._replace(attrs={**known.attrs, **made.attrs})  # noqa: PLW2901
            found[was[:2]] = was, made
        return self._of(found.values())

    def asked(self, desired: State) -> State:
        """What to look at in order to give this back beside ``desired``."""
        return joined(desired, chain(self.was, taken_over.leading(self.was)))

    def given_back(self, desired: State, actual: State, owned: Owned) -> State:
        """``desired``, and of what it does not mention what was there before, where nobody has changed it since.

        What goes with the configuration that made it needs nothing.  What was nobody's,
        or others', and ``desired`` does not mention is so again.
        """
        giving = _Return(self, desired, actual, owned)
        goal = joined(desired, giving.objects())
        taken_over.give_back(goal, self.was, desired, actual, giving.gone)
        return goal

    def to_json(self) -> Json:
        """As plain values."""
        return {"was": objects_to(self.was), "made": objects_to(self.made)}

    @classmethod
    def from_json(cls, plain: Json) -> "Replaced":
        """Out of plain values."""
        return cls(objects_from(plain["was"]), objects_from(plain["made"]))


def joined(goal: State, objects: Iterable[Object]) -> State:
    """``goal``, and of ``objects`` what it does not mention; of those that it lacks only what stays without it."""
    found = State(groups=goal.groups)
    found.classes = {cls: dict(goal.of(cls)) for cls in goal.classes}
    for obj in objects:
        want = goal.of(obj.cls).get(obj.key)
        if want:
            found.add(want._replace(attrs={**obj.attrs, **want.attrs}))
        elif obj.cls in _STAYING or obj.attrs.get(UNOWNED) is not None:
            found.add(obj)
    return found


def _was_another(was: Object) -> bool:
    """Whether a change has made something of another kind in place of a link or a nexthop."""
    return "kind" in was.attrs or (was.cls == "nexthop" and "group" in was.attrs)


def _only(names: Container[str], obj: Object) -> Object:
    return obj._replace(attrs={name: value for name, value in obj.attrs.items() if name in names})


def _rows(obj: Object) -> Object:
    """It without what no file can say of it."""
    return obj._replace(attrs={name: value for name, value in obj.attrs.items() if row_of(obj, name)})


def _said(step: Step, have: Object) -> Attrs:
    """What a step says, and what else follows from that, of what is there."""
    # Of what is made anew nobody needs to say that it is down.
    said = step.attrs if step.op is Op.CHANGE else {**step.object.attrs, **step.attrs}
    if "mode" in said and kind_of(have) == "bond":
        said = {**follows(said["mode"], have.attrs), **said}
    return {**said, "probability": None} if said.get("adaptive") else said  # whatever that will be


def _altered(told: Iterable[tuple[Object, Attrs]]) -> Iterator[tuple[Object, Object]]:
    """Of objects what they are told to change, and what that becomes; those in a row that are alike share the two."""
    last, values, was, made = NOTHING, tuple[Value, ...](), dict[str, Value](), dict[str, Value]()
    for have, attrs in told:
        had = tuple(map(have.attrs.get, attrs))
        if attrs is not last or had != values:
            last, values, said = attrs, had, _SAID.get(have.cls, _KIND)
            was = {
                name: value
                for name, value in zip(attrs, had, strict=True)
                if (name not in said or value is None or UNOWNED in attrs) and not same(name, attrs[name], value)
            }
            made = {name: attrs[name] for name in was if attrs[name] is not anew.WHATEVER}
        if was:
            yield Object(have.cls, have.key, was), Object(have.cls, have.key, made)


def _lasting(have: Object) -> Object:
    return have._replace(attrs=lasting(have.attrs)) if have.attrs.get("adaptive") else have


def _sized_bridges(made: Mapping[tuple[str, Key], Attrs], actual: State) -> dict[Key, Object]:
    """The bridges that are told an MTU, without the one that their ports have lent them: that is none to be told."""
    links = actual.of("link")
    told = (links[key] for (cls, key), attrs in made.items() if cls == "link" and "mtu" in attrs)
    bridges = [link for link in told if kind_of(link) == "bridge"]
    lent = Lent(bridges, actual)
    return {link.key: lent.without(link, _MTU) for link in bridges}


def _made_smaller(made: Mapping[tuple[str, Key], Attrs], plan: Plan, actual: State) -> Iterator[tuple[str, int]]:
    """The links above those of which ``made`` tells that become as small, which do not grow again by themselves."""
    links = actual.of("link")
    told = ((key, attrs.get("mtu")) for (cls, key), attrs in made.items() if cls == "link")
    sizes = {str(key[0]): mtu for key, mtu in told if isinstance(mtu, int) and mtu < _mtu(links[key])}
    sizes |= narrowed(singles(plan.steps), links)
    for upper, lower in followers([*sizes], links, bridges=True) if sizes else ():
        mtu = _mtu(links[upper,])
        sizes[upper] = min(mtu, sizes[lower])
        if sizes[upper] < mtu and kind_of(links[upper,]) != "bridge":  # which grows with its ports
            yield upper, sizes[upper]


def _opened(made: Mapping[tuple[str, Key], Attrs], plan: Plan, actual: State) -> list[str]:
    """The links that become ports of what brings its ports up."""
    masters = {
        str(key[0]): attrs["master"] for (cls, key), attrs in made.items() if cls == "link" and attrs.get("master")
    }
    there = [*actual.of("link").values(), *(step.object for step in singles(plan.steps))] if masters else []
    teaming = {obj.name for obj in there if obj.cls == "link" and kind_of(obj) in TEAMING}
    return [name for name, master in masters.items() if master in teaming]


def _mtu(link: Object) -> int:
    mtu = link.attrs.get("mtu")
    return mtu if isinstance(mtu, int) else 0


class _Return:
    """One giving back."""

    def __init__(self, replaced: Replaced, desired: State, actual: State, owned: Owned) -> None:
        self._replaced = replaced
        self._desired = desired
        self._actual = actual
        self._owned = owned
        self.gone = self._going()
        self._theirs = taken_over.theirs_again(replaced.was, desired, actual, self.gone)

    def _going(self) -> Set[str]:
        """The links that will not be there any more."""
        links, wants = self._actual.of("link"), self._desired.of("link")
        # They were there before netgroupd, and outlive it.
        grouped = (obj for obj in self._replaced.was if obj.cls == "link" and "group" in obj.attrs)
        older = {obj.key for obj in grouped if not self._owned.covers(obj.attrs["group"])}
        doomed = [
            link.name for key, link in links.items() if key not in wants and key not in older and self._owned.made(link)
        ]
        return {*doomed, *(name for name, _ in followers(doomed, links))}

    def objects(self) -> Iterator[Object]:
        """What was there, of all that stays; a bridge has what its ports will lend it, where they had."""
        found = [*self._found()]
        found = without_functions(found, (*found, *self._desired.of("sriov").values()))
        given = {obj.key: obj.attrs for obj in found if obj.cls == "link"}
        if any(obj.cls == "mst" for obj in found):
            found = [*inside(found, self._members, joined(self._desired, found), self._actual)]
        for obj in found:
            if obj.cls == "link" and _MTU.issubset(obj.attrs) and obj.attrs["mtu"] is None:
                obj = obj._replace(attrs={**obj.attrs, "mtu": self._least(obj.name, given)})  # noqa: PLW2901
            yield obj

    def _least(self, bridge: str, given: Mapping[Key, Attrs]) -> int:
        """The least MTU of the ports that a bridge will have."""
        there, wants = self._actual.of("link"), self._desired.of("link")
        sizes = []
        for key in there.keys() | wants.keys():
            want, have = wants.get(key), there.get(key)
            said = {**(want.attrs if want else NOTHING), **given.get(key, NOTHING)}
            # A port that the files do not name any more leaves the bridge that it is in.
            stays = have and key[0] not in self.gone and not self._owned.names_port(bridge, str(key[0]))
            if said.get("master", have.attrs.get("master") if have and stays else None) == bridge:
                sizes.append(said.get("mtu", have.attrs.get("mtu") if have else None))
        return min((mtu for mtu in sizes if isinstance(mtu, int)), default=ALONE)

    def _found(self) -> Iterator[Object]:
        for was, made in zip(self._replaced.was, self._replaced.made, strict=True):
            if taken_over.is_had(was):
                continue
            have = self._actual.of(was.cls).get(was.key)
            want = self._desired.of(was.cls).get(was.key)
            drawn = "mac" in was.attrs.keys() - (want.attrs if want else NOTHING).keys()
            if have is None and drawn and kind_of(want) in anew.DRAWING:
                yield was._replace(attrs={"mac": was.attrs["mac"]})
            theirs = was[:2] in self._theirs
            if want is None and not theirs and not self._stays(was):
                continue
            if have is None:  # a state comes with a VLAN in its tree
                yield from [was] if was.cls == "mst" and not want else ()
                continue
            attrs = {name: was.attrs[name] for name in self._names(was, made, have, want)}
            if theirs:
                attrs[UNOWNED] = was.attrs[UNOWNED]
            if was.cls == "link":
                self._fit(attrs, have, want)
            if attrs:
                yield was._replace(attrs=attrs)

    def _stays(self, obj: Object) -> bool:
        if obj.cls == "link":
            return obj.name not in self.gone
        return obj.cls in _STAYING and self.gone.isdisjoint(hangs_on(obj)) and obj.key not in self._empty_vlans

    @cached_property
    def _members(self) -> Set[Key]:
        """The links that will be in VLANs, each with one."""
        wants = self._desired.of("bridge_vlan")
        listed = {name for name, _ in wants}

        def stays(vlan: Object) -> bool:
            link = self._actual.link(vlan.name)
            if vlan.name in self.gone or link is None:
                return False
            by_itself = vlan.key[1] == default_vid(link, self._actual)
            goes = vlan.name in listed or ("bridge_vlan", vlan.name) in named_in(self._owned.named).listed
            return vlan.key in wants or by_itself or not goes

        return {*wants, *(key for key, vlan in self._actual.of("bridge_vlan").items() if stays(vlan))}

    @cached_property
    def _empty_vlans(self) -> Set[Key]:
        """The VLANs that nobody will be in any more, each with its bridge."""
        wants = {(bridge_of(vlan, self._desired), vlan.key[1]) for vlan in self._desired.of("bridge_vlan").values()}
        return left(self._actual, lambda vlan: vlan.key in self._members) - wants

    def _names(self, was: Object, made: Object, have: Object, want: Object | None) -> Iterator[str]:
        """What ``want`` does not mention, is as it was made, and can be what it was."""
        if was.cls == "qdisc" and want and _contradicts(was.attrs, want.attrs):
            return
        kind = kind_of(want)
        another = kind not in ("", kind_of(have))
        back = another and kind == kind_of(was)
        alike = was if back or (not kind and _can_be_made_by_itself(was)) else have
        for name, value in was.attrs.items():
            row = row_of(alike, name)
            if (
                row is None
                or (name == "kind" and alike is have)
                or (want and name in want.attrs)
                or (another and not back and (was.cls != "link" or name not in COMMON))
            ):
                continue
            ended = value is None and not ends(alike, name) and (was.cls, name) != ("link", "mtu")
            missing = row.type is LINK and value and not self._is_there(value)
            passing = name in _LIFETIMES and value != "forever"
            silent = value == NO_MAC and was.cls != "vf"  # no link can be told to have none
            if not (ended or missing or passing or silent) and _is_still(name, made.attrs, have.attrs.get(name)):
                yield name

    def _is_there(self, name: Value) -> bool:
        """Whether a link of that name is there in the end."""
        return (name,) in self._desired.of("link") or ((name,) in self._actual.of("link") and name not in self.gone)

    def _fit(self, attrs: dict[str, Value], have: Object, want: Object | None) -> None:
        """Leave out of ``attrs`` what a link cannot have beside what else it will be; let go of one that is ours."""
        if want:  # which says where it lives
            attrs.pop("netns", None)
        whole = {**have.attrs, **(want.attrs if want else {}), **attrs}
        others: list[str] = []
        if whole.get("kind") == "bond":
            others += unfit(whole)
        master = have.attrs.get("master")
        named = want is not None and "master" in {**want.attrs, **attrs}
        leaves = not named and self._owned.names_port(master, have.name)
        if whole.get("master") != master or leaves or not master:
            others += [name for name in attrs if name.startswith(_PORT)]
        for name in others:
            attrs.pop(name, None)
        groups = frozenset(group.id for group in self._desired.groups.values())  # no others are netgroupd's then
        ours = Owned(groups if "group" in attrs else self._owned.groups)
        if want is None and ours.covers(whole.get("group", group_of(have))):
            attrs["group"] = 0


def _contradicts(was: Attrs, said: Attrs) -> bool:
    """Whether some of what a qdisc ``was`` is not what is said of it: its options go together, as bands and quanta."""
    return any(name in was and not same(name, value, was[name]) for name, value in said.items())


def _can_be_made_by_itself(link: Object) -> bool:
    kind = KINDS.get(kind_of(link))
    return kind is not None and not (kind.required or kind.lower)


def _is_still(name: str, what: Attrs, now: Value) -> bool:
    """Whether ``now`` is what was made, or what is left of it."""
    if name not in what:
        return True
    made = what[name]
    if name in _LIFETIMES and isinstance(made, int) and isinstance(now, int):
        return now <= made
    if name == "probability" and made is None:
        return True
    return same(name, made, now)
