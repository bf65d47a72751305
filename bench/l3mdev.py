# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper on layer 3 master devices: what a packet pays for them, and what links pay for entering one.

Transactions of one byte between two namespaces, as netperf's UDP_RR: with no VRF
in them, with one that the links have nothing to do with (its rule makes the kernel
ask all rules for each route), and with the links in one.  The kernel called flat has
no master devices at all.  The ways take turns, so that what else the machine does
falls on each.  Run it in the lab, on each kernel:
``python -m netgroupd.lab run --kernel flat -- python -m bench.l3mdev``.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import NamedTuple

from bench.apply import Desk
from bench.harness import Cell, Table, ratio, run, seconds
from netgroupd.errors import KernelError
from netgroupd.kernel.kernel import Kernel
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step

LINKS = (100, 1_000, 10_000)
_MOST_WHILE_UP = 2_000  # quadratic on a kernel without our patches
_RUNS = 3
_SERVER, _CLIENT = "server", "client"
_VRF = "vrf1"
_NONE = "this kernel has none"
_PORT = "4711"
_SECONDS = 3.0
_ADDRESSES = {"IPv4": "10.7.{}.1", "IPv6": "fd00:7:{}::1"}


def inside(name: str, *argv: str | Path) -> tuple[str | Path, ...]:
    """A command in a namespace."""
    return ("nsenter", f"--net=/run/netns/{name}", *argv)


def ip(*arguments: str, netns: str = "") -> None:
    """Run one ``ip``."""
    argv = ("ip", *arguments)
    subprocess.run(inside(netns, *argv) if netns else argv, check=True)


def has_vrf() -> bool:
    """Whether this kernel knows VRFs."""
    with Kernel() as kernel, suppress(KernelError):
        vrf = Object("link", ("probe",), {"kind": "vrf", "table": 9})
        return not kernel.apply([Step(Op.CREATE, None, vrf, vrf.attrs), Step(Op.DELETE, vrf, None)])
    return False


class Wire(NamedTuple):
    """A wire between two namespaces of a pair, in the VRF that is there or beside it."""

    pair: str
    number: int
    vrf: str = ""

    def end(self, which: str) -> str:
        """The namespace at one end."""
        return f"{self.pair}-{which}"

    def connect(self) -> None:
        """Lay the wire."""
        wire = f"wire{self.number}"
        ends = {end: self.end(end) for end in (_SERVER, _CLIENT)}
        ip("link", "add", wire, "netns", ends[_SERVER], "type", "veth", "peer", "name", wire, "netns", ends[_CLIENT])
        for host, name in enumerate(ends.values(), 1):
            if self.vrf:
                ip("link", "set", wire, "master", self.vrf, netns=name)
            ip("address", "add", f"10.7.{self.number}.{host}/24", "dev", wire, netns=name)
            ip("address", "add", f"fd00:7:{self.number}::{host}/64", "dev", wire, "nodad", netns=name)
            ip("link", "set", wire, "up", netns=name)

    def transactions(self, address: str) -> float:
        """How many a second, once."""
        ends = self.end(_SERVER), self.end(_CLIENT)
        return transactions(ends, address.format(self.number), _SECONDS, self.vrf)


def transactions(ends: tuple[str, str], address: str, wanted_s: float, vrf: str = "") -> float:
    """How many a second go from the second namespace to ``address`` in the first and back."""
    program, device = compiled(), (vrf,) * bool(vrf)
    server = subprocess.Popen(inside(ends[0], program, "server", _PORT, *device))
    try:
        # The client waits for an answer for seconds, but its first packet needs a socket to come to.
        while f":{int(_PORT):04X} " not in Path(f"/proc/{server.pid}/net/udp6").read_text():
            time.sleep(0.05)
        told = (_PORT, address, str(wanted_s), *device)
        return float(subprocess.check_output(inside(ends[1], program, "client", *told), text=True))
    finally:
        server.kill()
        server.wait()


