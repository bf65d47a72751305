# SPDX-License-Identifier: GPL-2.0-or-later
"""What was on links that others have deleted since, and that no snapshot brings back: it is no part of putting back.

Else the kernel would refuse it each time, and what can be had would wait for it.
"""

from collections.abc import Iterable, Iterator

from netgroupd.engine.observe import Connection
from netgroupd.model.state import Object, State
from netgroupd.model.sysctl import OF_ALL
from netgroupd.model.tc.filter import block_number
from netgroupd.plan.absent import drop_unreachable, named_by, without_links
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.fold import few_of, fold_names
from netgroupd.plan.present import title


def without_orphans(
    kernel: Connection, goal: State, objects: Iterable[Object], actual: State
) -> tuple[State, tuple[str, ...]]:
    """``goal`` without what some of its ``objects`` need of links that are not there and do not come; this is told."""
    links = goal.of("link")
    named = {name for obj in objects for name in _needed_by(obj) if (name,) not in links}
    missing = [name for name in sorted(named - OF_ALL) if not block_number(name) and not kernel.has_link(name)]
    if not missing:
        return goal, ()
    left = without_links(goal, missing, actual)
    drop_unreachable(left, goal)
    lacking = [obj for obj in goal if left.of(obj.cls).get(obj.key) != obj]
    told = few_of([" ".join((obj.cls, *title(obj))) for obj in lacking], len(lacking))
    are = "are" if len(missing) > 1 else "is"
    return left, (f"{' '.join(fold_names(missing))} {are} not there any more, and not back or not whole: {told}",)


def _needed_by(obj: Object) -> Iterator[str]:
    if obj.cls == "link":
        yield from (name for _, name in named_by(obj.attrs))
    else:
        yield from hangs_on(obj)
