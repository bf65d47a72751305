# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that may lose their carrier by a plan, and with it the nexthops there, and neighbours that do not age."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from netgroupd.model.state import Key, Object, State
from netgroupd.plan.fate import followers
from netgroupd.plan.step import Op, Step

_SHAKING = frozenset({"master", "netns"})


def darkened_by(steps: Sequence[Step], desired: State, actual: State) -> Iterator[str]:
    """The links that may lose their carrier by steps about links, where anything goes with that."""
    nexthops = actual.of("nexthop")
    lossy = {obj.name for obj in desired.of("neighbour").values() if _goes_with_carrier(obj)} if steps else ()
    if nexthops or lossy:
        yield from (name for name in losing_carrier(shaken_by(steps), actual.of("link")) if nexthops or name in lossy)
    if lossy:  # a link that comes up has a carrier until the kernel has looked
        yield from (step.object.name for step in steps if step.attrs.get("up") and step.object.name in lossy)


def _goes_with_carrier(neighbour: Object) -> bool:
    return neighbour.attrs.get("state") == "noarp" or bool(neighbour.attrs.get("managed"))


def shaken_by(steps: Iterable[Step]) -> set[str]:
    """The links that are deleted or go down, or change their master or network namespace, by steps about links."""
    return {
        step.object.name
        for step in steps
        if step.op is Op.DELETE or step.attrs.get("up") is False or not _SHAKING.isdisjoint(step.attrs)
    }


def losing_carrier(shaken: Set[str], links: Mapping[Key, Object]) -> Iterator[str]:
    """The masters of ``shaken`` links, the other ends of their cables, and what is above: from below."""
    if not shaken:
        return  # most plans shake none, and what is above is found by a look at all links
    ports = (links.get((name,)) for name in shaken)
    masters = {str(port.attrs["master"]) for port in ports if port and port.attrs.get("master")}
    yield from masters
    yield from (name for name, _ in followers(masters | shaken, links))
