# SPDX-License-Identifier: GPL-2.0-or-later
"""The slides' four stacks from the shipped templates: every stage timed, kernel and daemon weighed.

Full size on the patched kernel with lightweight devices; on a stock kernel the
VLANs are cut down to what it does in minutes, and the table says so.  Run it in the lab:
``python -m netgroupd.lab run --memory 18G --timeout 14400 -- python -m bench.stacks``,
with ``--only NAME`` for one of them and ``--vlans N`` for a part.  Each figure is
also told on standard error when it is there.
"""

import argparse
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import Cell, Table, count, peak_memory_mib, run
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.engine.report import Result
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Op

STACKS = Path(__file__).parent.parent / "templates" / "stacks"
NAMES = ("vlan-filtering-bridge", "traditional-bridge", "vxlan-gateway", "vrf-per-vlan")
_PORTS = "links:\n  swp[1-128]: {kind: dummy}\n"
_LIGHT = "groups:\n  netgroupd: {lightweight: true}\n"
_LAYER_2 = "groups:\n  netgroupd: {lightweight: true, l2only: true}\n"
_BRIDGED = {  # IP ends elsewhere, or at the macvlans alone: no other link of these needs it
    "vxlan-gateway": _LAYER_2,
    "traditional-bridge": _LAYER_2 + "  gateways: {lightweight: true}\nlinks:\n  gw-[1-4094]: {group: gateways}\n",
}
_WHOLE = 4094
_STOCK_VLANS = dict.fromkeys(NAMES, 100) | {"vlan-filtering-bridge": 400}  # the others take it the square of the links
_QUICK_VLANS = 10
_MIB = 1024

Figures = dict[str, float]


