# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change takes the place of, attribute by attribute, and the goal that gives it back.

What a configuration does not mention keeps the kernel's value: the text of an
earlier generation alone would leave what the later ones gave.  So each generation
keeps what it changed of objects that were there before it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple, TypeAlias

from netgroupd.engine.kept import anew, taken_hooks, taken_over
from netgroupd.engine.kept.giving_back import Return, joined
from netgroupd.engine.kept.handles import leave_handles
from netgroupd.engine.kept.lent import Lent
from netgroupd.kernel.usual import Usual
from netgroupd.model.kinds.bond import follows
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.route import WAY
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State, integer
from netgroupd.model.tc.red import lasting
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED, kind_of, row_of, same
from netgroupd.plan.fate import TEAMING
from netgroupd.plan.named import Named
from netgroupd.plan.narrowed import made_smaller, narrowed
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import Json, objects_from, objects_to, singles, touching
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.classes import given_a_share
from netgroupd.plan.tc.hooks import Hook

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
_WHOSE = frozenset({"hooks"})  # what of it is netgroupd's, which the kernel does not keep
# Of these one may be made later with what is said then, in place of one that has gone.
_COMING_AGAIN = anew.CLASSES | {"neighbour"}
_MTU = frozenset({"mtu"})


_Made: TypeAlias = dict[tuple[str, Key], Attrs]
"""What a plan says of objects that were there."""


class Naming(NamedTuple):
    """What files ask for; and what the last ones have named, and which hooks of traffic control."""

    desired: State
    before: Named = Named()
    hooks: frozenset[Hook] = frozenset()


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
        naming: Naming | None = None,
    ) -> "Replaced":
        """What ``plan`` alters of what ``actual`` has, by a change or by making it anew.

        ``usual`` tells what links have by themselves, as those that are made anew but for what is said of them.
        ``naming`` is what files ask for, unless the last ones have named the same.
        """
        steps = touching(plan.steps, actual.of("link"))
        made, doomed = _said_by(steps, actual)
        gone = [_rows(obj) for obj in doomed if obj.cls == "neighbour" and obj[:2] not in made]
        if again := [obj for obj in doomed if obj.cls in anew.CLASSES and obj[:2] in made]:
            made_first = {step.object.name for step in steps if step.op is Op.CREATE and step.object.cls == "link"}
            along = {obj.name for obj in again if kind_of(obj) in PAIRS} - made_first
            for place, unsaid in anew.unsaid(again, made, actual, usual, along):
                made[place] = {**unsaid, **made[place]}
        for name, mtu in _made_smaller(made, plan, actual):
            made["link", (name,)] = {"mtu": mtu or anew.WHATEVER, **made.get(("link", (name,)), NOTHING)}
        for name in _opened(made, plan, actual):
            made["link", (name,)] = {"up": True, **made["link", (name,)]}
        for one in given_a_share(steps, actual):
            made[one[:2]] = {"ls": one.attrs["rt"], **made.get(one[:2], NOTHING)}
        bridges = _sized_bridges(made, actual)
        altered = _altered(
            ((cls == "link" and bridges.get(key)) or _lasting(actual.of(cls)[key]), attrs)
            for (cls, key), attrs in made.items()
        )
        forgotten = ((obj, obj._replace(attrs=NOTHING)) for obj in gone)
        taken = _taken(altered, plan, actual, naming) if naming else altered
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
                    was, made = (obj.only(first.attrs) for obj in (was, made))  # noqa: PLW2901
                known = last.only(last.attrs.keys() - (was.attrs.keys() - made.attrs.keys()))
                was = was.having(first.attrs)  # noqa: PLW2901  # joined
                made = made._replace(attrs={**known.attrs, **made.attrs})  # noqa: PLW2901
            found[was[:2]] = was, made
        return self._of(found.values())

    def asked(self, desired: State) -> State:
        """What to look at in order to give this back beside ``desired``."""
        asked = joined(desired, chain(self.was, taken_over.leading(self.was)))
        for was in taken_hooks.looked_for(self.was):
            asked.add(was)
        return asked

    def given_back(self, desired: State, actual: State, owned: Owned, hooks: Set[Hook] = frozenset()) -> State:
        """``desired``, and of what it does not mention what was there before, where nobody has changed it since.

        What goes with the configuration that made it needs nothing.  What was nobody's,
        or others', and ``desired`` does not mention is so again.  ``hooks`` are those that are netgroupd's until then.
        """
        giving = Return(self.was, self.made, desired, actual, owned)
        goal = joined(desired, giving.objects())
        taken_over.give_back(goal, self.was, desired, actual, giving.gone)
        taken_hooks.give_back(goal, self.was, desired, actual, hooks, giving.gone)
        leave_handles(goal, actual)
        return goal

    def to_json(self) -> Json:
        """As plain values."""
        return {"was": objects_to(self.was), "made": objects_to(self.made)}

    @classmethod
    def from_json(cls, plain: Json) -> "Replaced":
        """Out of plain values."""
        return cls(objects_from(plain["was"]), objects_from(plain["made"]))


