# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the benches, in the lab or on this host, and keep their figures as JSON, a page of tables and plots.

``python -m bench [--quick] [NAME…]`` writes ``bench/results/<date>-<kernel>/``.
Quick means small sizes and, of the kernels of a bench, the last one.  A bench
that fails has its place on the page all the same, with the reason, and does not
stop the others; a later run of it alone takes that place.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bench import apply, stacks
from bench.fetched import ALL, fetch
from bench.plot import svg
from netgroupd.errors import LabError
from netgroupd.lab.boot import Guest
from netgroupd.lab.kernel import CHECKOUT, recipe
from netgroupd.lab.machine import Machine
from netgroupd.lab.user_mode import MEMORY
from netgroupd.lab.ways import pc_image, user_mode_image

RESULTS = Path(__file__).parent / "results"
_OUT = "/tmp/bench-out"
_MAPS = Path("/proc/sys/vm/max_map_count")
_QUICK_LIMIT_S = 420.0
_QUICK_MEMORY_MIB = 3072
_GOING_S = 60.0


class Bench(NamedTuple):
    """One script of this directory: where it runs, and how much it may take."""

    name: str
    kernels: tuple[str, ...] = ("stock", "patched")
    memory_mib: int = 4096
    limit_s: float = 3600.0
    programs: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ((),)  # arguments; each has a guest of its own, and loses its own figures only


