# SPDX-License-Identifier: GPL-2.0-or-later
"""(links, plan) -> nodes and edges with equal links folded: a picture's content, however many links there are."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from netgroupd.model.link import WITH_LINK
from netgroupd.model.state import Object, State
from netgroupd.plan.fold import fold_names
from netgroupd.plan.nets import nets
from netgroupd.plan.step import Plan

_NUMBERS = re.compile(r"[0-9]+")
_SHOWN_RANGES = 3
WAITS = "?"
_Kind: TypeAlias = tuple[str, ...]


class Node(NamedTuple):
    """Links that have everything in common but the numbers in their names.

    ``sign`` is that of the plan for them, "" where nothing changes, WAITS where it
    has to wait for hardware; ``level`` counts from the left, lower links before upper ones.
    """

    label: str
    kind: str
    size: int
    group: str
    vrf: str
    sign: str
    level: int


class Edge(NamedTuple):
    """``links`` links of node ``lower`` carry or are ports of links of node ``upper``."""

    lower: int
    upper: int
    links: int


class Topology(NamedTuple):
    """Nodes by number, and the edges between them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def signs_of(plan: Plan) -> dict[str, str]:
    """What happens to each link, by name; a link whose addresses change is changed too."""
    signs: dict[str, str] = {}
    for net in nets(plan):
        if net.object.cls == "link":
            signs[net.object.name] = net.sign
        elif net.object.cls in WITH_LINK:
            signs.setdefault(net.object.name, "~")
    return signs


def fold(state: State, signs: Mapping[str, str], groups: Mapping[int, str]) -> Topology:
    """Fold the links of ``state`` into nodes."""
    links = {link.name: link for link in state.of("link").values()}
    vrfs = {name for name, link in links.items() if link.attrs.get("kind") == "vrf"}
    members: dict[_Kind, list[str]] = defaultdict(list)
    for link in links.values():
        members[_alike(link, vrfs, signs, groups)].append(link.name)
    number_of = {name: number for number, names in enumerate(members.values()) for name in names}
    counts = Counter(
        (number_of[below], number_of[above])
        for link in links.values()
        for below, above in _stacked(link)
        if below in number_of and above in number_of
    )
    edges = tuple(Edge(lower, upper, count) for (lower, upper), count in sorted(counts.items()) if lower != upper)
    levels = _levels(len(members), edges)
    nodes = tuple(_node(alike, names, level) for (alike, names), level in zip(members.items(), levels, strict=True))
    return Topology(nodes, edges)


def _alike(link: Object, vrfs: set[str], signs: Mapping[str, str], groups: Mapping[int, str]) -> _Kind:
    master = str(link.attrs.get("master") or "")
    number = link.attrs.get("group")
    group = groups.get(number, str(number)) if isinstance(number, int) and number else ""
    vrf = master if master in vrfs else ""
    kind = str(link.attrs.get("kind") or "hardware")
    stem = _NUMBERS.sub("#", link.name)
    below = _NUMBERS.sub("#", str(link.attrs.get("link") or ""))
    return (kind, group, vrf, signs.get(link.name, ""), stem, below, _NUMBERS.sub("#", master))


def _stacked(link: Object) -> list[tuple[str, str]]:
    below, master = link.attrs.get("link"), link.attrs.get("master")
    pairs = [(str(below), link.name)] if below else []
    return [*pairs, (link.name, str(master))] if master else pairs


def _pull(levels: list[int], edges: tuple[Edge, ...]) -> None:
    """Put each node right below what stands on it, so that no line passes behind a box on its way."""
    above: dict[int, list[int]] = defaultdict(list)
    for edge in edges:
        above[edge.lower].append(edge.upper)
    for lower in sorted(above, key=levels.__getitem__, reverse=True):
        levels[lower] = max(levels[lower], min(levels[upper] for upper in above[lower]) - 1)


def _levels(count: int, edges: tuple[Edge, ...]) -> list[int]:
    """The longest way from the bottom, and then up as far as may be; a circle of folded nodes ends the search."""
    levels = [0] * count
    for _ in range(count):
        moved = False
        for edge in edges:
            if levels[edge.upper] <= levels[edge.lower] < count:
                levels[edge.upper] = levels[edge.lower] + 1
                moved = True
        if not moved:
            break
    _pull(levels, edges)
    ranks = {level: rank for rank, level in enumerate(sorted(set(levels)))}
    return [ranks[level] for level in levels]


def _node(alike: _Kind, names: list[str], level: int) -> Node:
    kind, group, vrf, sign, *_ = alike
    ranges = fold_names(names)
    more = f" … {len(ranges) - _SHOWN_RANGES} more" if len(ranges) > _SHOWN_RANGES else ""
    return Node(" ".join(ranges[:_SHOWN_RANGES]) + more, kind, len(names), group, vrf, sign, level)
