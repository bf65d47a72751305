# SPDX-License-Identifier: GPL-2.0-or-later
"""The slides' memory table: what one device costs, by kind, whole, lightweight and L2 only; and the stacking cases.

Bytes are what the kernel's free memory shrank by, so slabs, pages and per-CPU
memory are all in it.  Run it in the lab:
``python -m netgroupd.lab run --memory 6G -- python -m bench.memory``.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.harness import Cell, Table, count, run
from bench.links import encoded, send_blind
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.request import Selection
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.step import GroupStep, Op, Step

GROUP = 0x4D
WEIGHTS: dict[str, Attrs] = {
    "whole": {},
    "lightweight": {"lightweight": True},
    "L2 only": {"lightweight": True, "l2only": True},
}
KINDS = ("dummy", "vlan", "bridge", "macvlan", "vxlan", "bond", "vrf")
STACKS = {
    "traditional bridge": {"dummy": 128, "bond": 64, "vlan": 64 * 4094, "bridge": 4094, "macvlan": 4094},
    "vlan filtering bridge": {"dummy": 128, "bond": 64, "bridge": 1, "vlan": 4094, "macvlan": 4094},
    "vxlan gateway": {"dummy": 128, "vlan": 128 * 4094, "bridge": 1, "vxlan": 2000},
    "VRFs with VLANs": {"dummy": 128, "vlan": 128 * 4094, "vrf": 4094},
}
_SETTLE_S = 1.0
_SETTLED = 1 << 16


class Cost(NamedTuple):
    """What one device of a kind took."""

    size: float
    seconds: float


def used() -> int:
    """The bytes that are not free, once the kernel has tidied up: its workers go on for a while."""
    last, now = 0, _not_free()
    while abs(now - last) > _SETTLED:
        last, now = now, _not_free()
    return now


def _not_free() -> int:
    Path("/proc/sys/vm/drop_caches").write_text("3")
    time.sleep(_SETTLE_S)
    fields = dict(row.split(":") for row in Path("/proc/meminfo").read_text().splitlines())
    return -int(fields["MemFree"].split()[0]) * 1024


def device(kind: str, number: int, weight: Attrs) -> Object:
    """The ``number``-th device of a kind; every lower link takes up to 4000 VLANs."""
    attrs: dict[str, object] = {"kind": kind, "group": GROUP, **weight}
    if kind in ("vlan", "macvlan"):
        attrs["link"] = f"low{number // 4000}"
    if kind == "vlan":
        attrs["id"] = number % 4000 + 1
    if kind == "vxlan":
        attrs |= {"id": number + 1, "port": 4789}
    if kind == "vrf":
        attrs["table"] = 1000 + number
    return Object("link", (f"{kind[:4]}{number}",), attrs)  # type: ignore[arg-type]


def cost(kernel: Kernel, kind: str, weight: Attrs, numbers: range) -> Cost:
    """Have the kernel create devices of a kind, and see what they took."""
    steps = [Step(Op.CREATE, None, link, link.attrs) for link in (device(kind, n, weight) for n in numbers)]
    packets = encoded(steps, kernel.names)  # beforehand, for the time is to be the kernel's alone
    before, start = used(), time.perf_counter()
    send_blind(packets)
    took = time.perf_counter() - start
    return Cost((used() - before) / len(numbers), took / len(numbers))


def measure(quick: bool) -> Iterator[Table]:
    """Measure each kind, then add up the stacks."""
    devices = 200 if quick else 2000
    costs: dict[tuple[str, str], Cost] = {}
    with Kernel() as kernel:
        kernel.dump(Selection(links=frozenset({"lo"})))
        lows = [Object("link", (f"low{k}",), {"kind": "dummy"}) for k in range(2)]  # each takes 4000
        kernel.apply([Step(Op.CREATE, None, low, low.attrs) for low in lows])
        weights = WEIGHTS if kernel.features.light else {"whole": WEIGHTS["whole"]}
        # The first time fills caches that stay.  All stay until the end: nothing is made in what others left.
        first, *spans = (range(k * devices, (k + 1) * devices) for k in range(len(weights) + 1))
        cost(kernel, "dummy", {}, first)
        for kind in KINDS:
            for (name, weight), numbers in zip(weights.items(), spans, strict=True):
                costs[kind, name] = cost(kernel, kind, weight, numbers)
        kernel.apply([GroupStep(Op.DELETE, GROUP, {}, ())])
    absent = Cell(note="needs the patched kernel")
    rows = {kind: tuple(count(costs[kind, w].size, "B") if w in weights else absent for w in WEIGHTS) for kind in KINDS}
    goal = "43,944 on the slides → lightweight ≤ 13,000 → L2 only ≤ 5,000"
    yield Table("memory", f"Slides, memory: bytes per device, {devices} of each", tuple(WEIGHTS), rows, goal)
    rows = {
        kind: tuple(count(costs[kind, w].seconds * 1e6, "µs") if w in weights else absent for w in WEIGHTS)
        for kind in KINDS
    }
    yield Table("creation", "Creating one device", tuple(WEIGHTS), rows, "lightweight ≥ 4 × cheaper")
    yield Table(
        "stacking",
        "Slides, stacking cases",
        ("netdevs", *weights),
        dict(stacks(costs, tuple(weights))),
        "the slides count 11,354, 352 and 22,089 MB for the first three",
    )


def stacks(costs: dict[tuple[str, str], Cost], weights: tuple[str, ...]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """What the slides' stacks take, from the cost of each kind."""
    for name, kinds in STACKS.items():
        sizes = (sum(costs[kind, weight].size * number for kind, number in kinds.items()) for weight in weights)
        yield name, (count(sum(kinds.values())), *(count(size / 1e6, "MB") for size in sizes))


if __name__ == "__main__":
    run(measure)