class Watched(Kernels):
    """A kernel that notes when it is read and when it is changed."""

    def __init__(self, netns: str | None, times: list[tuple[str, float, float]]) -> None:
        super().__init__(netns)
        self._times = times

    @contextmanager
    def _noted(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._times.append((what, start, time.perf_counter()))

    def dump(self, selection: Selection) -> State:
        """As the kernel's."""
        with self._noted("read"):
            return super().dump(selection)

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        """As the kernel's."""
        with self._noted("send"):
            return super().apply(steps, progress)


def cut(text: str, vlans: int) -> str:
    """The stack with fewer VLANs and, in proportion, fewer VXLANs."""
    if vlans == _WHOLE:
        return text
    shorter = re.sub(r"4094", str(vlans), text)
    return shorter.replace("1884", str(vlans * 1884 // _WHOLE + 2)).replace("895", str(vlans * 895 // _WHOLE + 1))


def kernel_mib() -> float:
    """Memory in use that is no program's: what the kernel took."""
    fields = dict(row.split(":") for row in Path("/proc/meminfo").read_text().splitlines())
    used = ("MemTotal", -1), ("MemFree", 1), ("Cached", 1), ("Buffers", 1), ("AnonPages", 1)
    return -sum(sign * int(fields[name].split()[0]) for name, sign in used) / _MIB


def in_child(stage: Callable[[], Figures]) -> Figures:
    """Run a stage in a process of its own; what it tells, the seconds, and the most memory it held in MiB."""
    read, write = os.pipe()
    start = time.perf_counter()
    if (pid := os.fork()) == 0:
        status = 1
        try:
            told = stage()
            os.write(write, json.dumps({**told, "memory": peak_memory_mib()}).encode())
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    answer = os.read(read, 4096)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    assert status == 0, "the stage failed"
    figures: Figures = json.loads(answer)
    return {**figures, "took": time.perf_counter() - start}


def phases(change: Callable[[Engine], Result], paths: Paths) -> Figures:
    """Change the host; how long each part of it took, and what the plan was."""
    times: list[tuple[str, float, float]] = []
    engine = Engine(paths, connect=lambda netns: Watched(netns, times))
    start = time.perf_counter()
    plan = change(engine).plan
    end = time.perf_counter()
    told: Figures = {"messages": len(plan.steps), "objects": 0, "links": 0}
    for step in singles(plan.steps):
        if step.op is Op.CREATE:
            told["objects"] += 1
            told["links"] += step.object.cls == "link"
    sent = [(first, last) for what, first, last in times if what == "send"]
    if not sent:
        return told
    reads = [(first, last) for what, first, last in times if what == "read" and last <= sent[0][0]]
    told["expanded"] = reads[1][0] - reads[0][1]  # the names of links are known by then
    told["read"] = sum(last - first for first, last in reads)
    told["planned"] = sent[0][0] - start - told["expanded"] - told["read"]
    told["sent"] = sum(last - first for first, last in sent)
    told["verified"] = end - sent[-1][1]
    return told


def stages(directory: Path, text: str, weights: str) -> Iterator[tuple[str, Cell]]:
    """Take one stack up and down; ``weights`` says what its links weigh."""
    config, state = directory / "etc", directory / "state"
    config.mkdir()
    (config / "10-ports.yaml").write_text(_PORTS)
    (config / "30-weights.yaml").write_text(weights)
    stack = config / "20-stack.yaml"
    stack.write_text(text)
    paths = Paths((config,), state, directory / "group")
    before = kernel_mib()
    made = in_child(lambda: phases(Engine.apply, paths))
    yield from ((name, count(made[name])) for name in ("links", "objects", "messages"))
    yield "read and expand", Cell((made["expanded"],))
    yield "read the kernel", Cell((made["read"],))
    yield "compare, plan, journal", Cell((made["planned"],))
    yield "make and send messages", Cell((made["sent"],))
    yield "verify", Cell((made["verified"],))
    yield "from files to verified", Cell((made["took"],))
    yield "kernel memory", count(kernel_mib() - before, "MiB")
    yield "netgroupd's memory", count(made["memory"], "MiB")
    yield "per link", count(made["memory"] * _MIB / made["links"], "KiB")
    yield "no-op reload", Cell((in_child(lambda: phases(Engine.apply, paths))["took"],))
    one_more = "  bonus.[v=1-2]: {up: true}\n  bonus: {kind: dummy, up: true}\n"
    stack.write_text(text.replace("links:\n", "links:\n" + one_more, 1))
    yield "one VLAN more", Cell((in_child(lambda: phases(Engine.apply, paths))["took"],))
    gone = in_child(lambda: phases(lambda engine: engine.rollback(0), paths))
    yield "remove all: make and send messages", Cell((gone["sent"],))
    yield "remove all", Cell((gone["took"],))


def measure(quick: bool, names: Sequence[str] = NAMES, vlans: int = 0) -> Iterator[Table]:
    """One table for each stack, again after each stage, should the next take too long."""
    with Kernels() as kernel:
        light = kernel.features.light
    for name in names:
        size = vlans or (_QUICK_VLANS if quick else _WHOLE if light else _STOCK_VLANS[name])
        sizes = "whole" if size == _WHOLE else f"with {size:,} of 4,094 VLANs"
        rows: dict[str, tuple[Cell, ...]] = {}
        kind = "lightweight devices" if light else "a stock kernel's devices"
        kind += ", for layer 2 only where no address is due" * (light and name in _BRIDGED)
        title = f"Slides, stacks, {sizes}, {kind}"
        weights = cut(_BRIDGED.get(name, _LIGHT), size) if light else ""
        text = cut((STACKS / f"{name}.yaml").read_text(), size)
        with TemporaryDirectory() as directory:
            for stage, cell in stages(Path(directory), text, weights):
                print(f"{name}: {stage}: {cell}", file=sys.stderr, flush=True)
                rows[stage] = (cell,)
                yield Table(f"stacks-{name}", title, (name,), rows, "nobody has shown it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--vlans", type=int, default=0)
    known, rest = parser.parse_known_args()
    run(partial(measure, names=(known.only,) if known.only else NAMES, vlans=known.vlans), rest)
