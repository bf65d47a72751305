# SPDX-License-Identifier: GPL-2.0-or-later
"""The tools people use today on one stack: from nothing, nothing to do, one VLAN added, remove all.

Each tool runs in network, mount and process namespaces of its own, so that what
it leaves behind is gone with them.  A phase is finished when the kernel has what
the configuration says, whatever the tool's exit code; its cell says so where that
is not reached in time.  The second table has the counts that no noise disturbs,
of the same run.  Run it in the lab, on the kernel that counts system calls and is
stock in everything else:
``python -m netgroupd.lab run --kernel counting --memory 8G --timeout 14400 -- python -m bench.peers``;
with ``--vlans N`` for so many VLANs on six ports alone, and with ``--limit S`` for
phases that are ended after so many seconds.
"""

import argparse
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.costs import MONITOR, Costs, Meter
from bench.harness import Cell, Table, count, run
from bench.peer_files import Size
from bench.peer_tools import PHASES, PLACE, TOOLS, Job, Phase, Tool

_SIZES = (Size(10, 6), Size(100, 6), Size(1000, 6), Size(4000, 15))
_LIMIT_S, _QUICK_LIMIT_S = 300.0, 60.0
_POLL_S = 0.2
_COUNTS = ("netlink messages sent", "system calls", "bytes received by netlink", "processes and threads started")
_NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--")


class UnfinishedError(Exception):
    """The kernel does not have what the configuration says; the message is for the cell."""


def ports_in_bridges() -> int:
    """How much of the stack the kernel has."""
    return sum(len(list((bridge / "brif").iterdir())) for bridge in Path("/sys/class/net").glob("br*"))


def left_over() -> int:
    """Links that should be gone."""
    return sum(
        name.startswith("br") or "." in name for name in (path.name for path in Path("/sys/class/net").iterdir())
    )


def configured(size: Size) -> bool:
    """Whether networkd has finished every link; the last ones are looked at first, since they are the last to be."""
    others = {str(socket.if_nametoindex(name)) for name in ("lo", MONITOR)}
    files = [file for file in Path("/run/systemd/netif/links").glob("*") if file.name not in others]
    files.sort(key=lambda file: int(file.name) if file.name.isdecimal() else 0, reverse=True)
    return len(files) >= size.links + size.ports and all("ADMIN_STATE=configured" in told(file) for file in files)


