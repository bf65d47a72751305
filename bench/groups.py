# SPDX-License-Identifier: GPL-2.0-or-later
"""The first table of the paper on interface groups: the MTU of many interfaces, changed in each way there is.

Run it in the lab: ``python -m netgroupd.lab run --memory 6G -- python -m bench.groups``.
"""

import itertools
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from bench.harness import Cell, Table, ratio, run, seconds
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

SIZES = (128, 256, 512, 1024, 2048, 8192, 32768)
GROUP = 42
_MOST_PROCESSES = 2048
_RUNS = 5

Change = Callable[[int], object]


def ip(*arguments: str, stdin: str | None = None) -> None:
    """Run one ``ip``."""
    subprocess.run(("ip", *arguments), input=stdin, text=True, check=True)


def make_links(kernel: Kernel, first: int, last: int) -> None:
    """Create the dummies from ``first`` to below ``last`` as one batch."""
    attrs: Attrs = {"kind": "dummy", "group": GROUP}
    links = [Object("link", (f"d{number}",), attrs) for number in range(first, last)]
    refused = kernel.apply([Step(Op.CREATE, None, link, attrs) for link in links])
    assert not refused, refused[:1]


def one_process_each(size: int, mtu: int) -> None:
    """What the paper compares with: a shell that starts one ``ip`` after the other."""
    loop = f"n=0; while [ $n -lt {size} ]; do ip link set dev d$n mtu {mtu}; n=$((n + 1)); done"
    subprocess.run(("sh", "-ec", loop), check=True)


def ip_batch(size: int, mtu: int) -> None:
    """One process, a message and its acknowledgement each."""
    with NamedTemporaryFile("w") as file:
        file.writelines(f"link set dev d{number} mtu {mtu}\n" for number in range(size))
        file.flush()
        ip("-batch", file.name)


def single(kernel: Kernel, number: int, mtu: int) -> AnyStep:
    """The change of one link as a step."""
    before = Object("link", (f"d{number}",), {})
    return Step(Op.CHANGE, before, before, {"mtu": mtu})


def acknowledged(kernel: Kernel, size: int, mtu: int) -> None:
    """One socket, a message and its acknowledgement each."""
    for number in range(size):
        kernel.apply([single(kernel, number, mtu)])


def packed(kernel: Kernel, size: int, mtu: int) -> None:
    """One socket, many messages to a system call."""
    kernel.apply([single(kernel, number, mtu) for number in range(size)])


def by_group(kernel: Kernel, _size: int, mtu: int) -> None:
    """One message for all."""
    kernel.apply([GroupStep(Op.CHANGE, GROUP, {"mtu": mtu}, ())])


_mtus = itertools.cycle(range(1400, 1500))


def timed(kernel: Kernel, size: int, change: Change, runs: int) -> Cell:
    """Time ``change`` to another MTU each time, and see that the first and the last link have it."""
    mtu = 0

    def once() -> None:
        nonlocal mtu
        mtu = next(_mtus)
        change(mtu)

    cell = seconds(once, runs=runs)
    ends = frozenset({"d0", f"d{size - 1}"})
    got = kernel.dump(Selection(links=ends))
    assert {got.of("link")[name,].attrs["mtu"] for name in ends} == {mtu}
    return cell


def ways(kernel: Kernel, size: int) -> Iterator[tuple[str, Cell]]:
    """Every way at one size, with the figure of each."""
    few = size > _MOST_PROCESSES
    skipped = Cell(note=f"not run above {_MOST_PROCESSES}")
    yield (
        "`ip link set dev`, a process each",
        skipped if few else timed(kernel, size, lambda mtu: one_process_each(size, mtu), 1),
    )
    yield (
        "one socket, a message and answer each",
        timed(kernel, size, lambda mtu: acknowledged(kernel, size, mtu), _RUNS),
    )
    yield "`ip -batch`", timed(kernel, size, lambda mtu: ip_batch(size, mtu), _RUNS)
    yield "netgroupd, packed messages", timed(kernel, size, lambda mtu: packed(kernel, size, mtu), _RUNS)
    yield (
        "`ip link set group`",
        timed(kernel, size, lambda mtu: ip("link", "set", "group", str(GROUP), "mtu", str(mtu)), _RUNS),
    )
    yield "netgroupd, one group message", timed(kernel, size, lambda mtu: by_group(kernel, size, mtu), _RUNS)


def measure(quick: bool) -> Iterator[Table]:
    """Grow the group from size to size and change it in each way."""
    rows: dict[str, list[Cell]] = {}
    with Kernel() as kernel:
        kernel.dump(Selection(links=frozenset({"lo"})))
        done: tuple[int, ...] = ()
        for size in SIZES[:2] if quick else SIZES:
            make_links(kernel, max(done, default=0), size)
            done += (size,)
            figures = dict(ways(kernel, size))
            slowest, fastest = figures["`ip link set dev`, a process each"], figures["netgroupd, one group message"]
            figures["processes each ÷ one group message"] = ratio(slowest, fastest)
            figures["`ip link set group` ÷ ours"] = ratio(figures["`ip link set group`"], fastest)
            for name, cell in figures.items():
                rows.setdefault(name, []).append(cell)
            yield table(done, {name: tuple(cells) for name, cells in rows.items()})


def table(sizes: Sequence[int], rows: dict[str, tuple[Cell, ...]]) -> Table:
    """The figures of the sizes that are done."""
    title = f"Groups paper, table I: changing the MTU, sysfs {'on' if Path('/sys/class/net').is_dir() else 'off'}"
    goal = "at 2,048 links ≥ 65 × a process each, and no slower than `ip link set group`"
    return Table("groups", title, tuple(f"{size} links" for size in sizes), rows, goal)


if __name__ == "__main__":
    run(measure)