def each(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The arguments for one table of a bench after the other."""
    return tuple(("--only", name) for name in names)


BENCHES = (
    Bench("config", ()),
    Bench("plan", ()),
    Bench("native", ()),
    Bench("groups", ("bare", "stock", "patched"), 6144, 7200),
    Bench("dumps"),
    Bench("memory", memory_mib=6144),
    Bench("links"),
    Bench("apply", memory_mib=8192, limit_s=7200, parts=each(apply.NAMES)),
    Bench("aliases", memory_mib=6144, programs=("iperf3",)),
    Bench("tc", memory_mib=12288, limit_s=7200),
    Bench("l3mdev", ("flat", "stock", "patched")),
    Bench("kernel_groups", memory_mib=6144),
    Bench("kernel_scale", memory_mib=6144),
    Bench("packets"),
    Bench("stacks", memory_mib=18432, limit_s=14400, parts=each(stacks.NAMES)),
    Bench("peers", ("counting",), 8192, 28800, tuple(program.name for program in ALL if program.name != "iperf3")),
)


class Ask(NamedTuple):
    """How to run the benches: at small sizes, with a clock that counts instructions, in kernels that are processes."""

    quick: bool = False
    counted: bool = False
    process: bool = False

    @property
    def suffix(self) -> str:
        """What the name of the results ends with: their figures are not for comparing with others."""
        return "-process" * self.process + "-counted" * self.counted


def on_host(bench: Bench, quick: bool, directory: Path) -> None:
    """Run a bench that needs no kernel of ours."""
    argv = [sys.executable, "-m", f"bench.{bench.name}", "--out", str(directory)]
    limit_s = _QUICK_LIMIT_S if quick else bench.limit_s
    subprocess.run(argv + ["--quick"] * quick, cwd=CHECKOUT, check=True, timeout=limit_s)


def in_guest(bench: Bench, kernel: str, ask: Ask, directory: Path, part: Sequence[str] = ()) -> None:
    """Run a bench, or a part of it, in a fresh guest and bring its figures back."""
    memory_mib = min(bench.memory_mib, _QUICK_MEMORY_MIB) if ask.quick else bench.memory_mib
    guest = Guest(CHECKOUT, cpus=1 if ask.process else 2, memory_mib=memory_mib, counted=ask.counted)
    limit_s = _QUICK_LIMIT_S if ask.quick else bench.limit_s
    argv = [sys.executable, "-m", f"bench.{bench.name}", "--out", _OUT, *part, *["--quick"] * ask.quick]
    image = user_mode_image(kernel, guest) if ask.process else pc_image(kernel, guest)
    if not image:
        raise LabError(f"no kernel runs as a process of this host, or {memory_mib} MiB in {MEMORY} are not free")
    with Machine(guest, image, lifetime_s=limit_s + 2 * _GOING_S) as machine:
        try:
            result = machine.run(argv, timeout_s=limit_s, cwd=CHECKOUT)
        finally:
            bring(machine, directory)
    print(result.stdout, result.stderr, sep="", flush=True)
    if result.status:
        raise LabError(f"exited with {result.status}: {result.stderr.strip().splitlines()[-1:]}")


def bring(machine: Machine, directory: Path) -> None:
    """Bring back what a bench has written, were it to fail half way."""
    with suppress(LabError):
        for name in machine.run(["ls", _OUT], timeout_s=_GOING_S).stdout.split():
            (directory / name).write_bytes(machine.get(f"{_OUT}/{name}"))


def run_one(bench: Bench, ask: Ask, results: Path) -> Iterator[str]:
    """Run one bench on each of its kernels; yield what went wrong."""
    yield from fetch(bench.programs, quick=ask.quick)
    for kernel in (bench.kernels[-1:] if ask.quick else bench.kernels) or ("host",):
        print(f"bench: {bench.name} on {kernel}", flush=True)
        directory = results / kernel
        directory.mkdir(parents=True, exist_ok=True)
        failure = directory / f"{bench.name}.failed"
        failure.unlink(missing_ok=True)
        start = time.monotonic()
        for part in ((),) if ask.quick else bench.parts:
            try:
                if bench.kernels:
                    in_guest(bench, kernel, ask, directory, part)
                else:
                    on_host(bench, ask.quick, directory)
            except (LabError, subprocess.SubprocessError) as error:
                told = ": ".join(filter(None, (" ".join(part), str(error))))
                failure.write_text(f"{told}\n")
                yield f"{bench.name} on {kernel}: {told}"
        print(f"bench: {bench.name} on {kernel} took {time.monotonic() - start:.0f} s", flush=True)


def short_of_maps(chosen: Sequence[Bench]) -> str:
    """What the host must be told first: each page of a program in a kernel that is a process may take a map of it."""
    most = max((bench.memory_mib for bench in chosen if bench.kernels), default=0) * (1 << 20) // resource.getpagesize()
    if int(_MAPS.read_text()) >= most:
        return ""
    return f"--process takes a map of this host for each page of a guest: sysctl vm.max_map_count={most}"


def picture(file: Path, table: dict[str, Any]) -> str:
    """Draw a table beside its figures; the line that shows it, or nothing where it cannot be drawn."""
    if not (drawn := svg(table)):
        return ""
    target = file.with_suffix(".svg")
    target.write_text(drawn)
    if converter := shutil.which("rsvg-convert"):
        subprocess.run((converter, "-o", file.with_suffix(".png"), target), check=True)
    return f"![{table['title']}]({file.parent.name}/{target.name})\n"


def page(results: Path) -> str:
    """Every table that was written, with its plot, as one page."""
    parts = [f"# {results.name}\n"]
    for failure in sorted(results.glob("*/*.failed")):
        reason = failure.read_text().splitlines()[0]
        parts.append(f"**{failure.stem} did not finish on {failure.parent.name}**: {reason}\n")
    for file in sorted(results.glob("*/*.json")):
        table = json.loads(file.read_text())
        where = table["environment"]
        parts.append(f"## {table['title']} ({file.parent.name})\n\n{table['markdown'].partition(chr(10))[2].strip()}\n")
        parts.append(f"{where['kernel']}, {where['processor']}, Python {where['python']}, {where['commit']}\n")
        parts.append(picture(file, table))
    return "\n".join(filter(None, parts))


def main() -> int:
    """Run what was asked for; say at the end what failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: minutes instead of hours")
    guests = parser.add_mutually_exclusive_group()
    guests.add_argument("--counted", action="store_true", help="a clock that counts instructions, for a busy machine")
    guests.add_argument("--process", action="store_true", help="kernels as processes: an hour or two without KVM")
    parser.add_argument("--into", type=Path, metavar="DIR", help="an earlier day's results, to go on with")
    names = [bench.name for bench in BENCHES]
    parser.add_argument("names", nargs="*", choices=[[], *names], metavar="NAME", help=", ".join(names))
    options = parser.parse_args()
    ask = Ask(options.quick, options.counted, options.process)
    today = f"{time.strftime('%Y-%m-%d')}-{recipe('stock').version.partition('-')[0]}{ask.suffix}"
    results = options.into or RESULTS / today
    chosen = [bench for bench in BENCHES if not options.names or bench.name in options.names]
    if ask.process and not ask.quick and (short := short_of_maps(chosen)):
        parser.error(short)
    failed = [failure for bench in chosen for failure in run_one(bench, ask, results)]
    results.mkdir(parents=True, exist_ok=True)
    (results / "README.md").write_text(page(results))
    print(f"bench: the tables and plots are in {results}")
    for failure in failed:
        print(f"bench: {failure}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