def _said_by(steps: Iterable[Step], actual: State) -> tuple[_Made, list[Object]]:
    """What steps say of what ``actual`` has; and what they delete that may come later, with what is said then."""
    made: _Made = {}
    doomed: list[Object] = []
    for step in steps:
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
    return made, doomed


def _was_another(was: Object) -> bool:
    """Whether a change has made something of another kind in place of a link or a nexthop."""
    return "kind" in was.attrs or (was.cls == "nexthop" and "group" in was.attrs)


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
                if (name not in said or value is None or UNOWNED in attrs)
                and name not in _WHOSE
                and not same(name, attrs[name], value)
            }
            made = {name: attrs[name] for name in was if attrs[name] is not anew.WHATEVER}
        if was:
            yield Object(have.cls, have.key, was), Object(have.cls, have.key, made)


def _taken(
    altered: Iterable[tuple[Object, Object]], plan: Plan, actual: State, naming: Naming
) -> Iterator[tuple[Object, Object]]:
    """What is ``altered`` or begun to be named; of what was at a hook before that all counts."""
    hooked = {was[:2]: (was, made) for was, made in taken_hooks.had(naming.desired, actual, naming.hooks)}
    found = taken_over.with_named(altered, plan, naming.desired, actual, naming.before)
    yield from ((was, made) for was, made in found if was[:2] not in hooked)
    yield from hooked.values()


def _lasting(have: Object) -> Object:
    return have._replace(attrs=lasting(have.attrs)) if have.attrs.get("adaptive") else have


def _sized_bridges(made: _Made, actual: State) -> dict[Key, Object]:
    """The bridges that are told an MTU, without the one that their ports have lent them: that is none to be told."""
    links = actual.of("link")
    told = (links[key] for (cls, key), attrs in made.items() if cls == "link" and "mtu" in attrs)
    bridges = [link for link in told if kind_of(link) == "bridge"]
    lent = Lent(bridges, actual)
    return {link.key: lent.without(link, _MTU) for link in bridges}


def _made_smaller(made: _Made, plan: Plan, actual: State) -> Iterator[tuple[str, int]]:
    """The links above those of which ``made`` tells that become as small, which do not grow again by themselves."""
    links = actual.of("link")
    told = ((key, attrs.get("mtu")) for (cls, key), attrs in made.items() if cls == "link")
    sizes = {str(key[0]): mtu for key, mtu in told if isinstance(mtu, int) and mtu < integer(links[key].attrs, "mtu")}
    sizes |= narrowed(singles(plan.steps), links)
    yield from made_smaller(sizes, links)


def _opened(made: _Made, plan: Plan, actual: State) -> list[str]:
    """The links that become ports of what brings its ports up."""
    masters = {
        str(key[0]): attrs["master"] for (cls, key), attrs in made.items() if cls == "link" and attrs.get("master")
    }
    there = [*actual.of("link").values(), *(step.object for step in singles(plan.steps))] if masters else []
    teaming = {obj.name for obj in there if obj.cls == "link" and kind_of(obj) in TEAMING}
    return [name for name, master in masters.items() if master in teaming]
