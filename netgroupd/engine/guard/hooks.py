# SPDX-License-Identifier: GPL-2.0-or-later
"""The traffic control of a few links, as it is and as it will be after some steps, and whether it loses a packet."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from netgroupd.engine.guard.packet import Packet
from netgroupd.engine.guard.queues import Tree
from netgroupd.engine.guard.verdict import Hook, Places
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.hooks import CLSACT, CLSACT_HOOKS, ROOT, asked_at, hangs_on_one_of, swept

OF_TREES = ("qdisc", "tclass", "filter")
Objects = Mapping[tuple[str, Key], Object]


class Spot(NamedTuple):
    """Where packets of a link are looked at: one of its hooks, or the tree of its qdiscs."""

    link: str
    part: str


SPOTS = ("ingress", "egress", ROOT)


class Loses(Protocol):
    """A hook or a tree."""

    def loses(self, packet: Packet, blame: list[Key] | None = None) -> bool:
        """Whether ``packet`` is surely lost; ``blame`` is told what had a say in it."""


def found(state: State, names: Set[str]) -> Objects:
    """What there is on the links and blocks ``names``, and every shared action."""
    objects = {(cls, key): obj for cls in OF_TREES for key, obj in state.of(cls).items() if key[0] in names}
    objects |= {("action", key): obj for key, obj in state.of("action").items()}
    return objects


def after(objects: Objects, steps: Sequence[Step], state: State) -> Objects:
    """What there is when ``steps`` are done; what hangs on a qdisc or a class, or is in a chain, goes with it."""
    gone = [step.object for step in steps if step.op is Op.DELETE]
    left = dict(objects)
    parents = swept((obj for obj in gone if obj.cls == "qdisc"), state)
    classes = {(obj.name, str(obj.key[1])) for obj in gone if obj.cls == "tclass"}
    chains = {obj.key for obj in gone if obj.cls == "chain"}
    if parents or classes or chains:
        left = {
            place: obj
            for place, obj in left.items()
            if not hangs_on_one_of(obj, parents)
            and (obj.cls == "tclass" or (obj.name, obj.key[1]) not in classes)
            and (obj.cls != "filter" or obj.key[:3] not in chains)
        }
    for step in steps:
        place = (step.object.cls, step.object.key)
        if step.after is None:
            left.pop(place, None)
        else:
            before = left.get(place)
            left[place] = step.after._replace(attrs={**before.attrs, **step.after.attrs}) if before else step.after
    return left


class Returning(NamedTuple):
    """Whether what is redirected to a link may come back, and the ifbs through which it does."""

    may: Callable[[str], bool]
    ifbs: Set[str]


class Side:
    """What there is before, or after."""

    def __init__(self, objects: Objects, returning: Returning) -> None:
        self._at: dict[Spot, list[Object]] = {}
        actions: dict[Key, Object] = {}
        for obj in objects.values():
            if obj.cls == "action":
                actions[obj.key] = obj
            else:
                self._at.setdefault(spot_of(obj), []).append(obj)
        self._returning = returning
        self._passing: set[str] = set()  # the ifbs that a packet is in: what comes round to one is not followed
        self._places = Places(actions, self._returns)
        self._clsacts = {obj.name: obj for obj in objects.values() if obj.cls == "qdisc" and obj.key[1] == CLSACT}
        self._built: dict[Spot, Loses] = {}

    def at(self, spot: Spot) -> Loses:
        """What looks at packets there."""
        if spot not in self._built:
            self._built[spot] = self._build(spot)
        return self._built[spot]

    def _returns(self, link: str, packet: Packet, blame: list[Key] | None) -> bool:
        """Whether a packet that is redirected to a link may come back."""
        if link not in self._returning.ifbs or link in self._passing:
            return self._returning.may(link)
        self._passing.add(link)
        try:
            return not any(self.at(Spot(link, part)).loses(packet, blame) for part in ("egress", ROOT))
        finally:
            self._passing.discard(link)

    def _build(self, spot: Spot) -> Loses:
        if spot.part == ROOT:
            return Tree(self._at.get(spot, ()), self._places)
        rules = self._at.get(asked(spot, self._clsacts.get(spot.link)), ())
        return Hook(rules, self._places, spot.link if spot.part == "ingress" else "", spot.link)


def spot_of(obj: Object) -> Spot:
    """Where an object of traffic control is; the rules of a block have no part."""
    parent = str(obj.key[1])
    return Spot(obj.name, parent if parent in CLSACT_HOOKS or not parent else ROOT)


def asked(spot: Spot, clsact: Object | None) -> Spot:
    """Where the rules are that are asked at ``spot``: there, or in the shared block that ``clsact`` has put it into."""
    return Spot(*asked_at(clsact, spot.part)) if clsact else spot
