# SPDX-License-Identifier: GPL-2.0-or-later
"""(goal, refused steps) -> the goal that is left for a host that has to do with what the kernel takes.

What cannot be made is left out with all that stands on it; what is there already
stays, without what it was refused.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from netgroupd.model.state import Object, State
from netgroupd.plan.absent import drop_unreachable, without_links
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.beside import said_key
from netgroupd.plan.tc.hooks import hangs_on_one_of, swept

_Sort: TypeAlias = Callable[[Object], tuple[object, ...]]

# Of very many refusals the kernel tells a few at a time.
_SORTS: tuple[_Sort, ...] = (
    lambda obj: (obj.cls, obj.key),
    lambda obj: (obj.cls, obj.origin or obj.key),
    lambda obj: (obj.cls, obj.attrs.get("kind")),
)
_ATTEMPTS = 4  # with each


def attempts() -> int:
    """How often it makes sense to ask."""
    return _ATTEMPTS * len(_SORTS)


def without(goal: State, refused: Iterable[Step], actual: State, attempt: int) -> State:
    """``goal`` but for what was ``refused``; in later attempts for all of its line, and then of its kind."""
    sort = _SORTS[min(attempt // _ATTEMPTS, len(_SORTS) - 1)]
    left = goal.copied()
    unmade, unset = set[tuple[object, ...]](), dict[tuple[object, ...], set[str]]()
    for step in refused:
        if step.op is Op.CREATE:
            unmade.add(sort(_as_said(step.object, goal)))
        elif step.op is Op.CHANGE and step.object.cls == "link":
            unset.setdefault(sort(step.object), set()).update(step.attrs)
        elif step.before:
            left.add(step.before)
    gone = list[Object]()
    for obj in goal:
        if sort(obj) in unmade and (attempt < _ATTEMPTS or obj.key not in actual.of(obj.cls)):
            gone.append(obj)
        elif obj.cls == "link" and (said := unset.get(sort(obj))):
            left.add(obj.without(*said))
    parents = swept([obj for obj in gone if obj.cls == "qdisc"], goal)
    for obj in (*gone, *(obj for obj in goal if hangs_on_one_of(obj, parents))):
        if obj.cls != "link":
            left.classes[obj.cls].pop(obj.key, None)
    reachable = without_links(left, {obj.name for obj in gone if obj.cls == "link"}, actual)
    drop_unreachable(reachable, goal)
    return reachable


def _as_said(obj: Object, goal: State) -> Object:
    """``obj`` under the key that it has in ``goal``: rules may be made beside those that they take the place of."""
    return obj if obj.cls != "filter" or obj.key in goal.of("filter") else obj._replace(key=said_key(obj.key))
