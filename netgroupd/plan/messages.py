# SPDX-License-Identifier: GPL-2.0-or-later
"""steps -> how many messages they are: most are one, and some of links are said in two or three."""

from collections.abc import Iterable

from netgroupd.model.kinds import KINDS
from netgroupd.model.link import SAID_AFTERWARDS
from netgroupd.model.state import NOTHING, Attrs
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.anew import takes_two

_BY_ANOTHER_FAMILY = frozenset({"team", "wireguard"})
_NAMES = "altnames"


def messages(steps: Iterable[AnyStep]) -> int:
    """How many messages, or settings that are written, all of them are."""
    return sum(map(_messages_of, steps))


def _messages_of(step: AnyStep) -> int:
    if not isinstance(step, Step) or step.op is Op.DELETE:
        return 1
    if step.object.cls != "link":
        return 2 if takes_two(step) else 1
    attrs, before = step.attrs, step.before
    kind = str(step.object.attrs.get("kind") or "")
    elsewhere = attrs.keys() & KINDS[kind].attrs.keys() if kind in _BY_ANOTHER_FAMILY else frozenset[str]()
    count = bool(elsewhere) + (_renamings(before.attrs if before else NOTHING, attrs) if _NAMES in attrs else 0)
    if step.op is Op.CREATE:
        return count + 1 + (not SAID_AFTERWARDS.isdisjoint(attrs))
    return count + bool(attrs.keys() - elsewhere - {_NAMES})


def _renamings(have: Attrs, attrs: Attrs) -> int:
    """One takes all names away that go, and one gives all that come."""
    old, new = _names(have), _names(attrs)
    return bool(old - new) + bool(new - old)


def _names(attrs: Attrs) -> frozenset[str]:
    names = attrs.get(_NAMES)
    return frozenset(map(str, names)) if isinstance(names, tuple) else frozenset()
