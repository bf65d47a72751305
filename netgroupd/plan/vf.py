# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions that go while others come: a card has another number of them only by way of none.

Each is then a new one, and told all that is wanted of it.  One message tells all
functions of a card.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from netgroupd.model.state import Object, State, integer
from netgroupd.model.vf import MOST as MOST_FUNCTIONS
from netgroupd.model.vf import USUAL
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step

MOST = 256
"""So many functions fit into one message: the list of them has at most 64 KiB."""


def remade(desired: State, actual: State) -> dict[str, str]:
    """The cards whose functions go and come again, each with the reason."""
    found = {}
    for key, want in desired.of("sriov").items():
        have = actual.of("sriov").get(key)
        had, gets = (side.attrs.get("num_vfs") if side else 0 for side in (have, want))
        if had and gets and had != gets:
            found[want.name] = f"from {had} to {gets} it goes by way of 0, and all functions go"
    return found


def explained(steps: Sequence[Step], reasons: dict[str, str]) -> list[Step]:
    """``steps`` about numbers of functions, with the reasons of those that are deleted and made."""
    return [step._replace(why=reasons[step.object.name]) if step.why in _AGAIN else step for step in steps]


_AGAIN = frozenset({"sriov num_vfs cannot change in place"})


def said_again(steps: list[Step], desired: State, cards: dict[str, str]) -> list[Step]:
    """``steps`` about functions, and all that is wanted of those whose cards make all of theirs anew."""
    if not cards:
        return steps
    again = []
    for want in desired.of("vf").values():
        if want.name in cards:
            said = {name: value for name, value in want.attrs.items() if USUAL.get(name) != value}
            again.append(Step(Op.CREATE, None, want, said, f"all functions of {want.name} are made anew"))
    return [*(step for step in steps if step.object.name not in cards), *again]


def drop_functions(state: State, cards: Iterable[Object]) -> None:
    """Leave out of ``state`` the functions that cards do not have as these objects tell it."""
    if found := state.of("vf"):
        state.classes["vf"] = {obj.key: obj for obj in without_functions(found.values(), cards)}


def without_functions(objects: Iterable[Object], cards: Iterable[Object]) -> list[Object]:
    """``objects`` without the functions that cards do not have as these others tell it."""
    counts = {obj.name: integer(obj.attrs, "num_vfs") for obj in cards if obj.cls == "sriov"}
    return [obj for obj in objects if obj.cls != "vf" or obj.key < (obj.name, counts.get(obj.name, MOST_FUNCTIONS))]


def by_card(steps: Sequence[Step]) -> list[AnyStep]:
    """The steps of one phase drawn together, in the order of the functions, whatever each is told."""
    cards: dict[str, list[Step]] = {}
    for step in steps:
        cards.setdefault(step.object.name, []).append(step)
    drawn: list[AnyStep] = []
    for found in cards.values():
        found.sort(key=attrgetter("object.key"))
        for first in range(0, len(found), MOST):
            part = found[first : first + MOST]
            drawn.append(RangeStep(part[0].op, tuple(part)) if len(part) > 1 else part[0])
    return drawn
