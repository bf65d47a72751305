# SPDX-License-Identifier: GPL-2.0-or-later
"""From two states to a plan and its folded text, at sizes that show whether it is linear.

``from nothing`` plans a host that has none of it, ``nothing to do`` one that has
all of it, ``delete all`` one that shall have none of it.
"""

import gc
import time
from collections.abc import Callable, Iterator

from bench.config import plain
from bench.harness import Cell, Table, count, run
from netgroupd.config import desired_from
from netgroupd.config.known import Known
from netgroupd.model.collector import uncollected
from netgroupd.model.state import State
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Plan

SIZES = (1_000, 10_000, 100_000, 500_000)
RUNS = 5
STACK = """\
groups: {{tenants: {{mtu: 9000, up: true}}}}
links:
  swp[1-{ports}]: {{kind: dummy, up: true, mtu: 9216}}
  br[v=1-{vlans}]:
    kind: bridge
    ports: swp[1-{ports}].{{v}}
    group: tenants
    addresses: ["10.{{v//256}}.{{v%256}}.1/24"]
"""


def stack(objects: int) -> State:
    """Bridges over VLANs of some ports: about so many objects."""
    ports = max(6, objects // 4096)
    return desired_from([plain(STACK.format(ports=ports, vlans=objects // (ports + 2)))], Known()).state


def planned(desired: State, actual: State, runs: int) -> tuple[Cell, Plan]:
    """Plan so many times, without a collector as the engine does."""
    times = []
    plan = Plan()
    for _ in range(runs):
        gc.collect()
        with uncollected():
            start = time.perf_counter()
            plan = assemble(desired, actual, Owned())
            times.append(time.perf_counter() - start)
    return Cell(tuple(times)), plan


def told(action: Callable[[], object]) -> Cell:
    """How long one presentation takes."""
    start = time.perf_counter()
    action()
    return Cell((time.perf_counter() - start,))


def measure(quick: bool) -> Iterator[Table]:
    """Make the table."""
    rows: dict[str, tuple[Cell, ...]] = {}
    for size in SIZES[: 3 if quick else 4]:
        desired = stack(size)
        empty, full = State(groups=desired.groups), State(list(desired))
        cases = {"from nothing": (desired, empty), "nothing to do": (desired, full), "delete all": (empty, full)}
        for name, (want, have) in cases.items():
            cell, plan = planned(want, have, 1 if quick else RUNS)
            each = Cell(tuple(1e6 * run_s / len(desired) for run_s in cell.runs), "µs")
            text = told(lambda plan=plan: present.text(plan))  # type: ignore[misc]
            rows[f"{name}, {size:,}"] = (count(len(plan.steps)), cell, each, text)
    columns = ("messages", "plan", "for each object", "as text")
    yield Table("plan", "Planning a stack of bridges and VLANs", columns, rows, "500,000 steps in 15 s, linear")


if __name__ == "__main__":
    run(measure)
