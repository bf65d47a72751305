# SPDX-License-Identifier: GPL-2.0-or-later
"""Bridges that ports join which are smaller: they take the least MTU of their ports, and what is on them has no larger.

When such a port has left they grow again, and what is on them does not.
"""

from collections.abc import Container, Iterable, Mapping

from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Op, Step

UNKNOWN = 0
"""The MTU of a port that is made without one, and has what is left beside the headers of a tunnel."""

_ETHERNET = frozenset({"dummy", "veth", "bond", "team", "ifb"})
_USUAL = 1500


def narrowed(steps: Iterable[Step], links: Mapping[Key, Object]) -> dict[str, int]:
    """The bridges among ``links`` that become smaller by what joins them, each with its MTU then."""
    found: dict[str, int] = {}
    for step in steps:
        bridge = links.get((step.attrs["master"],)) if "master" in step.attrs else None
        if not bridge or step.object.cls != "link" or step.op is Op.DELETE:
            continue
        mtu = _of(step.object.attrs) or (_of(step.before.attrs) if step.before else _of_new(step.object))
        if kind_of(bridge) == "bridge" and mtu < found.get(bridge.name, _of(bridge.attrs)):
            found[bridge.name] = mtu
    return found


def _of_new(link: Object) -> int:
    return _USUAL if kind_of(link) in _ETHERNET else UNKNOWN


def _of(attrs: Attrs) -> int:
    mtu = attrs.get("mtu")
    return mtu if isinstance(mtu, int) else 0


def grows_later(link: Object, attrs: Attrs, left: Container[Value], links: Mapping[Key, Object]) -> bool:
    """Whether ``attrs`` give a link an MTU that a bridge below it has only when some of its ports have ``left`` it."""
    if _of(attrs) <= _of(link.attrs):
        return False
    while below := links.get((link.attrs.get("link") or link.attrs.get("dev"),)):
        if kind_of(below) == "bridge":
            return below.name in left
        link = below
    return False