def told(file: Path) -> str:
    """What networkd says of a link; nothing where it is just writing that anew."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def check(phase: Phase, size: Size) -> None:
    """See whether the kernel has what it should.

    Raises:
        UnfinishedError: It does not.
    """
    if phase is Phase.REMOVE:
        if left := left_over():
            raise UnfinishedError(f"left {left:,} of {size.links:,} links")
    elif (found := ports_in_bridges()) != size.vlans * size.ports:
        raise UnfinishedError(f"{found:,} of {size.vlans * size.ports:,} ports in bridges")


def watch(daemon: subprocess.Popen[bytes], phase: Phase, size: Size, limit_s: float) -> None:
    """Wait until a daemon has finished, and end it."""
    deadline = time.monotonic() + limit_s
    try:
        while ports_in_bridges() < size.vlans * size.ports or not configured(size):
            if time.monotonic() > deadline or daemon.poll() is not None:
                check(phase, size)
                raise UnfinishedError(f"not every link configured after {limit_s:,.0f} s")
            time.sleep(_POLL_S)
    finally:
        daemon.terminate()
        daemon.wait()


def perform(job: Job, phase: Phase, size: Size, limit_s: float) -> float:
    """Run one job to its end; seconds.

    Raises:
        UnfinishedError: It does not do what it should in this time.
    """
    start = time.perf_counter()
    with (PLACE / "messages").open("wb") as messages:
        process = subprocess.Popen(job.argv, env=job.environment, stdout=messages, stderr=messages)
        if job.daemon:
            watch(process, phase, size, limit_s)
        else:
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise UnfinishedError(f"not finished after {limit_s:,.0f} s") from None
    took = time.perf_counter() - start
    try:
        check(phase, size)
    except UnfinishedError:
        sys.stderr.write((PLACE / "messages").read_text(errors="replace")[-2000:])
        raise
    return took


def phases(tool: Tool, size: Size, limit_s: float) -> Iterator[dict[str, Any]]:
    """Take the stack up and down by one tool, in namespaces of our own; stop where it does not get there."""
    tool.prepare()
    meter = Meter()
    for port in range(size.ports):
        subprocess.run(("ip", "link", "add", f"p{port}", "up", "type", "dummy"), check=True)
    grown = size._replace(vlans=size.vlans + 1)
    for phase in PHASES:
        goal = size if phase in (Phase.CREATE, Phase.NOTHING) else grown
        job = tool.job(phase, goal)
        if not job.argv:
            yield {"note": job.note}
            continue
        meter.start()
        try:
            took = perform(job, phase, goal, limit_s)
        except UnfinishedError as error:
            yield {"note": str(error)}
            return
        yield {"seconds": took, "costs": meter.costs()}


def child(arguments: Sequence[str]) -> None:
    """Be the process in the namespaces: one line of JSON for each phase."""
    name, vlans, ports, limit_s = arguments
    tool = next(tool for tool in TOOLS if tool.name == name)
    for result in phases(tool, Size(int(vlans), int(ports)), float(limit_s)):
        print(json.dumps(result), flush=True)
        print(f"  {tool.name}: {json.dumps(result)}", file=sys.stderr, flush=True)


def results(tool: Tool, size: Size, limit_s: float) -> list[dict[str, Any]]:
    """Run one tool in its namespaces; one result for each phase that it reached."""
    if why := tool.missing():
        return [{"note": why}]
    told = (tool.name, str(size.vlans), str(size.ports), str(limit_s))
    argv = (*_NAMESPACES, sys.executable, "-m", "bench.peers", "--child", *told)
    got = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    found = [json.loads(line) for line in got.stdout.splitlines()]
    return found if got.returncode == 0 else [*found, {"note": f"the bench itself failed with {got.returncode}"}]


def times(found: list[dict[str, Any]]) -> tuple[Cell, ...]:
    """One row of the first table."""
    cells = [Cell((one["seconds"],)) if "seconds" in one else Cell(note=one["note"]) for one in found]
    return (*cells, *[Cell(note="not reached")] * (len(PHASES) - len(cells)))


def counts(tool: Tool, found: list[dict[str, Any]]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """The rows of the second table for one tool."""
    for phase, one in zip(PHASES, found, strict=False):
        if "costs" in one:
            costs = Costs(*one["costs"])
            calls = count(costs.syscalls) if costs.syscalls else Cell(note="not counted by this kernel")
            yield f"{tool.name}, {phase}", (count(costs.messages), calls, count(costs.received), count(costs.started))
        else:
            yield f"{tool.name}, {phase}", (Cell(note=one["note"]), *[Cell()] * (len(_COUNTS) - 1))


def tables(size: Size, limit_s: float, slow: set[str]) -> Iterator[Table]:
    """Every tool on a stack of one size; those that do not finish are added to ``slow``."""
    rows: dict[str, tuple[Cell, ...]] = {}
    counted: dict[str, tuple[Cell, ...]] = {}
    for tool in TOOLS:
        if tool.name in slow:
            found = [{"note": "not finished at the size below"}]
        else:
            print(f"{size}: {tool.name}", file=sys.stderr, flush=True)
            found = results(tool, size, limit_s)
        rows[tool.name] = times(found)
        counted |= counts(tool, found)
        if rows[tool.name][0].median is None:
            slow.add(tool.name)
    title = f"The tools people use today: {size}, {size.links:,} links"
    name = f"peers-{size.links}"
    yield Table(name, title, tuple(map(str, PHASES)), rows, f"each phase within {limit_s:,.0f} s")
    yield Table(f"{name}-counts", f"What that took: {size}", _COUNTS, counted)


def measure(quick: bool, vlans: int = 0, limit_s: float = 0) -> Iterator[Table]:
    """Grow the stack tenfold each time, or have that of ``vlans`` alone."""
    slow: set[str] = set()
    limit_s = limit_s or (_QUICK_LIMIT_S if quick else _LIMIT_S)
    for size in (Size(vlans, 6),) if vlans else _SIZES[:1] if quick else _SIZES:
        yield from tables(size, limit_s, slow)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--child", nargs=4)
    parser.add_argument("--vlans", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0)
    known, rest = parser.parse_known_args()
    if known.child:
        child(known.child)
    else:
        run(partial(measure, vlans=known.vlans, limit_s=known.limit), rest)
