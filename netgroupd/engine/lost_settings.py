# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings that a plan has the kernel lose or change, and no file need speak of: for putting them back."""

from collections.abc import Callable

from netgroupd.engine.observe import Connection, Mine
from netgroupd.kernel.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.serialise import singles
from netgroupd.plan.settings import BY_WIREGUARD
from netgroupd.plan.step import Op, Plan


def add_lost_settings(kernel: Connection, plan: Plan, actual: State, applied: Callable[[], State], mine: Mine) -> None:
    """Add to ``actual`` what was set on links that the plan deletes, and what one that comes up sets for all."""
    lost: set[str] = set()
    deleted: set[str] = set()
    for step in singles(plan.steps):
        if step.object.cls != "link":
            continue
        if step.op is Op.DELETE:
            deleted.add(step.object.name)
        elif step.attrs.get("up") and kind_of(step.object) == "wireguard":
            lost.add(BY_WIREGUARD)
    if deleted and "sysctl" in mine.classes:
        settings = applied().of("sysctl").values()
        lost.update(str(setting.key[0]) for setting in settings if deleted.intersection(hangs_on(setting)))
    if lost:
        found = kernel.dump(Selection(frozenset({"sysctl"}), settings=frozenset(lost))).of("sysctl")
        actual.classes["sysctl"] = {**actual.of("sysctl"), **found}
