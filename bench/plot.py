# SPDX-License-Identifier: GPL-2.0-or-later
"""A table as a picture: one line for each way over sizes, both axes logarithmic; bars where there are no sizes."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from bench.harness import significant

_ACROSS, _HEIGHT = 480, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 300, 50, 50
_PLOT, _BAR = 380, 17
_LETTER, _TITLE_LETTER, _MARGIN = 6.8, 8.8, 30  # no letter of the font is wider on average
_COLOURS = (
    *("#0b6e99", "#d9480f", "#2b8a3e", "#862e9c", "#e67700", "#5c5f66"),
    *("#c2255c", "#15aabf", "#94d82d", "#212529", "#f783ac", "#9c6644"),
)
_LEAPS = (1, 2, 5)
_ALIKE = 20  # values that differ by less need marks between the powers of ten
_SIZE = re.compile(r"^([\d,]+)\b")

Point = tuple[float, float]


class Series(NamedTuple):
    """One line of the picture."""

    name: str
    unit: str
    points: list[Point]


def _size(text: str) -> float | None:
    found = _SIZE.match(text)
    return float(found[1].replace(",", "")) if found else None


def _median(cell: Mapping[str, Any]) -> float | None:
    return cell["median"] if cell["median"] and cell["median"] > 0 else None


def series_of(table: Mapping[str, Any]) -> list[Series]:
    """The lines of a table, along whichever of its sides is made of sizes; none where neither is."""
    rows, columns = table["rows"], table["columns"]
    if all(_size(column) for column in columns):
        sizes = [_size(column) for column in columns]
        cells = {name: list(row) for name, row in rows.items()}
    elif all(_size(name) for name in rows):
        sizes = [_size(name) for name in rows]
        cells = {column: [row[i] for row in rows.values() if i < len(row)] for i, column in enumerate(columns)}
    else:
        return []
    lines = []
    for name, row in cells.items():
        points = [(size, value) for size, cell in zip(sizes, row, strict=False) if size and (value := _median(cell))]
        unit = next((cell["unit"] for cell in row if cell["median"]), "")
        if len(points) > 1:
            lines.append(Series(name, unit, points))
    common = max({line.unit for line in lines}, key=lambda unit: sum(line.unit == unit for line in lines), default="")
    return [line for line in lines if line.unit == common]


class Scale(NamedTuple):
    """A logarithmic axis from ``low`` to ``high`` on the picture from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "Scale":
        """An axis that shows all ``values``: whole decades, or from one of 1, 2, 5 to another where they are alike."""
        low, high = min(values), max(values)
        leaps = _LEAPS if high < _ALIKE * low else (1,)
        bottom = max(leap * 10.0**power for power in _powers(low) for leap in leaps if leap * 10.0**power <= low)
        top = min(leap * 10.0**power for power in _powers(high) for leap in leaps if leap * 10.0**power >= high)
        return cls(bottom, top if top > bottom else bottom * 10, start, end)

    def place(self, value: float) -> float:
        """Where ``value`` is."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def marks(self) -> list[float]:
        """The values to mark: powers of ten, and 2 and 5 times those where there would be too few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        leaps = _LEAPS if self.high < 100 * self.low else (1,)
        marks = [leap * 10.0**power for power in range(first, last + 1) for leap in leaps]
        return [mark for mark in marks if self.low <= mark <= self.high]


def _powers(value: float) -> range:
    """The powers of ten around a value."""
    return range(math.floor(math.log10(value)), math.ceil(math.log10(value)) + 1)


def _text(x: float, y: float, words: str, extra: str = "") -> str:
    return f'<text x="{x}" y="{y}" {extra}>{escape(words)}</text>'


def _room(texts: Iterable[str]) -> int:
    """How wide the longest of ``texts`` is, with what is beside it."""
    return _MARGIN + round(_LETTER * max(map(len, texts), default=0))


def _grid(across: Scale, up: Scale, unit: str) -> list[str]:
    parts = []
    for value in across.marks():
        x = across.place(value)
        parts.append(f'<path d="M{x} {up.start}V{up.end}" class="grid"/>')
        parts.append(_text(x, up.start + 20, f"{value:,.0f}", 'text-anchor="middle"'))
    for value in up.marks():
        y = up.place(value)
        parts.append(f'<path d="M{across.start} {y}H{across.end}" class="grid"/>')
        parts.append(_text(across.start - 8, y + 4, _marked(value, unit), 'text-anchor="end"'))
    return parts


