# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of others on those that a plan deletes or makes smaller, of which a kernel that filters its dumps has not told.

They go along, lose their master or become as small: that is to be told, and put back.
"""

from netgroupd.engine.observe import Connection
from netgroupd.kernel.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.fate import followers
from netgroupd.plan.pieces import shrinks
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step

_STANDING = frozenset({"kind", "link", "dev", "peer", "master"})  # on what a link stands, and with what it goes


def add_unseen(kernel: Connection, plan: Plan, actual: State) -> bool:
    """Bring them into ``actual``, and say whether there are any; all links are looked at where there may be."""
    if not kernel.features.dump_group:
        return False
    below = [step.object.name for step in singles(plan.steps) if _shakes(step)]
    if not below:
        return False
    links = kernel.dump(Selection(rows=_STANDING, everything=True)).of("link")
    shaken = {*below, *(name for name, _ in followers(below, links))}
    unseen = [link for key, link in links.items() if key not in actual.of("link")]
    names = frozenset(link.name for link in unseen if link.name in shaken or link.attrs.get("master") in shaken)
    if names:
        actual.classes["link"] = {**actual.of("link"), **kernel.dump(Selection(links=names)).of("link")}
    return bool(names)


def _shakes(step: Step) -> bool:
    """Whether what is on a link feels a step."""
    if step.object.cls != "link" or step.op is Op.CREATE:
        return False
    now = step.before.attrs.get("mtu") if step.before else None
    return step.op is Op.DELETE or shrinks(step.attrs.get("mtu"), now)
