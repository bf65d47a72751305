# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that may lose their carrier by a plan, and with it the nexthops there, and neighbours that do not age."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import in_the_end, kind_of
from netgroupd.plan.fate import TEAMING, followers
from netgroupd.plan.step import Op, Plan, Step

_SHAKING = frozenset({"master", "netns"})
_BY_PORTS = TEAMING | {"bridge"}
"""Kinds that have a carrier as long as one of their ports has."""


def darkened_by(steps: Sequence[Step], desired: State, actual: State) -> Iterator[str]:
    """The links that may lose their carrier by steps about links, where anything goes with that."""
    nexthops = actual.of("nexthop")
    lossy = {obj.name for obj in desired.of("neighbour").values() if goes_with_carrier(obj)} if steps else ()
    if nexthops or lossy:
        yield from (name for name in losing_carrier(shaken_by(steps), actual.of("link")) if nexthops or name in lossy)
    if lossy:  # a link that comes up has a carrier until the kernel has looked
        yield from (step.object.name for step in steps if step.attrs.get("up") and step.object.name in lossy)


def goes_with_carrier(neighbour: Object) -> bool:
    """Whether a link that loses its carrier forgets a neighbour that does not age."""
    return neighbour.attrs.get("state") == "noarp" or bool(neighbour.attrs.get("managed"))


def told_in_the_dark(steps: Iterable[Step]) -> set[str]:
    """The links that are told something by steps about links while they are up and have no carrier.

    The kernel looks at a link that it is told nearly anything of, and has one without a carrier forget its neighbours
    again.
    """
    changed = ((step.object.name, step.before.attrs) for step in steps if step.op is Op.CHANGE and step.before)
    return {name for name, have in changed if have.get("up") and have.get("carrier") is False}


def shaken_by(steps: Iterable[Step]) -> set[str]:
    """The links that are deleted or go down, or change their master or network namespace, by steps about links."""
    return {
        step.object.name
        for step in steps
        if step.op is Op.DELETE or step.attrs.get("up") is False or not _SHAKING.isdisjoint(step.attrs)
    }


def in_the_dark(shaken: Set[str], steps: Iterable[Step], links: Mapping[Key, Object]) -> set[str]:
    """The links that may lose their carrier by others that are ``shaken``, or are told something without one."""
    return told_in_the_dark(steps).union(losing_carrier(shaken, links))


def losing_carrier(shaken: Set[str], links: Mapping[Key, Object]) -> Iterator[str]:
    """The masters of ``shaken`` links, the other ends of their cables, and what is above: from below."""
    if not shaken:
        return  # most plans shake none, and what is above is found by a look at all links
    ports = (links.get((name,)) for name in shaken)
    masters = {str(port.attrs["master"]) for port in ports if port and port.attrs.get("master")}
    yield from masters
    yield from (name for name, _ in followers(masters | shaken, links, masters=_BY_PORTS))


def without_a_port(down: Set[str], shaken: Set[str], links: Mapping[Key, Object]) -> set[str]:
    """The links that have no carrier when those that are ``shaken`` are away; those that are ``down`` have none."""
    staying = {key: link for key, link in links.items() if link.name not in shaken}
    left = {str(links[name,].attrs.get("master")) for name in shaken if (name,) in links}
    return _unlit(down, left, links, staying)


def without_a_port_for_good(dark: set[str], plan: Plan, goal: State, actual: State) -> set[str]:
    """Those of ``dark`` links that have no carrier in the end either."""
    links, wanted = actual.of("link"), goal.of("link")
    keys = {*wanted, *(key for key in links if key[0] not in plan.gone)}
    final = {key: Object("link", key, in_the_end(key[0], wanted, links)) for key in keys}
    down = plan.gone | plan.cycled
    lost = {name for name in down if (name,) not in final or final[name,].attrs.get("up") is False}
    return dark & _unlit(lost, dark, final, final)


def _unlit(down: Set[str], left: Iterable[str], links: Mapping[Key, Object], staying: Mapping[Key, Object]) -> set[str]:
    """The links that are ``down``, what is above, and masters that ports have ``left``, or all that are ``staying``."""
    ports: dict[str, set[str]] = {name: set() for name in left if kind_of(links.get((name,))) in _BY_PORTS}
    for link in staying.values():
        master = link.attrs.get("master")
        if link.attrs.get("up") is not False and kind_of(links.get((master,))) in _BY_PORTS:
            ports.setdefault(str(master), set()).add(link.name)
    dark, more = set[str](), {*down, *(master for master, those in ports.items() if not those)}
    while not more <= dark:
        dark |= more
        more = {name for name, _ in followers(dark, links) if kind_of(links[name,]) != "vxlan"}
        more.update(master for master, those in ports.items() if those <= dark | more)
    return dark