def _marked(value: float, unit: str) -> str:
    return f"{significant(value)} {unit}"


def svg(table: Mapping[str, Any]) -> str:
    """The picture; nothing where there are too few figures of one unit for one."""
    title = str(table["title"])
    if lines := series_of(table):
        up = Scale.over([y for line in lines for _, y in line.points], _HEIGHT - _BOTTOM, _TOP)
        left = max(_LEFT, _room(_marked(value, lines[0].unit) for value in up.marks()))
        across = Scale.over([x for line in lines for x, _ in line.points], left, left + _ACROSS)
        width = left + _ACROSS + max(_RIGHT, _room(line.name for line in lines) + _MARGIN)
        return _document(title, _curves(table, lines, across, up), width, _HEIGHT)
    if len(bars := bars_of(table)) > 1:
        names = _room(bar.row for bar in bars)
        width = names + _PLOT + _room(bar.told for bar in bars)
        return _document(title, _bars(table, bars, names, width), width, _TOP + _BAR * len(bars) + _BOTTOM)
    return ""


class Bar(NamedTuple):
    """One bar: its row, its column by number, its figure, and what is written beside it."""

    row: str
    column: int
    value: float
    told: str


def bars_of(table: Mapping[str, Any]) -> list[Bar]:
    """The figures of the commonest unit, row by row; times before others, and bare counts last."""
    cells = [(name, number, cell) for name, row in table["rows"].items() for number, cell in enumerate(row)]
    units = [cell["unit"] for _, _, cell in cells if _median(cell)]
    common = max(units, key=lambda unit: (unit != "", units.count(unit), unit == "s"), default="")
    shown = [(name, number, cell["median"]) for name, number, cell in cells if _median(cell) and cell["unit"] == common]
    what = table["columns"] if len({number for _, number, _ in shown}) > 1 else [common] * len(table["columns"])
    return [Bar(name, number, value, f"{significant(value)} {what[number]}") for name, number, value in shown]


def _bars(table: Mapping[str, Any], bars: Sequence[Bar], names: int, width: int) -> list[str]:
    """Bars from left to right on a logarithmic scale, coloured by column; the rows have ``names`` pixels for theirs."""
    unit = next(cell["unit"] for cell in table["rows"][bars[0].row] if _median(cell) == bars[0].value)
    bottom = _TOP + _BAR * len(bars)
    across = Scale.over([bar.value for bar in bars], names, names + _PLOT)
    parts = [_text(20, 28, str(table["title"]), 'class="title"')]
    marks = across.marks()
    for value in marks[:: 1 + len(marks) // 7]:
        x = across.place(value)
        parts.append(f'<path d="M{x} {_TOP}V{bottom}" class="grid"/>')
        parts.append(_text(x, bottom + 20, f"{significant(value)} {unit}", 'text-anchor="middle"'))
    shown = ""
    for number, bar in enumerate(bars):
        y = _TOP + _BAR * number
        colour = _COLOURS[bar.column % len(_COLOURS)]
        if bar.row != shown:
            parts.append(_text(names - 8, y + 12, bar.row, 'text-anchor="end"'))
            parts.append(f'<path d="M20 {y - 1}H{width - 20}" class="grid"/>')
        shown = bar.row
        length = round(max(across.place(bar.value) - names, 1), 1)
        parts.append(f'<rect x="{names}" y="{y + 1}" width="{length}" height="{_BAR - 3}" fill="{colour}"/>')
        parts.append(_text(names + length + 6, y + 12, bar.told))
    return parts


def _curves(table: Mapping[str, Any], lines: Sequence[Series], across: Scale, up: Scale) -> list[str]:
    """Lines over sizes, with a legend beside them, the slowest first."""
    parts = [_text(across.start, 28, str(table["title"]), 'class="title"'), *_grid(across, up, lines[0].unit)]
    for number, line in enumerate(sorted(lines, key=lambda line: -line.points[-1][1])):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(across.place(x), up.place(y)) for x, y in line.points]
        path = "L".join(f"{x} {y}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        row = _TOP + 14 + 20 * number
        parts.append(f'<path d="M{across.end + 14} {row - 4}h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(_text(across.end + 38, row, line.name))
    return parts


def _document(title: str, parts: Sequence[str], width: int, height: int) -> str:
    style = "text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.grid{stroke:#ddd;fill:none}"
    body = "\n".join(parts)
    width = max(width, _LEFT + _MARGIN + round(_TITLE_LETTER * len(title)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n'
        f'<style>{style}</style>\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )
