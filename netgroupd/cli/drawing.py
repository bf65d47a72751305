# SPDX-License-Identifier: GPL-2.0-or-later
"""A topology as SVG: levels from left to right, a region for each group, and in it one for each VRF."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

from netgroupd.cli.topology import Edge, Node, Topology

_COLUMN, _GAP, _BOX, _HEIGHT, _ROW = 250, 70, 220, 46, 62
_MARGIN, _HEAD, _LEGEND = 24, 26, 60
_CHARACTER = 6.6  # the width of one at 11 px
_NEAR = {False: 0.2, True: 0.8}  # an edge's beginning and end
_FILLS = {"+": "#d9f2d9", "~": "#fdecc4", "-": "#f8d3d3", "-/+": "#f3d9f5", "?": "#e3e6e8", "": "#ffffff"}
_LINES = {"+": "#2e8b2e", "~": "#b8860b", "-": "#b22222", "-/+": "#8b3a8b", "?": "#8d99a2", "": "#5b6770"}
_MEANINGS = {
    "+": "to create",
    "~": "to change",
    "-": "to delete",
    "-/+": "to recreate",
    "?": "waits for hardware",
    "": "as configured",
}
_REGIONS = ("#eef4fb", "#f3f0fa", "#eef8f2", "#fbf4ec", "#faeff3", "#f0f6f7")


class _Region(NamedTuple):
    """Where a group or VRF is: from ``top`` to ``bottom``."""

    label: str
    top: float
    bottom: float
    inner: bool


class _Layout(NamedTuple):
    """Where everything is."""

    places: dict[int, tuple[float, float]]
    regions: list[_Region]
    width: float
    height: float


def _arrange(nodes: tuple[Node, ...]) -> _Layout:
    lanes: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, node in enumerate(nodes):
        lanes[node.group][node.vrf].append(number)
    places: dict[int, tuple[float, float]] = {}
    regions = []
    y: float = _MARGIN + _LEGEND
    for group, by_vrf in sorted(lanes.items(), key=lambda lane: (_height(lane[1], nodes), lane[0])):
        top = y
        y += _HEAD
        for vrf, numbers in sorted(by_vrf.items()):
            inner = y
            y += _HEAD if vrf else 0
            rows: dict[int, int] = defaultdict(int)
            for number in numbers:
                level = nodes[number].level
                places[number] = (_MARGIN * 2 + level * (_COLUMN + _GAP), y + rows[level] * _ROW)
                rows[level] += 1
            y += max(rows.values()) * _ROW
            if vrf:
                regions.append(_Region(f"VRF {vrf}", inner, y, inner=True))
                y += 10
        regions.append(_Region(f"group {group}" if group else "in no group", top, y, inner=False))
        y += 16
    width = _MARGIN * 3 + (max((node.level for node in nodes), default=0) + 1) * (_COLUMN + _GAP) - _GAP
    return _Layout(places, sorted(regions, key=lambda region: region.inner), max(width, 760), y + _MARGIN)


def _height(by_vrf: Mapping[str, list[int]], nodes: tuple[Node, ...]) -> float:
    """How far above the hardware a group is on average: what carries others comes first."""
    levels = [nodes[number].level for numbers in by_vrf.values() for number in numbers]
    return sum(levels) / len(levels)


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{escape(text)}</text>'


def _clipped(text: str, width: float) -> str:
    longest = int(width / _CHARACTER)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _draw_region(number: int, region: _Region, width: float) -> str:
    inset = _MARGIN + 8 if region.inner else _MARGIN - 8
    fill = "none" if region.inner else _REGIONS[number % len(_REGIONS)]
    dash = ' stroke-dasharray="5 4"' if region.inner else ""
    box = (
        f'<rect x="{inset}" y="{region.top:.0f}" width="{width - 2 * inset:.0f}" '
        f'height="{region.bottom - region.top:.0f}" rx="10" fill="{fill}" stroke="#9fb0bf"{dash}/>'
    )
    return box + _text(inset + 12, region.top + 18, region.label, 'class="region"')


def _draw_node(node: Node, place: tuple[float, float]) -> str:
    x, y = place
    count = f" × {node.size:,}" if node.size > 1 else ""
    box = (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_BOX}" height="{_HEIGHT}" rx="6" '
        f'fill="{_FILLS[node.sign]}" stroke="{_LINES[node.sign]}" stroke-width="1.5"/>'
    )
    name = _text(x + 10, y + 19, _clipped(node.label, _BOX - 20), 'class="name"')
    return f"<g><title>{escape(node.label)}</title>{box}{name}{_text(x + 10, y + 36, node.kind + count)}</g>"


class _Curve(NamedTuple):
    """An edge from the right of one box to the left of another, level at both ends."""

    x1: float
    y1: float
    x2: float
    y2: float

    def path(self) -> str:
        bend = max((self.x2 - self.x1) / 2, 30)
        first, second = self.x1 + bend, self.x2 - bend
        ends = f"M{self.x1:.0f} {self.y1:.0f}", f"{self.x2:.0f} {self.y2:.0f}"
        return f'<path d="{ends[0]} C{first:.0f} {self.y1:.0f} {second:.0f} {self.y2:.0f} {ends[1]}"/>'

    def at(self, share: float) -> tuple[float, float]:
        """The point after that share of the way."""
        rest = 1 - share
        bend = max((self.x2 - self.x1) / 2, 30)
        start, end = rest**3, share**3
        early, late = 3 * rest**2 * share, 3 * rest * share**2
        x = start * self.x1 + early * (self.x1 + bend) + late * (self.x2 - bend) + end * self.x2
        return x, (start + early) * self.y1 + (late + end) * self.y2


def _draw_edges(edges: tuple[Edge, ...], layout: _Layout) -> Iterator[str]:
    """The lines, and on top of all of them how many links each stands for."""
    counts = []
    out, into = Counter(edge.lower for edge in edges), Counter(edge.upper for edge in edges)
    for edge in edges:
        (x1, y1), (x2, y2) = layout.places[edge.lower], layout.places[edge.upper]
        curve = _Curve(x1 + _BOX, y1 + _HEIGHT / 2, x2, y2 + _HEIGHT / 2)
        yield curve.path()
        if edge.links > 1:
            # Where lines come apart: at the end that has fewer of them.
            x, y = curve.at(
                0.5 if out[edge.lower] == into[edge.upper] == 1 else _NEAR[out[edge.lower] > into[edge.upper]]
            )
            counts.append(_text(x, y - 4, f"{edge.links:,}", 'class="count"'))
    yield from counts


def _draw_legend(title: str, signs: set[str]) -> str:
    parts = [_text(_MARGIN, _MARGIN + 12, title, 'class="title"')]
    for place, sign in enumerate(sign for sign in _MEANINGS if sign in signs or not sign):
        x = _MARGIN + place * 170
        parts.append(
            f'<rect x="{x}" y="{_MARGIN + 24}" width="14" height="14" rx="3" fill="{_FILLS[sign]}" '
            f'stroke="{_LINES[sign]}"/>' + _text(x + 20, _MARGIN + 35, _MEANINGS[sign])
        )
    return "".join(parts)


def draw(topology: Topology, title: str) -> str:
    """The picture as one SVG document."""
    layout = _arrange(topology.nodes)
    size = f'width="{layout.width:.0f}" height="{layout.height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {layout.width:.0f} {layout.height:.0f}">',
        "<style>text{font:11px 'DejaVu Sans Mono',monospace;fill:#222}.name{font-weight:bold}"
        ".title{font-size:15px;font-weight:bold}.region{fill:#51606d}.count{fill:#51606d;text-anchor:middle;"
        "paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}"
        "path{fill:none;stroke:#8795a1;stroke-width:1.4}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _draw_legend(title, {node.sign for node in topology.nodes}),
        *(_draw_region(number, region, layout.width) for number, region in enumerate(layout.regions)),
        *_draw_edges(topology.edges, layout),
        *(_draw_node(node, layout.places[number]) for number, node in enumerate(topology.nodes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
