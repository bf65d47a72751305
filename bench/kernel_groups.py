# SPDX-License-Identifier: GPL-2.0-or-later
"""What a request for a small group costs among many links, and what deleting costs one by one and together.

Run it in the lab: ``python -m netgroupd.lab run --kernel patched --memory 6G -- python -m bench.kernel_groups``.
"""

import itertools
import math
import struct
import time
from collections.abc import Iterator

from bench.harness import Cell, Table, run, seconds
from bench.kernel_scale import links, send
from tests.vm.kernel_netlink import DELLINK, DUMP, EXT_MASK, GETLINK, GROUP, MTU, NEWLINK, Netlink, attr

_MEMBERS = 10
_LEAN = 1 << 31 | 1 << 30 | 1 << 29 | 1 << 3
_mtus = itertools.cycle(range(1400, 1500))


def small_group_row(nl: Netlink, others: int) -> tuple[Cell, ...]:
    """Time requests for a few among many."""
    change = seconds(lambda: nl.link(NEWLINK, attr(GROUP, 5), attr(MTU, next(_mtus))), runs=9)
    nobody = seconds(lambda: nl.link(NEWLINK, attr(GROUP, 0x7FFFFFF0), attr(MTU, 1500)), runs=9)
    dump = nl.link(GETLINK, attr(GROUP, 5), flags=DUMP)
    shown = Cell(note="no such filter")
    if not dump.error:
        assert len(dump.messages) == _MEMBERS, others
        shown = seconds(lambda: nl.link(GETLINK, attr(GROUP, 5), flags=DUMP), runs=9)
    everything = Cell(
        (sum(16 + len(one.body) for one in nl.link(GETLINK, flags=DUMP).messages) / (others + _MEMBERS),), "B"
    )
    lean = nl.link(GETLINK, attr(EXT_MASK, _LEAN), flags=DUMP).messages
    lean_size = Cell((sum(16 + len(one.body) for one in lean) / (others + _MEMBERS),), "B")
    return (change, nobody, shown, everything, lean_size)


def small_group_table(sizes: tuple[int, ...]) -> Table:
    """Requests for a group of ten among more and more others."""
    rows = {}
    made = 0
    with Netlink() as nl:
        send(nl, links(_MEMBERS, "g", attr(GROUP, 5)), _MEMBERS)
        for others in sizes:
            send(nl, links(others - made, f"o{made}-", attr(GROUP, 6)), others - made, limit_s=math.inf)
            made = others
            rows[f"{others:,} others"] = small_group_row(nl, others)
        for group in (5, 6):
            nl.link(DELLINK, attr(GROUP, group))
    columns = ("change ten", "change nobody", "dump ten", "bytes per link", "bytes per link, lean")
    return Table("kernel_groups_small", "Requests for a group of ten", columns, rows)


def delete_table(count: int) -> Table:
    """Links deleted by a message each, and by one for all."""
    rows: dict[str, tuple[Cell, ...]] = {}
    with Netlink() as nl:
        send(nl, links(count, "d", attr(GROUP, 5)), count, limit_s=math.inf)
        indexes = sorted(nl.links())[-count:]
        single = [(DELLINK, 0, struct.pack("BxHiII", 0, 0, index, 0, 0)) for index in indexes]
        rows["a message each"] = (send(nl, single, count, limit_s=math.inf).cell(),)
        send(nl, links(count, "d", attr(GROUP, 5)), count, limit_s=math.inf)
        start = time.perf_counter()
        assert nl.link(DELLINK, attr(GROUP, 5)).error == 0
        rows["the group"] = (Cell(((time.perf_counter() - start) / count * 1e6,), "µs"),)
    return Table("kernel_groups_delete", f"Deleting {count:,} links, per link", ("time",), rows)


def measure(quick: bool) -> Iterator[Table]:
    """All tables, one after the other."""
    yield small_group_table((500,) if quick else (1_000, 4_000, 16_000))
    yield delete_table(100 if quick else 500)


if __name__ == "__main__":
    run(measure)
