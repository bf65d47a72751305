# SPDX-License-Identifier: GPL-2.0-or-later
"""Which link stands on which -> the loops in that.

A link stands on its lower link, on what its tunnel goes through, and, as a
master, on its ports.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from netgroupd.config.sections.links import references_of
from netgroupd.model.state import Attrs

# What names another link and is not below: the master is above, a peer beside, and the others are ports anyhow.
_NOT_BELOW = frozenset({"master", "peer", "primary", "active_slave"})


def loops(links: Mapping[str, Attrs], ports: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Each loop once, as the names from one down to the next, the first again at the end; ``ports`` are by master."""
    done: set[str] = set()
    for start in _unsettled(links, ports, done):
        if start not in done:
            yield from _from(start, links, ports, done)


_PLAIN = frozenset({None, "", "dummy", "vlan", "veth", "netkit", "macvlan", "ipvlan", "bridge", "bond", "vrf"})
"""Kinds that stand on nothing but ``link`` and their ports."""
_LAYERS = 8


def _unsettled(links: Mapping[str, Attrs], ports: Mapping[str, Sequence[str]], done: set[str]) -> list[str]:
    """The links that are in a loop or high up; those below are ``done``, layer by layer, without keeping any path."""
    left = list(links)
    for _ in range(_LAYERS):
        waiting = []
        for name in left:
            attrs = links[name]
            if attrs.get("kind") in _PLAIN:
                lower = attrs.get("link")
                free = lower is None or lower in done or lower not in links
            else:
                free = all(lower in done or lower not in links for lower in lower_links(attrs).values())
            if free and (name not in ports or done.issuperset(ports[name])):
                done.add(name)
            else:
                waiting.append(name)
        if len(waiting) in (0, len(left)):
            return waiting
        left = waiting
    return left


def _from(
    start: str, links: Mapping[str, Attrs], ports: Mapping[str, Sequence[str]], done: set[str]
) -> Iterator[tuple[str, ...]]:
    path: dict[str, Iterator[str]] = {start: _below(start, links, ports)}
    while path:
        name = next(reversed(path))
        for other in path[name]:
            if other in path:
                names = list(path)
                yield (*names[names.index(other) :], other)
            elif other not in done and other in links:
                path[other] = _below(other, links, ports)
                break
        else:
            done.add(name)
            del path[name]


def _below(name: str, links: Mapping[str, Attrs], ports: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from lower_links(links[name]).values()
    yield from ports.get(name, ())


def lower_links(attrs: Attrs) -> dict[str, str]:
    """The links that one stands on by its own attributes, by the attribute."""
    keys = references_of(str(attrs.get("kind") or ""))
    return {key: str(attrs[key]) for key in keys if key in attrs and key not in _NOT_BELOW and attrs[key]}


def way(joined: Mapping[str, Iterable[str]], start: str, end: str) -> tuple[str, ...]:
    """The shortest way from one place to another along what is joined, both ends included; () if there is none."""
    before = {start: start}
    queue = [start]
    for here in queue:  # which grows as it is read
        if here == end:
            steps = [end]
            while steps[-1] != start:
                steps.append(before[steps[-1]])
            return tuple(reversed(steps))
        for there in joined.get(here, ()):
            if there not in before:
                before[there] = here
                queue.append(there)
    return ()
