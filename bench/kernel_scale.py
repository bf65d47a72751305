# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel alone takes for addresses, VRF ports, links and filters, per object, as they become many.

The same messages go to any kernel, so that the figures of a stock and a patched one can be compared; what a kernel
does not know it ignores or refuses.  Run it in the lab:
``python -m netgroupd.lab run --kernel patched --memory 6G -- python -m bench.kernel_scale``.
"""

import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.harness import Cell, Table, run
from tests.vm.kernel_netlink import (
    BATCHTFILTER,
    CREATE,
    DELLINK,
    EXCL,
    GROUP,
    IFA_LOCAL,
    IFNAME,
    INFO_KIND,
    LIGHT,
    LINKINFO,
    MASTER,
    NEWADDR,
    NEWLINK,
    NEWQDISC,
    NEWTFILTER,
    Netlink,
    attr,
    nest,
)

_PACK = 64
_SETTLE_S = 5
_IFA_FLAGS = 8
_NODAD = attr(_IFA_FLAGS, 2)
_LIGHT = {
    "full": 0,
    "light": 0b10011,
    "light, for layer 2 only": 0b11111,
    "light, no sysfs": 0b110011,
    "light, no sysfs, for layer 2 only": 0b111111,
}
Message = tuple[int, int, bytes]


def per_message(nl: Netlink, messages: Sequence[Message]) -> float:
    """Send, many to a system call, and return the microseconds that each took."""
    start = time.perf_counter()
    for at in range(0, len(messages), _PACK):
        reply = nl.send_many(messages[at : at + _PACK])
        assert reply.error == 0, reply
    return (time.perf_counter() - start) / len(messages) * 1e6


def links(count: int, prefix: str, *attrs: bytes) -> list[Message]:
    """Messages that make dummies."""
    kind = nest(LINKINFO, attr(INFO_KIND, "dummy"))
    head = struct.pack("BxHiII", 0, 0, 0, 0, 0)
    rest = kind + b"".join(attrs)
    return [(NEWLINK, CREATE | EXCL, head + attr(IFNAME, f"{prefix}{k}") + rest) for k in range(count)]


def addresses(kind: str, count: int, index: int) -> list[Message]:
    """Messages that add addresses to one link."""
    if kind == "IPv6 /64":
        head = struct.pack("BBBBI", socket.AF_INET6, 64, 0, 0, index)
        base = bytes.fromhex("20010db8") + bytes(8)
        return [
            (NEWADDR, CREATE, head + attr(IFA_LOCAL, base + struct.pack("!I", k + 1)) + _NODAD) for k in range(count)
        ]
    plen, first = (12, 0x0A000001) if kind == "IPv4 secondary" else (32, 0x0B000001)
    head = struct.pack("BBBBI", socket.AF_INET, plen, 0, 0, index)
    return [(NEWADDR, CREATE, head + attr(IFA_LOCAL, struct.pack("!I", first + k))) for k in range(count)]


def quarters(nl: Netlink, messages: Sequence[Message]) -> tuple[Cell, ...]:
    """Microseconds per message, quarter by quarter."""
    size = len(messages) // 4
    return tuple(Cell((per_message(nl, messages[k * size : (k + 1) * size]),), "µs") for k in range(4))


def address_table(count: int) -> Table:
    """Addresses on one link."""
    rows = {}
    for kind in ("IPv4 secondary", "IPv4 /32", "IPv6 /64"):
        with Netlink() as nl:
            index = nl.add_link("d0", "dummy")
            nl.link(NEWLINK, index=index, up=True)
            rows[kind] = quarters(nl, addresses(kind, count, index))
            nl.link(DELLINK, index=index)
    columns = tuple(f"{name} {count // 4:,}" for name in ("first", "second", "third", "last"))
    return Table("kernel_scale_addresses", f"Microseconds per address, {count:,} on one link", columns, rows)


def vrf_row(nl: Netlink, count: int) -> tuple[Cell, ...]:
    """Links that are up enter a VRF by group, and are deleted by group."""
    vrf = nl.add_link("vrf9", "vrf", data=attr(1, 9))
    make = per_message(nl, links(count, "d", attr(GROUP, 5)))
    times = [make]
    for action in ({"up": True}, {"master": vrf}, {"up": False}, {"delete": True}):
        # What the last one has left to timers, duplicate addresses above all, is not this one's.
        time.sleep(_SETTLE_S)
        start = time.perf_counter()
        match action:
            case {"up": bool(state)}:
                reply = nl.link(NEWLINK, attr(GROUP, 5), up=state)
            case {"master": int(master)}:
                reply = nl.link(NEWLINK, attr(GROUP, 5), attr(MASTER, master))
            case _:
                reply = nl.link(DELLINK, attr(GROUP, 5))
        assert reply.error == 0, reply
        times.append((time.perf_counter() - start) / count * 1e6)
    nl.link(DELLINK, index=vrf)
    return tuple(Cell((one,), "µs") for one in times)


def vrf_table(sizes: Sequence[int]) -> Table:
    """What happens to a group, per member."""
    with Netlink() as nl:
        rows = {f"{count:,} links": vrf_row(nl, count) for count in sizes}
    columns = ("made", "up", "into a VRF", "down", "deleted")
    return Table("kernel_scale_vrf", "Microseconds per member of a group", columns, rows)


def slab_bytes() -> int:
    """What the kernel has allocated for objects."""
    rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith(("Slab:", "Percpu:")))


def light_table(count: int) -> Table:
    """Links that do without, in time and bytes."""
    rows: dict[str, tuple[Cell, ...]] = {}
    with Netlink() as nl:
        for name, flags in _LIGHT.items():
            before = slab_bytes()
            taken = per_message(nl, links(count, "d", attr(GROUP, 5), *([attr(LIGHT, flags)] if flags else [])))
            rows[name] = (Cell((taken,), "µs"), Cell(((slab_bytes() - before) / count,), "bytes"))
            assert nl.link(DELLINK, attr(GROUP, 5)).error == 0
            time.sleep(1)
    return Table("kernel_scale_light", f"One of {count:,} dummies", ("time to make", "slab and per-CPU"), rows)


def flower(index: int, dst: int) -> bytes:
    """A filter by destination address that drops."""
    drop = nest(1, attr(1, "gact"), nest(2, attr(2, struct.pack("IIiii", 0, 0, 2, 0, 0))))
    options = (attr(8, b"\x08\0"), attr(22, 1), attr(12, struct.pack("!I", dst)), nest(3, drop))
    head = struct.pack("BxHiIII", 0, 0, index, 0, 0xFFFFFFF2, 1 << 16 | 8)
    return head + attr(1, "flower") + nest(2, *options)


def batch(bodies: Sequence[bytes], threads: int) -> bytes:
    """One message with many filters."""
    parts = [struct.pack("BBH", 0, 0, threads)]
    for body in bodies:
        size = 8 + len(body)
        parts.append(struct.pack("IHH", size, NEWTFILTER, CREATE | EXCL) + body + bytes(-size % 4))
    return b"".join(parts) + bytes(4)


def filter_table(count: int) -> Table:
    """Filters by message, many to a system call, and in batches."""
    rows: dict[str, tuple[Cell, ...]] = {}
    with Netlink() as nl:
        index = nl.add_link("d0", "dummy")
        qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, 0xFFFFFFF1, 0) + attr(1, "clsact")
        bodies = [flower(index, 0x0A000000 + k) for k in range(count)]
        ways = {
            "one each, acknowledged": 1,
            "64 to a system call": _PACK,
            "batches, 1 thread": -1,
            "batches, 2 threads": -2,
        }
        for name, way in ways.items():
            assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
            start = time.perf_counter()
            errors = send_filters(nl, bodies, way)
            taken = time.perf_counter() - start
            rows[name] = (Cell((count / taken,), "per s") if not errors else Cell(note=os.strerror(errors)),)
            nl.ask(NEWQDISC + 1, 0, qdisc)
            time.sleep(2)
        nl.link(DELLINK, index=index)
    return Table("kernel_scale_filters", f"{count:,} flower filters with an action", ("rate",), rows)


def send_filters(nl: Netlink, bodies: Sequence[bytes], way: int) -> int:
    """Send filters and return the first error."""
    if way > 0:
        messages = [(NEWTFILTER, CREATE | EXCL, body) for body in bodies]
        return max(nl.send_many(messages[at : at + way]).error for at in range(0, len(messages), way))
    size = 4096
    return max(nl.ask(BATCHTFILTER, 0, batch(bodies[at : at + size], -way)).error for at in range(0, len(bodies), size))


def measure(quick: bool) -> Iterator[Table]:
    """All tables, one after the other."""
    yield address_table(4_000 if quick else 16_000)
    yield vrf_table((500,) if quick else (500, 2_000))
    yield light_table(500 if quick else 4_000)
    yield filter_table(4_096 if quick else 16_384)


if __name__ == "__main__":
    run(measure)
