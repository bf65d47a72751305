# SPDX-License-Identifier: GPL-2.0-or-later
"""The slides' memory table: what one device costs, by kind, whole, lightweight and L2 only; and the stacking cases.

Bytes are what the kernel's free memory shrank by, so slabs, pages and per-CPU
memory are all in it.  Run it in the lab:
``python -m netgroupd.lab run --memory 6G -- python -m bench.memory``.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Cell, Table, count, run, seconds
from bench.links import encoded, send_blind
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
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
_RUNS = 3
_SETTLE_S = 1.0
_SETTLED = 1 << 16


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


def packets(kernel: Kernel, kind: str, weight: Attrs, numbers: range) -> list[bytes]:
    """The messages that make devices of a kind, laid out beforehand, so that what they take is the kernel's alone."""
    links = (device(kind, number, weight) for number in numbers)
    return encoded([Step(Op.CREATE, None, link, link.attrs) for link in links], kernel.names)


def size(kernel: Kernel, kind: str, weight: Attrs, numbers: range) -> float:
    """The bytes that each device of a kind takes."""
    ready = packets(kernel, kind, weight, numbers)
    before = used()
    send_blind(ready)
    return (used() - before) / len(numbers)


def creation(kernel: Kernel, kind: str, weight: Attrs, devices: int) -> float:
    """The microseconds that it takes to make each of some devices.

    There are no others: the kernel finds room for per-CPU counters by walking what is left between those there are.
    """
    ready = packets(kernel, kind, weight, range(devices))
    took = seconds(lambda: send_blind(ready), runs=_RUNS, prepare=lambda: _delete(kernel)).median
    _delete(kernel)
    return 1e6 * (took or 0) / devices


def _delete(kernel: Kernel) -> None:
    kernel.apply([GroupStep(Op.DELETE, GROUP, {}, ())])
    time.sleep(_SETTLE_S)


def measure(quick: bool) -> Iterator[Table]:
    """Measure each kind, then add up the stacks."""
    devices = 200 if quick else 2000
    sizes: dict[tuple[str, str], float] = {}
    with Kernel() as kernel:
        kernel.dump(Selection(links=frozenset({"lo"})))
        lows = [Object("link", (f"low{k}",), {"kind": "dummy"}) for k in range(2)]  # each takes 4000
        kernel.apply([Step(Op.CREATE, None, low, low.attrs) for low in lows])
        weights = WEIGHTS if kernel.features.light else {"whole": WEIGHTS["whole"]}
        # The first time fills caches that stay.  All stay until the end: nothing is made in what others left.
        first, *spans = (range(k * devices, (k + 1) * devices) for k in range(len(weights) + 1))
        size(kernel, "dummy", {}, first)
        for kind in KINDS:
            for (name, weight), numbers in zip(weights.items(), spans, strict=True):
                sizes[kind, name] = size(kernel, kind, weight, numbers)
        took = {(kind, w): creation(kernel, kind, weights[w], devices) for kind in KINDS for w in weights}
    absent = Cell(note="needs the patched kernel")
    rows = {kind: tuple(count(sizes[kind, w], "B") if w in weights else absent for w in WEIGHTS) for kind in KINDS}
    goal = "43,944 on the slides → lightweight ≤ 13,000 → L2 only ≤ 5,000"
    yield Table("memory", f"Slides, memory: bytes per device, {devices} of each", tuple(WEIGHTS), rows, goal)
    rows = {kind: tuple(count(took[kind, w], "µs") if w in weights else absent for w in WEIGHTS) for kind in KINDS}
    yield Table("creation", "Creating one device", tuple(WEIGHTS), rows, "lightweight ≥ 4 × cheaper")
    yield Table(
        "stacking",
        "Slides, stacking cases",
        ("netdevs", *weights),
        dict(stacks(sizes, tuple(weights))),
        "the slides count 11,354, 352 and 22,089 MB for the first three",
    )


def stacks(sizes: dict[tuple[str, str], float], weights: tuple[str, ...]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """What the slides' stacks take, from the cost of each kind."""
    for name, kinds in STACKS.items():
        bytes_ = (sum(sizes[kind, weight] * number for kind, number in kinds.items()) for weight in weights)
        yield name, (count(sum(kinds.values())), *(count(each / 1e6, "MB") for each in bytes_))


if __name__ == "__main__":
    run(measure)
