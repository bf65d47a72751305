# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the steps of traffic control after which packets of a way are lost that pass today.

Asked is what becomes of the few packets that stand for a way (``packet``) on each
link that carries it: of what comes in at the hook ingress, and of what leaves at the
hook egress and in the tree of qdiscs, with the rules as they are and as they will
be.  A hook that loses them already is no new cut.  What nothing tells beforehand
(``fit``, ``verdict``) is taken to let them pass: only what is surely lost is.

A plan without traffic control costs one look at each of its steps.  Any other one costs
one at each rule there is, for where packets are redirected to, and one that may cut a
walk through those of the hooks concerned.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from netgroupd.engine.guard.carriers import carriers
from netgroupd.engine.guard.fit import Fit, fit
from netgroupd.engine.guard.hooks import SPOTS, Returning, Side, Spot, after, asked, found, spot_of
from netgroupd.engine.guard.packet import Exchange, Packet, exchange
from netgroupd.engine.guard.redirected import reached
from netgroupd.engine.guard.tunnels import WayTo
from netgroupd.engine.guard.way import Way
from netgroupd.model.state import Key, Object, State
from netgroupd.model.tc.filter import block_number
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.hooks import CLSACT, ON_QDISCS

_MATTERING = ON_QDISCS | {"action"}


class Asked(NamedTuple):
    """What else is to be known of links: the kind of one, and all of some, where a plan only needed a part.

    And the rules at the hooks of some, whoever has put them there; the card that one is a function of; the values
    of settings; the addresses of one, whoever gave them; and what is followed to an address.
    """

    kind: Callable[[str], str]
    whole: Callable[[Set[str]], Mapping[Key, Object]]
    rules: Callable[[Set[str]], State]
    card_of: Callable[[str], str]
    settings: Callable[[frozenset[str]], Mapping[str, str]]
    addresses: Callable[[str], Sequence[Object]]
    way_to: WayTo


def filtered_ways(plan: Plan, ways: Sequence[Way], around: State, asked_of: Asked) -> Iterator[tuple[Step, str, str]]:
    """The steps after which packets of ``ways`` are lost, each with the link and with whose way it is.

    What is redirected to an ifb comes back, unless it is lost there.
    """
    links = around.of("link")
    names = {name for way in ways if way.to for name, _ in carriers(way.link, links, way.behind)}
    steps = [step for step in singles(plan.steps) if step.object.cls in _MATTERING]
    if not steps:
        return
    others = {step.object.name for step in steps if step.object.cls in ON_QDISCS} - names
    if any(not block_number(name) and asked_of.kind(name) == "ifb" for name in others):
        around = _joined(asked_of.rules(names), around)  # others may lead packets to an ifb of ours
    places, ifbs = reached(names, steps, around, asked_of.kind)
    steps = [step for step in steps if step.object.cls == "action" or step.object.name in places]
    if steps:
        whole = asked_of.whole(names)
        links = {**links, **{key: links.get(key, link).having(link.attrs) for key, link in whole.items()}}
        carried = [(way, name, packets) for way in ways if way.to for name, packets in _carried(way, links)]
        returning = Returning(lambda name: name in names or asked_of.kind(name) == "ifb", ifbs)
        yield from _Cuts(steps, places, around, returning).of(carried)


def _joined(theirs: State, ours: State) -> State:
    joined = State()
    joined.classes = {**ours.classes, **{cls: {**theirs.of(cls), **ours.of(cls)} for cls in theirs.classes}}
    return joined


def _carried(way: Way, links: Mapping[Key, Object]) -> Iterator[tuple[str, Exchange]]:
    """The links that carry a way, each with the packets as they are there."""
    packets = {"": exchange(way, links.get((way.link,)))}
    for name, above in carriers(way.link, links, way.behind):
        packets[name] = packets[above].below(links.get((above,)), name)
        yield name, packets[name]


class _Cuts:
    """Both sides of some steps."""

    def __init__(self, steps: list[Step], places: Set[str], around: State, returning: Returning) -> None:
        self._steps = steps
        self._places = places
        self._around = around
        self._returning = returning
        self._rules: dict[Spot, list[Step]] = {}
        for step in steps:
            self._rules.setdefault(spot_of(step.object), []).append(step)
        self._only_rules = all(step.object.cls == "filter" and step.object.name not in returning.ifbs for step in steps)
        self._made = {step.object.key: step for step in steps if step.op is not Op.DELETE}
        self._unmade = {step.object.key: step for step in steps if step.op is not Op.CREATE}

    def of(self, carried: Sequence[tuple[Way, str, Exchange]]) -> Iterator[tuple[Step, str, str]]:
        """What is cut of the packets on each link: the first way of those at each spot."""
        passed: dict[Spot, list[Packet]] = {}
        told = set[Spot]()
        for way, name, packets in carried:
            for spot in (Spot(name, part) for part in SPOTS):
                before = passed.setdefault(spot, [])
                new = [packet for packet in packets.at(spot.part) if spot not in told and packet not in before]
                before += new
                steps = (self._cut(spot, packet) for packet in new if self._may_cut(spot, packet))
                if step := next(filter(None, steps), None):
                    told.add(spot)
                    yield step, name, way.whose

    def _may_cut(self, spot: Spot, packet: Packet) -> bool:
        """Whether all has to be asked: a new rule that may match takes away nothing of what may come."""
        if not self._only_rules:
            return True
        indev = spot.link if spot.part == "ingress" else ""
        place = asked(spot, self._around.of("qdisc").get((spot.link, CLSACT)))
        return any(_takes(step, packet, indev) for step in self._rules.get(place, ()))

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        objects = found(self._around, self._places)
        return Side(objects, self._returning), Side(after(objects, self._steps, self._around), self._returning)

    def _cut(self, spot: Spot, packet: Packet) -> Step | None:
        """The step by which ``packet`` is lost there, if it is lost by these."""
        now, then = (side.at(spot) for side in self._sides)
        before, behind = list[Key](), list[Key]()
        if not then.loses(packet, behind) or now.loses(packet, before):
            return None
        # The last one asked is the one that decided.
        made = (self._made.get(key) for key in reversed(behind))
        unmade = (self._unmade.get(key) for key in reversed(before))
        return next(filter(None, (*made, *unmade)), self._steps[0])


def _takes(step: Step, packet: Packet, indev: str) -> bool:
    rules = (step.before, step.after)
    fits = [fit(rule, packet, indev) if rule else Fit.NO for rule in rules]
    alone = step.after is not None and bool(step.after.attrs.get("skip_sw"))  # with it the hardware's side begins
    return fits[0] is not Fit.NO or fits[1] is Fit.YES or (alone and fits[1] is not Fit.NO)
