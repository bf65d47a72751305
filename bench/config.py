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
from netgroupd.config.linemap import LineMap
from netgroupd.config.render import Limits, Rendered, render
from netgroupd.config.report import Report
from netgroupd.config.sources import ROOT, Source, read_sources

SIZES = (1_000, 10_000, 100_000, 1_000_000)
RUNS = 5
_PORTS = 5  # hardware under the stanzas' VLANs, 4,000 on each

LINKS = "links:\n  swp[1-{ports}]: {{up: true}}\n  swp[1-{ports}].[1-{vlans}]: {{mtu: 1500, up: true}}\n"
ALIASES = 'links:\n  lo: {{addresses: ["10.[0-{high}].[0-99].[1-100]/32"]}}\n'
FILTERS = (
    "links:\n  swp1: {{}}\ntc:\n  swp1:\n    ingress:\n"
    '    - {{pref: 10, protocol: ip, flower: {{dst_ip: "10.[0-{high}].[0-99].[1-100]"}}, action: drop}}\n'
)
STANZAS = """\
links:
  p[0-4]: {up: true}
% for v in range(20000):
  br-${v}:
    kind: bridge
    stp: on
    mtu: 9000
    up: yes
    ports: p${v // 4000}.${v % 4000 + 1}
    addresses:
    - 10.${v >> 8}.${v & 255}.1/24
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
    found = desired_from(rendered, frozenset())
    print(len(found.state), time.perf_counter() - start, peak_memory_mib())


def ranges(quick: bool) -> Table:
    """Objects from one line with ranges."""
    rows: dict[str, tuple[Cell, ...]] = {}
    for kind in TEXTS:
        for size in SIZES[: 3 if quick else 4]:
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


def stanzas(quick: bool) -> Table:
    """20,000 bridges from a loop, stage by stage, and as a whole."""
    runs = 1 if quick else RUNS
    with TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "bridges.mako").write_text(STANZAS)
        sources, _ = read_sources([place], trust=ROOT)

        def rendered() -> tuple[Rendered, ...]:
            return render(sources, facts=Facts(), templates=[place], limits=Limits())[0]

        texts = rendered()
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        rows: dict[str, tuple[Cell, ...]] = {
            "render": (seconds(rendered, runs=runs),),
            "parse": (seconds(lambda: parse(texts[0].text, 0, Report(texts)), runs=runs, prepare=gc.collect),),
            "parse, check and expand": (seconds(lambda: desired_from(texts, frozenset()), runs=runs),),
            "all of it": (seconds(lambda: load([place], facts=Facts()), runs=runs, prepare=gc.collect),),
            "PyYAML's C loader, the same text": (seconds(lambda: yaml.load(texts[0].text, loader), runs=1),),
        }
    return Table("config-stanzas", "20,000 bridge stanzas from a Mako loop", ("time",), rows, "all of it in 2 s")


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
