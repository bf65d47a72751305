# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes with the links that a plan deletes, and what one that comes up sets for all: for putting it back.

No file need speak of it any more.
"""

from collections.abc import Callable

from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.kernel.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.serialise import singles
from netgroupd.plan.settings import BY_WIREGUARD
from netgroupd.plan.step import Op, Plan

_APPLIED = frozenset({"sysctl", "ethtool"})


def add_lost(kernel: Connection, plan: Plan, actual: State, applied: Callable[[], State], mine: Mine) -> None:
    """Add to ``actual`` what is now of all that was ``applied`` to links that go, and the functions of cards."""
    deleted, settings = set[str](), set[str]()
    for step in singles(plan.steps):
        link = step.after or step.before
        if link is None or link.cls != "link":
            continue
        if step.op is Op.DELETE:
            deleted.add(link.name)
        elif link.attrs.get("kind") == "wireguard" and step.attrs.get("up"):
            settings.add(BY_WIREGUARD)
    said = applied() if deleted and not _APPLIED.isdisjoint(mine.classes) else State()
    settings.update(str(one.key[0]) for one in said.of("sysctl").values() if deleted.intersection(hangs_on(one)))
    if settings:
        found = kernel.dump(Selection(frozenset({"sysctl"}), settings=frozenset(settings)))
        actual.classes["sysctl"] = {**actual.of("sysctl"), **found.of("sysctl")}
    parts = {key: frozenset(obj.attrs) for key, obj in said.of("ethtool").items() if key[0] in deleted}
    cards = frozenset(name for name in deleted if _is_card(actual, name))
    if parts or cards:
        classes = frozenset({"ethtool"} if parts else ()) | (frozenset({"sriov", "vf"}) if cards else frozenset())
        _add(actual, read(kernel, Selection(classes, ethtool=parts, cards=cards), mine.away))


def _is_card(actual: State, name: str) -> bool:
    link = actual.link(name)
    return link is not None and kind_of(link) == "netdevsim"


def _add(actual: State, found: State) -> None:
    for obj in found:
        known = actual.of(obj.cls).get(obj.key)
        actual.add(obj._replace(attrs={**obj.attrs, **known.attrs}) if known else obj)
