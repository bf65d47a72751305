# SPDX-License-Identifier: GPL-2.0-or-later
"""What keeps the host from being online: what was applied and is missing, and links that have no carrier.

A bridge or a bond counts in place of the hardware that is its port: it has a
carrier as long as one of them has.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress

from netgroupd.errors import UsageError
from netgroupd.kernel.carrier import running
from netgroupd.model.state import Object, State
from netgroupd.plan.compare import group_of, kind_of
from netgroupd.plan.present import noun
from netgroupd.plan.step import Op, Step

_JOINING = frozenset({"bridge", "bond", "team"})
_DEEPEST = 8


def awaited(applied: State, steps: Iterable[tuple[str, Step]], netns: str | None) -> list[str]:
    """What is waited for, by name: of what was ``applied``, where ``steps``, with their links, would bring it back."""
    waiting = _Waiting(applied)
    lacking = {name or noun(step.object) for name, step in steps if step.op is Op.CREATE or "up" in step.attrs}
    found = {name for name in lacking if waiting.is_for(applied.link(name))}
    by_netns = defaultdict[str | None, set[str]](set)
    for link in waiting.carriers():
        by_netns[str(link.attrs["netns"]) if link.attrs.get("netns") else netns].add(link.name)
    for where, names in by_netns.items():
        there = frozenset[str]()
        with suppress(UsageError):  # there is no such namespace yet
            there = running(names, where)
        found |= names - there
    return sorted(found)


class _Waiting:
    """Whose links are waited for."""

    def __init__(self, applied: State) -> None:
        self._applied = applied
        self._others = {group.id for group in applied.groups.values() if not group.online}

    def is_for(self, link: Object | None) -> bool:
        """Whether the host is not online without a link; what is no link is waited for too."""
        return link is None or group_of(link) not in self._others

    def carriers(self) -> Iterator[Object]:
        """The links that are to have a carrier: hardware that is to be up, or what it is a port of."""
        for link in self._applied.of("link").values():
            if not kind_of(link) and link.attrs.get("up"):
                top = self._top(link)
                if self.is_for(link) and self.is_for(top):
                    yield top

    def _top(self, link: Object) -> Object:
        for _ in range(_DEEPEST):
            master = self._applied.link(str(link.attrs.get("master")))
            if master is None or kind_of(master) not in _JOINING:
                break
            link = master
        return link
