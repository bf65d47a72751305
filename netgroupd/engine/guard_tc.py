# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the steps of traffic control after which packets of a way are lost that pass today.

Asked is what becomes of the few packets that stand for a way (``packet``) on each
link that carries it: of what comes in at the hook ingress, and of what leaves at the
hook egress and in the tree of qdiscs, with the rules as they are and as they will
be.  A hook that loses them already is no new cut.  What nothing tells beforehand
(``fit``, ``verdict``) is taken to let them pass: only what is surely lost is.

A plan that has no such steps on those links costs one look at each of its steps.
One whose steps there cannot cut costs one at each of these; any other one at each
rule there is, and a walk through those of the hooks concerned.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from netgroupd.engine.carriers import carriers
from netgroupd.engine.detour import Way
from netgroupd.engine.fit import Fit, fit
from netgroupd.engine.hooks_seen import SPOTS, Side, Spot, after, asked, found, spot_of
from netgroupd.engine.packet import Exchange, Packet, exchange
from netgroupd.model.state import Key, Object, State
from netgroupd.model.tc.filter import block_number
from netgroupd.plan.hooks import CLSACT, ON_QDISCS, blocks_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step


class Asked(NamedTuple):
    """What else is to be known of links: the kind of one, and all of some, where a plan only needed a part."""

    kind: Callable[[str], str]
    whole: Callable[[Set[str]], Mapping[Key, Object]]


def filtered_ways(plan: Plan, ways: Sequence[Way], around: State, asked_of: Asked) -> Iterator[tuple[Step, str, str]]:
    """The steps after which packets of ``ways`` are lost, each with the link and with whose way it is.

    What is redirected to an ifb comes back.
    """
    links = around.of("link")
    names = {name for way in ways if way.to for name, _ in carriers(way.link, links)}
    steps = [step for step in singles(plan.steps) if _may_matter(step.object, names)]
    if not steps:
        return
    qdiscs = [step.object for step in steps if step.object.cls == "qdisc"]
    qdiscs += [around.of("qdisc")[key] for name in names if (key := (name, CLSACT)) in around.of("qdisc")]
    places = names | {place for qdisc in qdiscs for place, _ in blocks_of(qdisc)}
    steps = [step for step in steps if step.object.cls == "action" or step.object.name in places]
    if steps:
        links = {**links, **asked_of.whole(names)}
        carried = [(way, name, packets) for way in ways if way.to for name, packets in _carried(way, links)]
        cuts = _Cuts(steps, places, around, lambda name: name in names or asked_of.kind(name) == "ifb")
        yield from cuts.of(carried)


def _may_matter(obj: Object, names: Set[str]) -> bool:
    if obj.cls == "action":
        return True
    return obj.cls in ON_QDISCS and (obj.name in names or block_number(obj.name) > 0)


def _carried(way: Way, links: Mapping[Key, Object]) -> Iterator[tuple[str, Exchange]]:
    """The links that carry a way, each with the packets as they are there."""
    packets = {"": exchange(way, links.get((way.link,)))}
    for name, above in carriers(way.link, links):
        packets[name] = packets[above].below(links.get((above,)), name)
        yield name, packets[name]


class _Cuts:
    """Both sides of some steps."""

    def __init__(self, steps: list[Step], places: Set[str], around: State, returns: Callable[[str], bool]) -> None:
        self._steps = steps
        self._places = places
        self._around = around
        self._returns = returns
        self._rules: dict[Spot, list[Step]] = {}
        for step in steps:
            self._rules.setdefault(spot_of(step.object), []).append(step)
        self._only_rules = all(step.object.cls == "filter" for step in steps)
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
        return Side(objects, self._returns), Side(after(objects, self._steps, self._around), self._returns)

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