@cache
def compiled() -> Path:
    """The program that sends and answers."""
    program = Path(gettempdir()) / "udp_rr"
    subprocess.run(("gcc", "-O1", "-o", program, Path(__file__).with_name("udp_rr.c")), check=True)
    return program


_WIRES = {"no VRF there": Wire("plain", 0), "beside a VRF": Wire("vrf", 1), "in it": Wire("vrf", 2, _VRF)}


def wires() -> dict[str, Wire]:
    """Lay the wires that this kernel can have."""
    found = _WIRES if has_vrf() else dict(list(_WIRES.items())[:1])
    for pair in {wire.pair for wire in found.values()}:
        for end in (_SERVER, _CLIENT):
            name = f"{pair}-{end}"
            ip("netns", "add", name)
            ip("link", "set", "lo", "up", netns=name)
            if pair == "vrf":
                ip("link", "add", _VRF, "up", "type", "vrf", "table", "10", netns=name)
    for wire in found.values():
        wire.connect()
    return found


def packets(quick: bool) -> Table:
    """Both address families, with and without a VRF."""
    runs = 1 if quick else _RUNS
    found = wires()
    rows: dict[str, tuple[Cell, ...]] = {}
    for family, address in _ADDRESSES.items():
        figures: dict[str, list[float]] = {way: [] for way in found}
        for _ in range(runs):
            for way, wire in found.items():
                figures[way].append(wire.transactions(address))
        cells = [Cell(tuple(figures[way]), "/s") if way in found else Cell(note=_NONE) for way in _WIRES]
        rows[family] = tuple(cells)
    goal = "the paper: 3.6 % fewer for IPv4 and 3.2 % more for IPv6 than without master devices in the kernel"
    return Table("l3mdev-packets", "L3 master devices: UDP transactions of one byte", tuple(_WIRES), rows, goal)


def enslaving(desk: Desk, links: int) -> tuple[Cell, ...]:
    """So many links into a VRF: by netgroupd, by a group's message while down, and one by one while up."""
    before = f"groups: {{g: {{id: 42}}}}\nlinks: {{'d[1-{links}]': {{kind: dummy, group: g, up: %s}}}}\n"
    vrf = "vrfs: {red: {table: 7, up: true%s}}\n"
    up, down = ((before % state) + vrf % "" for state in ("true", "false"))
    after = (before % "true") + vrf % f", links: 'd[1-{links}]'"
    desk.becomes(up)
    ours = seconds(desk.engine.apply, runs=1, prepare=lambda: desk.wants(after))
    desk.becomes(down)
    by_group = seconds(lambda: ip("link", "set", "group", "42", "master", "red"), runs=1)
    theirs = Cell(note=f"not run above {_MOST_WHILE_UP:,}")
    if links <= _MOST_WHILE_UP:
        desk.becomes(up)
        theirs = seconds(lambda: one_by_one(links), runs=1)
    desk.becomes("{}")
    return ours, by_group, theirs, ratio(theirs, ours)


def one_by_one(links: int) -> None:
    """A message each to links that are up, packed."""
    names = (Object("link", (f"d{number}",), {"kind": "dummy"}) for number in range(1, links + 1))
    with Kernel() as kernel:
        refused = kernel.apply([Step(Op.CHANGE, link, link, {"master": "red"}) for link in names])
    assert not refused, refused[:1]


def measure(quick: bool) -> Iterator[Table]:
    """Packets first, then links."""
    yield packets(quick)
    if has_vrf():
        with TemporaryDirectory() as directory:
            desk = Desk(Path(directory))
            rows = {f"{links:,} links": enslaving(desk, links) for links in (LINKS[:1] if quick else LINKS)}
        columns = ("netgroupd, links up, files to verified", "`ip link set group`, down", "one by one, up", "ratio")
        yield Table("l3mdev-enslave", "L3 master devices: links into a VRF", columns, rows, "linear")


if __name__ == "__main__":
    run(measure)
