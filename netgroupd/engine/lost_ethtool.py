# SPDX-License-Identifier: GPL-2.0-or-later
"""What was applied to the drivers of links that a plan deletes, and the files speak of no more: for putting it back."""

from collections.abc import Callable
from functools import partial

from netgroupd.engine.observe import Connection, Mine
from netgroupd.kernel.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan


def add_lost_parts(kernel: Connection, plan: Plan, actual: State, applied: Callable[[], State], mine: Mine) -> None:
    """Add to ``actual`` what is now of all that was ``applied`` to links that go, and the functions of cards."""
    links = (step for step in singles(plan.steps) if step.object.cls == "link")
    deleted = {step.object.name for step in links if step.op is Op.DELETE}
    _add_functions(kernel, frozenset(filter(partial(_is_card, actual), deleted)), actual, mine)
    if "ethtool" not in mine.classes:
        return
    said = applied().of("ethtool") if deleted else {}
    lost = {key: frozenset(obj.attrs) for key, obj in said.items() if key[0] in deleted}
    if not lost:
        return
    selection = Selection(frozenset({"ethtool"}), ethtool=lost)
    found = kernel.dump(selection)
    if mine.away:
        kernel.add_away(found, mine.away, selection)
    for key, obj in found.of("ethtool").items():
        known = actual.of("ethtool").get(key)
        actual.add(obj._replace(attrs={**obj.attrs, **known.attrs}) if known else obj)


def _is_card(actual: State, name: str) -> bool:
    link = actual.link(name)
    return link is not None and kind_of(link) == "netdevsim"


def _add_functions(kernel: Connection, cards: frozenset[str], actual: State, mine: Mine) -> None:
    if not cards:
        return
    selection = Selection(frozenset({"sriov", "vf"}), cards=cards)
    found = kernel.dump(selection)
    if mine.away:
        kernel.add_away(found, mine.away, selection)
    for obj in found:
        actual.add(obj)
