# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure, and keep measuring apart from printing: a bench makes a Table, this prints and stores it.

Every table says on what it was measured: kernel, processor, commit.  Every cell
is a median with its spread over the runs, or a plain count that no noise
disturbs.  A bench is a script with a ``main`` that calls ``run(tables)``; it
prints Markdown, and with ``--out DIR`` writes ``DIR/<name>.json`` beside it.
"""

import argparse
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import NamedTuple


class Cell(NamedTuple):
    """One figure: the median of its runs, or a sentence where there is no figure."""

    runs: tuple[float, ...] = ()
    unit: str = "s"
    note: str = ""

    @property
    def median(self) -> float | None:
        """The figure to quote."""
        return statistics.median(self.runs) if self.runs else None

    def __str__(self) -> str:
        if self.median is None:
            return self.note or "–"
        spread = f" ±{significant((max(self.runs) - min(self.runs)) / 2, 2)}" if len(self.runs) > 1 else ""
        return f"{significant(self.median)}{spread} {self.unit}{' ' + self.note if self.note else ''}".rstrip()


class Table(NamedTuple):
    """Rows of cells under columns; ``goal`` says what the figures are held against."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Cell, ...]]
    goal: str = ""


def significant(value: float, digits: int = 3) -> str:
    """So many significant digits, without an exponent."""
    if not value:
        return "0"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def seconds(action: Callable[[], object], *, runs: int, prepare: Callable[[], object] | None = None) -> Cell:
    """Time ``action``, each time after an untimed ``prepare``."""
    times = []
    for _ in range(runs):
        if prepare:
            prepare()
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return Cell(tuple(times))


class Way(NamedTuple):
    """One way to do a thing, each time after what is not timed."""

    action: Callable[[], object]
    prepare: Callable[[], object]


def in_turn(ways: Mapping[str, Way], runs: int) -> dict[str, Cell]:
    """Time all ways in turn, so that whatever else the machine does befalls each."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            times[name] += seconds(way.action, runs=1, prepare=way.prepare).runs
    return {name: Cell(tuple(found)) for name, found in times.items()}


def by_rounds(ours: Cell, theirs: Cell) -> Cell:
    """How many times as long ours took, round by round of those that took turns."""
    return Cell(tuple(one / other for one, other in zip(ours.runs, theirs.runs, strict=True)), "×")


def ratio(ours: Cell, theirs: Cell) -> Cell:
    """How many times as long ours took, median by median."""
    if ours.median is None or not theirs.median:
        return Cell()
    return Cell((ours.median / theirs.median,), "×")


def count(value: float, unit: str = "") -> Cell:
    """A figure that does not vary."""
    return Cell((value,), unit)


def peak_memory_mib() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def environment() -> dict[str, str]:
    """What the figures were measured on."""
    model = "unknown processor"
    with suppress(OSError):
        rows = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((row.partition(":")[2].strip() for row in rows if row.startswith("model name")), model)
    commit = ""
    with suppress(OSError, subprocess.CalledProcessError):
        here = Path(__file__).parent
        commit = subprocess.check_output(("git", "describe", "--always", "--dirty"), cwd=here, text=True).strip()
    return {
        "kernel": platform.release(),
        "processor": f"{os.cpu_count()} × {model}",
        "python": platform.python_version(),
        "commit": commit,
    }


def markdown(table: Table) -> str:
    """The table as people read it."""
    lines = [f"### {table.title}", "", f"| | {' | '.join(table.columns)} |", "|---|" + "---|" * len(table.columns)]
    lines += [f"| {name} | {' | '.join(map(str, cells))} |" for name, cells in table.rows.items()]
    if table.goal:
        lines += ["", f"Goal: {table.goal}"]
    return "\n".join(lines) + "\n"


def as_json(table: Table) -> dict[str, object]:
    """The table with every run, for plotting and for comparing commits."""
    rows = {name: [cell._asdict() | {"median": cell.median} for cell in cells] for name, cells in table.rows.items()}
    return {**table._asdict(), "rows": rows, "markdown": markdown(table), "environment": environment()}


def run(measure: Callable[[bool], Iterable[Table]], arguments: Sequence[str] | None = None) -> None:
    """Run one bench as a command: ``--quick`` for minutes, ``--out DIR`` to keep the figures.

    A table that grows is kept as far as it is there, and shown when it is whole.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--out", type=Path, help="write <table>.json into this directory")
    options = parser.parse_args(arguments)
    for _, growing in groupby(measure(options.quick), key=lambda table: table.name):
        for table in growing:
            if options.out:
                options.out.mkdir(parents=True, exist_ok=True)
                (options.out / f"{table.name}.json").write_text(json.dumps(as_json(table), indent=1))
        print(markdown(table), flush=True)
