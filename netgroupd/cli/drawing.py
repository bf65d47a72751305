# SPDX-License-Identifier: GPL-2.0-or-later
"""A topology as SVG: levels from left to right, a region for each group, and in it one for each VRF."""

from collections import defaultdict
from html import escape
from typing import NamedTuple

from netgroupd.cli.topology import Edge, Node, Topology

_COLUMN, _GAP, _BOX, _HEIGHT, _ROW = 250, 70, 220, 46, 62
_MARGIN, _HEAD, _LEGEND = 24, 26, 60
_CHARACTER = 6.6  # the width of one at 11 px
_FILLS = {"+": "#d9f2d9", "~": "#fdecc4", "-": "#f8d3d3", "-/+": "#f3d9f5", "": "#ffffff"}
_LINES = {"+": "#2e8b2e", "~": "#b8860b", "-": "#b22222", "-/+": "#8b3a8b", "": "#5b6770"}
_MEANINGS = {"+": "to create", "~": "to change", "-": "to delete", "-/+": "to recreate", "": "as configured"}
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
    for group, by_vrf in sorted(lanes.items()):
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


def _draw_edge(edge: Edge, layout: _Layout) -> str:
    (x1, y1), (x2, y2) = layout.places[edge.lower], layout.places[edge.upper]
    x1, y1, y2 = x1 + _BOX, y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    bend = max((x2 - x1) / 2, 30)
    path = f'<path d="M{x1:.0f} {y1:.0f} C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"/>'
    count = _text((x1 + x2) / 2, (y1 + y2) / 2 - 4, f"{edge.links:,}", 'class="count"') if edge.links > 1 else ""
    return path + count


def _draw_legend(title: str, signs: set[str]) -> str:
    parts = [_text(_MARGIN, _MARGIN + 12, title, 'class="title"')]
    for place, sign in enumerate(sign for sign in _MEANINGS if sign in signs or not sign):
        x = _MARGIN + place * 140
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
        ".title{font-size:15px;font-weight:bold}.region{fill:#51606d}.count{fill:#51606d;text-anchor:middle}"
        "path{fill:none;stroke:#8795a1;stroke-width:1.4}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _draw_legend(title, {node.sign for node in topology.nodes}),
        *(_draw_region(number, region, layout.width) for number, region in enumerate(layout.regions)),
        *(_draw_edge(edge, layout) for edge in topology.edges),
        *(_draw_node(node, layout.places[number]) for number, node in enumerate(topology.nodes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
