# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 routes of others beside ours, which have the same destination, tos and metric: they are no part of putting back.

Else they would be taken over, as what is in the way of a file is, where ours is gone.
"""

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Connection
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.route import BEHIND
from netgroupd.model.state import Key, State
from netgroupd.plan.compare import UNOWNED


def placed(kernel: Connection, before: Snapshot) -> Snapshot:
    """``before`` with a mark on the routes before which others come, so that they come back behind those."""
    ours = _ours(before)
    if not ours:
        return before
    first = kernel.dump(Selection(frozenset({"route"}), held={"route": ours})).of("route")
    objects = (obj.having({BEHIND: True}) if obj.cls == "route" and obj.key in first else obj for obj in before.objects)
    return before._replace(objects=tuple(objects))


def without_beside(actual: State, before: Snapshot) -> State:
    """``actual`` without what others have where ``before`` has a route of ours, unless the change gave it to them."""
    routes = actual.of("route")
    for key in _ours(before).difference(key for cls, key in before.given if cls == "route"):
        if (have := routes.get(key)) and UNOWNED in have.attrs:
            del actual.classes["route"][key]
    return actual


def _ours(before: Snapshot) -> frozenset[Key]:
    routes = (obj for obj in before.objects if obj.cls == "route" and obj.key[0] == "inet")
    return frozenset(obj.key for obj in routes if UNOWNED not in obj.attrs)
