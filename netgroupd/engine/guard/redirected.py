# SPDX-License-Identifier: GPL-2.0-or-later
"""The links and blocks whose traffic control packets of some links meet: those, shared blocks, and ifbs on their way.

Packets that a rule redirects to an ifb go through its hook and its qdiscs, and then on
where they were.  Linear in the rules that there are and that are made.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from netgroupd.model.state import State
from netgroupd.model.tc.filter import block_number
from netgroupd.model.value import Value
from netgroupd.plan.step import Step
from netgroupd.plan.tc.hooks import CLSACT, blocks_of

_ANYWHERE = ""  # where rules share an action


def reached(
    names: Iterable[str], steps: Sequence[Step], around: State, kind: Callable[[str], str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The links and blocks that matter for packets of the links ``names``, and which of them are ifbs."""
    ways = _ways(steps, around)
    places, ifbs = set(names), set[str]()
    waiting = [*places, _ANYWHERE]
    while waiting:
        for place in ways.get(waiting.pop(), ()):
            if place in places or not (block_number(place) or kind(place) == "ifb"):
                continue
            places.add(place)
            waiting.append(place)
            if not block_number(place):
                ifbs.add(place)
    return frozenset(places), frozenset(ifbs)


def _ways(steps: Sequence[Step], around: State) -> dict[str, set[str]]:
    """Where packets are led to from each link and block, now or then."""
    made = [step.after for step in steps if step.after]
    ways: dict[str, set[str]] = defaultdict(set)
    for qdisc in chain(around.of("qdisc").values(), made):
        if qdisc.cls == "qdisc" and qdisc.key[1] == CLSACT:
            ways[qdisc.name].update(place for place, _ in blocks_of(qdisc))
    known: dict[int, frozenset[str]] = {}  # rules of one line share their actions
    for rule in chain(around.of("filter").values(), around.of("action").values(), made):
        if rule.cls not in ("filter", "action"):
            continue
        actions = rule.attrs.get("actions") or ()
        if (links := known.get(id(actions))) is None:
            links = known[id(actions)] = frozenset(_redirected(actions))
        if links:
            ways[rule.name if rule.cls == "filter" else _ANYWHERE] |= links
    return ways


def _redirected(actions: Value) -> Iterator[str]:
    assert isinstance(actions, tuple)
    for action in actions:
        if isinstance(action, Mapping) and action["kind"] == "mirred" and "dev" in action:
            yield str(action["dev"])
