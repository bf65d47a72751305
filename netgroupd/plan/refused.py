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

_Sort: TypeAlias = Callable[[Object], tuple[object, ...]]

# By these a link has its packets: it does without all else before it does without them.
_CARRYING = frozenset({"up", "master", "group"})
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
    left = State(groups=goal.groups)
    left.classes = {cls: dict(objects) for cls, objects in goal.classes.items()}
    unmade, unset = set[tuple[object, ...]](), dict[tuple[object, ...], set[str]]()
    for step in refused:
        if step.op is Op.CREATE:
            unmade.add(sort(step.object))
        elif step.op is Op.CHANGE and step.object.cls == "link":
            unset.setdefault(sort(step.object), set()).update(step.attrs)
        elif step.before:
            left.add(step.before)
    names = set[str]()
    for obj in goal:
        if sort(obj) in unmade and (attempt < _ATTEMPTS or obj.key not in actual.of(obj.cls)):
            if obj.cls == "link":
                names.add(obj.name)
            else:
                del left.classes[obj.cls][obj.key]
        elif obj.cls == "link" and (said := unset.get(sort(obj))):
            left.add(_less(obj, said))
    reachable = without_links(left, names, actual)
    drop_unreachable(reachable, goal)
    return reachable


def _less(link: Object, said: set[str]) -> Object:
    gone = said - _CARRYING or said
    return link._replace(attrs={name: value for name, value in link.attrs.items() if name not in gone})
