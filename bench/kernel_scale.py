# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel alone takes for addresses, ports, VLANs, links and filters, per object, as they become many.

The same messages go to any kernel, so that the figures of a stock and a patched one can be compared; what a kernel
does not know it ignores or refuses.  Run it in the lab:
``python -m netgroupd.lab run --kernel patched --memory 6G -- python -m bench.kernel_scale``.
"""

import itertools
import math
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.harness import Cell, Table, run
from tests.vm.kernel_netlink import (
    BATCHTFILTER,
    CREATE,
    DELADDR,
    DELLINK,
    EXCL,
    EXT_MASK,
    GETLINK,
    GROUP,
    IFA_LOCAL,
    IFNAME,
    INFO_DATA,
    INFO_KIND,
    LIGHT,
    LINK,
    LINKINFO,
    MASTER,
    NEWADDR,
    NEWLINK,
    NEWQDISC,
    NEWTFILTER,
    NODAD,
    Netlink,
    attr,
    nest,
)

_PACK = 64
_SETTLE_S = 2
_POLL_S = 0.01
# A cell that takes longer says how many objects it came to.
_CELL_S = 10
_GROUP, _MEMBERS = 1_000, 500
_LOOKUPS = 1_024
_BRIDGES = 50_000
_PORTS = 64
_ADDRESSES = {
    "IPv4 secondary": (socket.AF_INET, 12, bytes((10, 0, 0, 1))),
    "IPv4 /32": (socket.AF_INET, 32, bytes((11, 0, 0, 1))),
    "IPv6 /64": (socket.AF_INET6, 64, bytes.fromhex("20010db8") + bytes(11) + b"\1"),
}
# A dummy has no neighbours, and enters no multicast group for an address.
_ADDRESSED = {kind: (kind, "dummy") for kind in _ADDRESSES} | {"IPv6 /64 of a veth": ("IPv6 /64", "veth")}
_PEER = "veth0"
_LIGHT = {
    "full": 0,
    "light": 0b10011,
    "light, for layer 2 only": 0b11111,
    "light, no sysfs": 0b110011,
    "light, no sysfs, for layer 2 only": 0b111111,
}
# What memory and time are enough for.
_DEVICES = {"full": (1_000, 10_000, 100_000), "light, no sysfs, for layer 2 only": (1_000, 10_000, 100_000, 500_000)}
Message = tuple[int, int, bytes]


def links(count: int, prefix: str, *attrs: bytes) -> list[Message]:
    """Messages that make dummies."""
    kind = nest(LINKINFO, attr(INFO_KIND, "dummy"))
    head = struct.pack("BxHiII", 0, 0, 0, 0, 0)
    rest = kind + b"".join(attrs)
    return [(NEWLINK, CREATE | EXCL, head + attr(IFNAME, f"{prefix}{k}") + rest) for k in range(count)]


class Sent(NamedTuple):
    """How far a cell came: through all its objects, or those that the time was enough for."""

    done: int
    asked: int
    seconds: float

    def cell(self) -> Cell:
        """Microseconds for each object; how many they were where the time was not enough."""
        note = "" if self.done == self.asked else f"for {self.done:,}, which took {self.seconds:.0f} s"
        return Cell((self.seconds / self.done * 1e6,), "µs", note) if self.done else Cell()


def send(nl: Netlink, messages: Iterable[Message], asked: int, *, each: int = 1, limit_s: float = _CELL_S) -> Sent:
    """Send messages about ``each`` objects until the time of a cell is over; to make them is not counted."""
    messages = iter(messages)
    done, taken = 0, 0.0
    while taken < limit_s and (packed := list(itertools.islice(messages, _PACK if each == 1 else 1))):
        start = time.perf_counter()
        reply = nl.send_many(packed)
        taken += time.perf_counter() - start
        assert reply.error == 0, reply
        done += each * len(packed)
    return Sent(min(done, asked), asked, taken)


def links_by_group(count: int, *attrs: bytes) -> Iterator[Message]:
    """Messages that make dummies, so many to a group."""
    for group in range(-(-count // _MEMBERS)):
        members = min(_MEMBERS, count - group * _MEMBERS)
        yield from links(members, f"d{group}-", attr(GROUP, _GROUP + group), *attrs)


def by_group(nl: Netlink, kind: int, members: int, *attrs: bytes, up: bool | None = None, each: int = _MEMBERS) -> Sent:
    """Send a request to one group after the other."""
    head = struct.pack("BxHiII", 0, 0, 0, *((0, 0) if up is None else (up, 1)))
    groups = range(_GROUP, _GROUP + -(-members // each))
    messages = ((kind, 0, head + attr(GROUP, group) + b"".join(attrs)) for group in groups)
    # The next one must find none of them.
    limit_s = math.inf if kind == DELLINK else _CELL_S
    return send(nl, messages, members, each=each, limit_s=limit_s)


def addresses(kind: str, count: int, index: int) -> Iterator[Message]:
    """Messages that add addresses to one link."""
    family, plen, first = _ADDRESSES[kind]
    head = struct.pack("BBBBI", family, plen, 0, 0, index)
    start = int.from_bytes(first[-4:])
    for k in range(start, start + count):
        yield NEWADDR, CREATE, head + attr(IFA_LOCAL, first[:-4] + k.to_bytes(4)) + NODAD


def routes_in_use() -> int:
    """How many IPv6 routes the kernel has in its tables."""
    return int(Path("/proc/net/rt6_stats").read_text(encoding="ascii").split()[3], 16)


def address_row(nl: Netlink, kind: str, info_kind: str, count: int) -> dict[str, Cell]:
    """Addresses come to a link that is up, the last of them go, and the others go with the link."""
    index = nl.add_link("d0", info_kind)
    for name in ("d0", *([_PEER] if info_kind == "veth" else [])):
        nl.link(NEWLINK, index=socket.if_nametoindex(name), up=True)
    messages = list(addresses(kind, count, index))
    before = routes_in_use()
    added = send(nl, messages, count)
    if _ADDRESSES[kind][0] == socket.AF_INET6:
        # The kernel answers first, and makes the address's route later.
        start = time.perf_counter()
        while routes_in_use() - before < added.done:
            time.sleep(_POLL_S)
        added = added._replace(seconds=added.seconds + time.perf_counter() - start)
    last = messages[max(added.done - _LOOKUPS, added.done // 2) : added.done]
    gone = send(nl, ((DELADDR, 0, body) for _, _, body in last), len(last))
    left = added.done - gone.done
    start = time.perf_counter()
    nl.link(DELLINK, index=index)
    flushed = Sent(left, left, time.perf_counter() - start)
    return {"added": added.cell(), "one deleted": gone.cell(), "link deleted": flushed.cell()}


def address_table(sizes: Sequence[int]) -> Table:
    """Addresses of each kind on one link."""
    rows: dict[str, tuple[Cell, ...]] = {}
    with Netlink() as nl:
        for name, (kind, info_kind) in _ADDRESSED.items():
            found = [address_row(nl, kind, info_kind, count) for count in sizes]
            rows |= {f"{name}, {deed}": tuple(cells[deed] for cells in found) for deed in found[0]}
    columns = tuple(f"{count:,} on a link" for count in sizes)
    return Table("kernel_scale_addresses", "Microseconds per address", columns, rows)


def one_address_each(first: int, count: int) -> Iterator[Message]:
    """Messages that give links that were made in a row a subnet each."""
    for k in range(count):
        head = struct.pack("BBBBI", socket.AF_INET, 24, 0, 0, first + k)
        yield NEWADDR, CREATE, head + attr(IFA_LOCAL, (0x0A000001 + (k << 8)).to_bytes(4))


def vrf_column(nl: Netlink, count: int) -> dict[str, Cell]:
    """Links, so many to a request, are made, come up, enter a VRF, leave it, enter it again, and go after it."""
    vrf = nl.add_link("vrf9", "vrf", data=attr(1, 9))
    cells = {"made": send(nl, links_by_group(count), count)}
    members = cells["made"].done

    def timed(name: str, among: int, kind: int, *attrs: bytes, up: bool | None = None) -> int:
        # What the last one has left to timers is not this one's.
        time.sleep(_SETTLE_S)
        cells[name] = by_group(nl, kind, among, *attrs, up=up)
        return cells[name].done

    first = socket.if_nametoindex("d0-0")
    cells["one address each"] = send(nl, one_address_each(first, members), members)
    timed("up", members, NEWLINK, up=True)
    ports = timed("into a VRF", members, NEWLINK, attr(MASTER, vrf))
    ports = timed("out of it", ports, NEWLINK, attr(MASTER, 0))
    ports = timed("into it again", ports, NEWLINK, attr(MASTER, vrf))
    start = time.perf_counter()
    assert nl.link(DELLINK, index=vrf).error == 0
    cells["VRF deleted"] = Sent(ports, ports, time.perf_counter() - start)
    timed("down", members, NEWLINK, up=False)
    timed("deleted", members, DELLINK)
    return {name: sent.cell() for name, sent in cells.items()}


def vrf_table(sizes: Sequence[int]) -> Table:
    """What happens to links that are up, for each of them."""
    # Solicitations go on for a while after a link came up, and would be measured with what comes next.
    Path("/proc/sys/net/ipv6/conf/default/router_solicitations").write_text("0", encoding="ascii")
    with Netlink() as nl:
        found = [vrf_column(nl, count) for count in sizes]
    rows = {name: tuple(column[name] for column in found) for name in found[0]}
    return Table("kernel_scale_vrf", "Microseconds per link", tuple(f"{count:,} links" for count in sizes), rows)


def vlans(count: int, lower: int) -> Iterator[Message]:
    """Messages that make VLANs of one link, so many to a group as a bridge gets ports."""
    head = struct.pack("BxHiII", 0, 0, 0, 0, 0)
    for k in range(count):
        info = nest(LINKINFO, attr(INFO_KIND, "vlan"), nest(INFO_DATA, attr(1, struct.pack("H", k + 1))))
        group = attr(GROUP, _GROUP + k // _PORTS)
        yield NEWLINK, CREATE | EXCL, head + attr(IFNAME, f"v{k + 1}") + group + attr(LINK, lower) + info


def enslave(nl: Netlink, count: int) -> Sent:
    """Make a bridge for each group of VLANs, and put them into it; the bridges are not counted."""
    groups = range(_GROUP, _GROUP + -(-count // _PORTS))
    bridges = [nl.add_link(f"b{group}", "bridge", attr(GROUP, _BRIDGES)) for group in groups]
    nl.link(NEWLINK, attr(GROUP, _BRIDGES), up=True)
    head = struct.pack("BxHiII", 0, 0, 0, 0, 0)
    pairs = zip(groups, bridges, strict=True)
    messages = ((NEWLINK, 0, head + attr(GROUP, group) + attr(MASTER, bridge)) for group, bridge in pairs)
    return send(nl, messages, count, each=_PORTS)


def vlan_column(nl: Netlink, count: int) -> dict[str, Cell]:
    """VLANs of one link are made, come up, enter bridges that are deleted, enter others, and are deleted."""
    index = nl.add_link("d0", "dummy")
    nl.link(NEWLINK, index=index, up=True)
    cells = {"made": send(nl, vlans(count, index), count)}
    members = cells["made"].done
    cells["up"] = by_group(nl, NEWLINK, members, up=True, each=_PORTS)
    cells["into bridges"] = ports = enslave(nl, members)
    start = time.perf_counter()
    assert nl.link(DELLINK, attr(GROUP, _BRIDGES)).error == 0
    cells["bridges deleted"] = Sent(ports.done, ports.done, time.perf_counter() - start)
    enslave(nl, members)
    cells["VLANs deleted, bridges stay"] = by_group(nl, DELLINK, members, each=_PORTS)
    nl.link(DELLINK, attr(GROUP, _BRIDGES))
    nl.link(DELLINK, index=index)
    return {name: sent.cell() for name, sent in cells.items()}


def vlan_table(sizes: Sequence[int]) -> Table:
    """VLANs of one link, in bridges of their own."""
    # What IPv6 takes for links that come up is in the table of VRF ports.
    ipv6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    ipv6.write_text("1", encoding="ascii")
    with Netlink() as nl:
        found = [vlan_column(nl, count) for count in sizes]
    ipv6.write_text("0", encoding="ascii")
    rows = {name: tuple(column[name] for column in found) for name in found[0]}
    return Table("kernel_scale_vlans", "Microseconds per VLAN", tuple(f"{count:,} of a port" for count in sizes), rows)


def device_column(nl: Netlink, flags: int, count: int) -> dict[str, Cell]:
    """Devices are made, looked up and deleted."""
    light = [attr(LIGHT, flags)] if flags else []
    made = send(nl, links_by_group(count, *light), count)
    first = socket.if_nametoindex("d0-0")
    chosen = range(0, made.done, max(made.done // _LOOKUPS, 1))
    lean = attr(EXT_MASK, 1 << 31 | 1 << 30 | 1 << 3)
    indexes = ((GETLINK, 0, struct.pack("BxHiII", 0, 0, first + k, 0, 0) + lean) for k in chosen)
    names = (
        (GETLINK, 0, struct.pack("BxHiII", 0, 0, 0, 0, 0) + attr(IFNAME, f"d{k // _MEMBERS}-{k % _MEMBERS}") + lean)
        for k in chosen
    )
    return {
        "made": made.cell(),
        "found by index": send(nl, indexes, len(chosen)).cell(),
        "found by name": send(nl, names, len(chosen)).cell(),
        "deleted": by_group(nl, DELLINK, made.done).cell(),
    }


def device_table(sizes: dict[str, Sequence[int]]) -> Table:
    """Devices, whole ones and the lightest, in numbers."""
    rows: dict[str, list[Cell]] = {}
    with Netlink() as nl:
        for name, counts in sizes.items():
            for count in counts if knows_light(nl) or not _LIGHT[name] else ():
                for deed, cell in device_column(nl, _LIGHT[name], count).items():
                    rows.setdefault(f"{name}, {deed}", []).append(cell)
    most = max(map(len, sizes.values()))
    columns = tuple(f"{count:,} devices" for count in max(sizes.values(), key=len))
    padded = {name: tuple(cells) + (Cell(),) * (most - len(cells)) for name, cells in rows.items()}
    return Table("kernel_scale_devices", "Microseconds per device", columns, padded)


def knows_light(nl: Netlink) -> bool:
    """Tell whether this kernel has devices that do without: others ignore the wish."""
    index = nl.add_link("light0", "dummy", attr(LIGHT, 1))
    try:
        return LIGHT in nl.get(index)
    finally:
        nl.link(DELLINK, index=index)


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
            light = [attr(LIGHT, flags)] if flags else []
            made = send(nl, links(count, "d", attr(GROUP, 5), *light), count, limit_s=math.inf)
            rows[name] = (made.cell(), Cell(((slab_bytes() - before) / count,), "bytes"))
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
    sizes = (1_000, 10_000, 100_000)
    yield address_table(sizes[:2] if quick else sizes)
    yield vrf_table(sizes[:1] if quick else sizes[:2])
    yield vlan_table((500, 1_000) if quick else (500, 1_000, 2_000, 4_000))
    yield device_table({name: counts[:1] if quick else counts for name, counts in _DEVICES.items()})
    yield light_table(500 if quick else 4_000)
    yield filter_table(4_096 if quick else 16_384)


if __name__ == "__main__":
    run(measure)
