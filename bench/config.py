# SPDX-License-Identifier: GPL-2.0-or-later
"""From files to the desired state: objects from ranges, stanzas from a Mako loop, and starting the command.

Each figure of the first table is a process of its own, so that the memory is
that of one size.  The second table has PyYAML's C loader beside it, which is what
reading the same text would cost before anything is checked or expanded.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from bench.harness import Cell, Table, count, peak_memory_mib, run, seconds
from netgroupd.config import desired_from, load
from netgroupd.config.document import parse
from netgroupd.config.facts import Facts
from netgroupd.config.known import Known
from netgroupd.config.linemap import LineMap
from netgroupd.config.render import Limits, Rendered, render
from netgroupd.config.report import Report
from netgroupd.config.sources import ROOT, Source, read_sources

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
LOOPS = (33, 333, 3_333, 20_000, 330_000)
RUNS = 5
_PATIENT = Limits(cpu_s=600, wall_s=3600, memory=8 << 30, output=1 << 30)

LINKS = "links:\n  swp[1-{ports}]: {{up: true}}\n  swp[1-{ports}].[1-{vlans}]: {{mtu: 1500, up: true}}\n"
ALIASES = 'links:\n  lo: {{addresses: ["10.[0-{high}].[0-99].[1-100]/32"]}}\n'
FILTERS = (
    "links:\n  swp1: {{}}\ntc:\n  swp1:\n    ingress:\n"
    '    - {{pref: 10, protocol: ip, flower: {{dst_ip: "10.[0-{high}].[0-99].[1-100]"}}, action: drop}}\n'
)
STANZAS = """\
links:
  p[0-99]: {up: true}
% for v in range(STANZAS):
  br-${v}:
    kind: bridge
    stp: on
    mtu: 9000
    up: yes
    ports: p${v // 4000}.${v % 4000 + 1}
    addresses:
    - 10.${v >> 16}.${v >> 8 & 255}.${v & 255}/32
% endfor
"""


def vlans(objects: int) -> str:
    """A text that stands for about so many links."""
    ports = max(objects // 4094, 1)
    return LINKS.format(ports=ports, vlans=min(objects // ports, 4094))


def aliases(objects: int) -> str:
    """A text that stands for so many addresses in steps of 10,000, and with their link stays within the limit."""
    return ALIASES.format(high=_tens(objects) - 1)


def filters(objects: int) -> str:
    """A text that stands for so many filters, likewise."""
    return FILTERS.format(high=_tens(objects) - 1)


def _tens(objects: int) -> int:
    return min(max(objects // 10_000, 1), 99)


TEXTS: dict[str, Callable[[int], str]] = {"links": vlans, "addresses": aliases, "filters": filters}


def plain(text: str) -> Rendered:
    """A text that needs no rendering."""
    source = Source("bench.yaml", "bench.yaml", text)
    return Rendered(source, text, LineMap((source,)))


def once(kind: str, objects: int) -> None:
    """Expand one text and print objects, seconds and MiB: the child of ``ranges``."""
    rendered = [plain(TEXTS[kind](objects))]
    start = time.perf_counter()
    found = desired_from(rendered, Known())
    print(len(found.state), time.perf_counter() - start, peak_memory_mib())


def ranges(quick: bool) -> Table:
    """Objects from one line with ranges."""
    rows: dict[str, tuple[Cell, ...]] = {}
    for kind in TEXTS:
        for size in SIZES[: 4 if quick else 5]:
            if kind != "links" and size < 10_000:
                continue
            argv = (sys.executable, "-m", "bench.config", "--once", kind, str(size))
            outputs = [subprocess.check_output(argv, text=True).split() for _ in range(1 if quick else RUNS)]
            times = Cell(tuple(float(output[1]) for output in outputs))
            each = Cell(tuple(1e6 * run_s / int(outputs[0][0]) for run_s in times.runs), "µs")
            memory = Cell(tuple(float(output[2]) for output in outputs), "MiB")
            rows[f"{kind} {size:,}"] = (count(int(outputs[0][0])), times, each, memory)
    columns = ("objects", "time", "for each", "memory")
    return Table("config-ranges", "Objects from ranges", columns, rows, "1,000,000 in 10 s and 1,500 MiB, linear")


def stages(stanzas: int, runs: int) -> tuple[Cell, ...]:
    """Bridges from a loop, stage by stage, and as a whole; each is three objects."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "bridges.mako").write_text(STANZAS.replace("STANZAS", str(stanzas)))
        sources, _ = read_sources([place], trust=ROOT)

        def rendered() -> tuple[Rendered, ...]:
            return render(sources, facts=Facts, templates=[place], limits=_PATIENT)[0]

        texts = rendered()
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return (
            seconds(rendered, runs=runs),
            seconds(lambda: parse(texts[0].text, 0, Report(texts)), runs=runs, prepare=gc.collect),
            seconds(lambda: desired_from(texts, Known()), runs=runs),
            seconds(lambda: load([place], facts=Facts, limits=_PATIENT), runs=runs, prepare=gc.collect),
            seconds(lambda: yaml.load(texts[0].text, loader), runs=1),
        )


def stanzas(quick: bool) -> Table:
    """From a hundred objects to a million, all written out by a loop."""
    loops = LOOPS[:3] if quick else LOOPS
    rows = {f"{loop:,} stanzas": stages(loop, 1 if quick or loop == LOOPS[-1] else RUNS) for loop in loops}
    columns = ("render", "parse", "parse, check and expand", "all of it", "PyYAML's C loader, the same text")
    title = "Bridges, their VLANs and addresses from a Mako loop: three objects a stanza"
    return Table("config-stanzas", title, columns, rows, "all of it in 2 s for 20,000 stanzas, linear")


def start(quick: bool) -> Table:
    """The command on a small file, from nothing to its answer."""
    with TemporaryDirectory() as directory:
        (Path(directory) / "small.yaml").write_text("links:\n  lo: {up: true}\n")
        argv = (sys.executable, "-m", "netgroupd.cli.main", "check", "--config", directory)
        cell = seconds(lambda: subprocess.check_output(argv), runs=3 if quick else 20)
    return Table("config-start", "Starting `netgroupctl check`", ("time",), {"a small file": (cell,)}, "0.25 s")


def measure(quick: bool) -> Iterator[Table]:
    """Make the three tables."""
    yield ranges(quick)  # first: a child's peak begins with what its parent held
    yield start(quick)
    yield stanzas(quick)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        once(sys.argv[2], int(sys.argv[3]))
    else:
        run(measure)
