# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan: ordered steps, each with before and after, as data.

A step is one message to the kernel, for one object, for a whole group or for a
range; two where the kernel does not change what is there (``plan.tc.anew``).
The plan prints itself, for people and as JSON, and knows which line of which
file asked for each step.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from netgroupd.errors import Problem
from netgroupd.model.state import NOTHING, Attrs, Object

WHOLE = 0xFFFFFFFF
"""The mask under which a group is itself alone."""


class Op(StrEnum):
    """What a step does to its object."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"


class Step(NamedTuple):
    """One object changed by one message.

    ``attrs`` is what the message says: on create what the object is to be made
    with, on change only what differs, on delete nothing.  ``before`` is None on
    create, ``after`` on delete.  ``why`` tells the reason where the operator
    would ask for it, as of a recreation.
    """

    op: Op
    before: Object | None
    after: Object | None
    attrs: Attrs = NOTHING
    why: str = ""

    @property
    def object(self) -> Object:
        """What the step is about: the object as it will be, or as it was."""
        return self.after or self.before  # type: ignore[return-value]  # one of them is there


class GroupStep(NamedTuple):
    """All members of one kernel group changed or deleted by one message.

    ``steps`` are the changes of single objects that it stands for, in the order in
    which the kernel visits the members: for presentation, for rolling back, and
    where what each gets is counted up, for the distance from one to the next.
    ``mask`` says which bits of a link's group must be those of ``group``.
    """

    op: Op
    group: int
    attrs: Attrs
    steps: tuple[Step, ...]
    mask: int = WHOLE


class RangeStep(NamedTuple):
    """What one message makes or deletes alike.

    VLANs of one bridge or port, or VNIs of one VXLAN, without a gap; or all filters of one preference, which go.
    """

    op: Op
    steps: tuple[Step, ...]


AnyStep: TypeAlias = Step | GroupStep | RangeStep
_CLS: Callable[[AnyStep], str] = attrgetter("after.cls")
_LOOK = 128


def cls_of(step: AnyStep) -> str:
    """The class of what a step is about: of many, that of the first."""
    if isinstance(step, Step):
        obj = step.after or step.before
        return obj.cls if obj else "link"
    return step.steps[0].object.cls if step.steps else "link"


def classes_of(steps: Sequence[AnyStep]) -> frozenset[str]:
    """The classes of what steps are about."""
    with suppress(AttributeError):  # one deletes, or is about many
        return frozenset(map(_CLS, steps))  # at C speed, for rules are made by the million
    return frozenset(map(cls_of, steps))


def classes_ahead(steps: Sequence[AnyStep]) -> Set[str]:
    """The same of steps in the order of PHASES, but for what is behind many rules that are made: of ``tc`` alone."""
    about: set[str] = set()
    for start in range(0, len(steps), _LOOK):
        some = steps[start : start + _LOOK]
        about |= classes_of(some)
        if some[-1].op is Op.CREATE and cls_of(some[-1]) == "filter":
            break  # the kernel could be at work on them
    return about


class Plan(NamedTuple):
    """Steps in the order they must run; ``warnings`` are sentences for the operator, ``doubts`` are of lines of files.

    Of the links that go (``gone``) and of those that go down, if only for a moment (``cycled``), the kernel takes what
    others have on them, and of those that leave their bridge (``moved``) what they have there; of this ``others`` is
    to be given back after a refusal; ``watched`` are sentences on the rest.  ``passing`` is to be in any case: of that
    what can be, and what no file says of ports that come back to their master.  So it does with much of IPv4 on those
    that lose all addresses of netgroupd's, if only for a moment (``emptied``).  Routes and nexthops are ``waiting`` for
    the carrier of a link; links that have nexthops or neighbours may lose theirs (``darkened``).  What stands on links
    that are ``absent`` waits.  ``felt`` are the steps that those links feel which are there, unless it is all of them.
    """

    steps: tuple[AnyStep, ...] = ()
    warnings: tuple[str, ...] = ()
    group_names: Mapping[int, str] = MappingProxyType({})
    gone: frozenset[str] = frozenset()
    cycled: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    others: tuple[Object, ...] = ()
    passing: tuple[Object, ...] = ()
    waiting: tuple[Object, ...] = ()
    emptied: frozenset[str] = frozenset()
    darkened: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    felt: tuple[Step, ...] | None = None
    doubts: tuple[Problem, ...] = ()
