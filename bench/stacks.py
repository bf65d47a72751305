# SPDX-License-Identifier: GPL-2.0-or-later
"""The slides' four stacks from the shipped templates: every stage timed, kernel and daemon weighed.

Full size on the patched kernel with lightweight devices; on a stock kernel the
VLANs are cut down to what memory holds, and the table says so.  Run it in the lab:
``python -m netgroupd.lab run --memory 18G --timeout 14400 -- python -m bench.stacks``,
with ``--only NAME`` for one of them.
"""

import argparse
import os
import re
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import Cell, Table, count, peak_memory_mib, run
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.kernel.kernel import Kernel

STACKS = Path(__file__).parent.parent / "templates" / "stacks"
NAMES = ("vlan-filtering-bridge", "traditional-bridge", "vxlan-gateway", "vrf-per-vlan")
_PORTS = "links:\n  swp[1-128]: {kind: dummy}\n"
_LIGHT = "groups:\n  netgroupd: {lightweight: true}\n"
_STOCK_VLANS = 400
_QUICK_VLANS = 10
_MIB = 1024


def cut(text: str, vlans: int) -> str:
    """The stack with fewer VLANs and, in proportion, fewer VXLANs."""
    shorter = re.sub(r"4094", str(vlans), text)
    return shorter.replace("1884", str(vlans * 1884 // 4094 + 2)).replace("895", str(vlans * 895 // 4094 + 1))


def kernel_mib() -> float:
    """Memory in use that is no program's: what the kernel took."""
    fields = dict(row.split(":") for row in Path("/proc/meminfo").read_text().splitlines())
    used = ("MemTotal", -1), ("MemFree", 1), ("Cached", 1), ("Buffers", 1), ("AnonPages", 1)
    return -sum(sign * int(fields[name].split()[0]) for name, sign in used) / _MIB


def in_child(stage: Callable[[], object]) -> tuple[float, float]:
    """Run a stage in a process of its own; seconds, and the most memory it held in MiB."""
    read, write = os.pipe()
    start = time.perf_counter()
    if (pid := os.fork()) == 0:
        status = 1
        try:
            stage()
            os.write(write, f"{peak_memory_mib()}".encode())
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    told = os.read(read, 100)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    assert status == 0, "the stage failed"
    return time.perf_counter() - start, float(told)


def stages(directory: Path, text: str, light: bool) -> Iterator[tuple[str, Cell]]:
    """Take one stack up and down."""
    config, state = directory / "etc", directory / "state"
    config.mkdir()
    (config / "10-ports.yaml").write_text(_PORTS + (_LIGHT if light else ""))
    stack = config / "20-stack.yaml"
    stack.write_text(text)
    engine = Engine(Paths((config,), state, directory / "group"))
    before = kernel_mib()
    links = 0

    def counted() -> None:
        os.write(number, str(len(engine.desired().of("link"))).encode())

    reading, number = os.pipe()
    took, memory = in_child(counted)
    links = int(os.read(reading, 20))
    yield "links", count(links)
    yield "read and expand", Cell((took,))
    for name, stage in (("diff from nothing", engine.diff), ("apply and verify", engine.apply)):
        took, most = in_child(stage)
        memory = max(memory, most)
        yield name, Cell((took,))
    yield "kernel memory", count(kernel_mib() - before, "MiB")
    yield "no-op reload", Cell((in_child(engine.apply)[0],))
    one_more = "  bonus.[v=1-2]: {up: true}\n  bonus: {kind: dummy, up: true}\n"
    stack.write_text(text.replace("links:\n", "links:\n" + one_more, 1))
    yield "one VLAN more", Cell((in_child(engine.apply)[0],))
    yield "remove all", Cell((in_child(lambda: engine.rollback(0))[0],))
    yield "netgroupd's memory", count(memory, "MiB")
    yield "per link", count(memory * _MIB / links, "KiB")


def measure(quick: bool, names: Sequence[str] = NAMES) -> Iterator[Table]:
    """One column for each stack; the table again after each, should the next be too large."""
    with Kernel() as kernel:
        light = kernel.features.light
    vlans = _QUICK_VLANS if quick else 4094 if light else _STOCK_VLANS
    columns: list[str] = []
    rows: dict[str, tuple[Cell, ...]] = {}
    for name in names:
        columns.append(name)
        with TemporaryDirectory() as directory:
            for stage, cell in stages(Path(directory), cut((STACKS / f"{name}.yaml").read_text(), vlans), light):
                rows[stage] = (*rows.get(stage, ()), cell)
        sizes = "whole" if vlans == 4094 else f"with {vlans} of 4,094 VLANs"
        kind = "lightweight devices" if light else "a stock kernel's devices"
        file = "stacks" if len(names) > 1 else f"stacks-{name}"
        yield Table(file, f"Slides, stacks, {sizes}, {kind}", tuple(columns), rows, "nobody has shown it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--only", choices=NAMES)
    known, rest = parser.parse_known_args()
    run(partial(measure, names=(known.only,)) if known.only else measure, rest)
