# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading and making links: netgroupd's codec beside a bare socket, messages encoded beforehand, and ``ip -batch``.

Run it in the lab: ``python -m netgroupd.lab run --memory 6G -- python -m bench.links``.
"""

import subprocess
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.harness import Cell, Table, Way, by_rounds, count, in_turn, ratio, run, seconds
from bench.peer_files import Size
from netgroupd.kernel.features import Features, features
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.links import write as links_write
from netgroupd.kernel.links.numbers import IFLA_EXT_MASK, IFLA_GROUP, RTM_DELLINK, RTM_GETLINK
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import NLM_F_DUMP, NLMSG_DONE, request, u32
from netgroupd.kernel.netlink.request import EVERYTHING, Context
from netgroupd.kernel.netlink.socket import Counters, Socket
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

GROUP = 42
IP, BLIND = "`ip -batch`", "encoded beforehand, sent blind"
SIZES = (Size(100, 6), Size(1_000, 6))
READ = (1_000, 10_000)
_RUNS = 5
_PACKED = 256
_ALL_UP = GroupStep(Op.CHANGE, GROUP, {"up": True}, ())
_UP = f"link set group {GROUP} up"


def create(name: str, **attrs: Value) -> Step:
    """One link to make, in the group."""
    link = Object("link", (name,), {**attrs, "group": GROUP})
    return Step(Op.CREATE, None, link, link.attrs)


class Stack(NamedTuple):
    """The same links in each language: blocks of netgroupd's, lines of ``ip``, and messages."""

    title: str
    links: int
    blocks: tuple[str, ...]
    lines: tuple[str, ...]
    steps: tuple[AnyStep, ...]

    def text(self, more: str = "") -> str:
        """For netgroupd, with ``more`` said of all."""
        group = f"groups: {{all: {{id: {GROUP}, up: true{more}}}}}"
        return "\n".join((group, "links:", *(f"  {block}" for block in self.blocks))) + "\n"


def stack(size: Size) -> Stack:
    """Ports, bridges, and the VLANs of the ports in the bridges: made down, then brought up as one group."""
    ports, vlans = range(size.ports), range(1, size.vlans + 1)
    pairs = [(port, vlan) for port in ports for vlan in vlans]
    lines = [f"link add p{port} group {GROUP} type dummy" for port in ports] + _bridges(vlans)
    lines += [
        f"link add link p{port} name p{port}.{vlan} group {GROUP} master br{vlan} type vlan id {vlan}"
        for port, vlan in pairs
    ]
    steps: list[AnyStep] = [create(f"p{port}", kind="dummy") for port in ports]
    steps += [create(f"br{vlan}", kind="bridge", stp_state=True) for vlan in vlans]
    steps += [create(f"p{p}.{v}", kind="vlan", link=f"p{p}", id=v, master=f"br{v}") for p, v in pairs]
    named = f"p[0-{size.ports - 1}]"
    blocks = (
        f"{named}: {{kind: dummy, group: all}}",
        f'br[v=1-{size.vlans}]: {{kind: bridge, stp: true, group: all, ports: "{named}.{{v}}"}}',
    )
    title = f"Bridges over the VLANs of ports: {size}"
    return Stack(title, size.ports + size.links, blocks, (*lines, _UP), (*steps, _ALL_UP))


def tunnels(size: Size) -> Stack:
    """The same with VXLANs in place of ports and VLANs, for kernels that have neither."""
    pairs = [(port, vlan) for port in range(size.ports) for vlan in range(1, size.vlans + 1)]
    lines = _bridges(range(1, size.vlans + 1))
    lines += [
        f"link add x{port}-{vlan} group {GROUP} master br{vlan} type vxlan id {port * 10_000 + vlan} dstport 4789"
        for port, vlan in pairs
    ]
    steps: list[AnyStep] = [create(f"br{vlan}", kind="bridge", stp_state=True) for vlan in range(1, size.vlans + 1)]
    steps += [
        create(f"x{port}-{vlan}", kind="vxlan", id=port * 10_000 + vlan, dstport=4789, master=f"br{vlan}")
        for port, vlan in pairs
    ]
    blocks = (
        f"br[1-{size.vlans}]: {{kind: bridge, stp: true, group: all}}",
        f"x[p=0-{size.ports - 1}]-[v=1-{size.vlans}]:",
        '  {kind: vxlan, group: all, id: "{p * 10000 + v}", dstport: 4789, master: "br{v}"}',
    )
    title = f"Bridges over VXLANs: {size.vlans:,} × {size.ports}"
    return Stack(title, size.links, blocks, (*lines, _UP), (*steps, _ALL_UP))


def _bridges(numbers: Iterable[int]) -> list[str]:
    return [f"link add br{number} group {GROUP} type bridge stp_state 1" for number in numbers]


def batch_file(links: Stack, path: Path) -> None:
    """What ``ip -batch`` reads."""
    path.write_text("\n".join(links.lines) + "\n", encoding="ascii")


def remove() -> None:
    """Delete the group, with the messages of nobody who is measured."""
    with Socket() as socket:
        socket.ask(request(RTM_DELLINK, 0, bytes(16), u32(IFLA_GROUP, GROUP)))


def encoded(steps: Iterable[AnyStep], names: Names | None = None) -> list[bytes]:
    """The messages of steps about links, packed and ready to send; ``names`` are those of the links there are."""
    with Socket() as socket:
        context = Context(socket, Names() if names is None else names, Features(), None, Generic(None, Counters()))
        messages = [part for step in steps for part in links_write.encode(step, context) if isinstance(part, bytes)]
    return [b"".join(messages[start : start + _PACKED]) for start in range(0, len(messages), _PACKED)]


def send_blind(packets: Sequence[bytes]) -> None:
    """Send what is ready; only the end is waited for."""
    with Socket() as socket:
        for packet in packets:
            socket.send(packet)
        assert not list(socket.answers(socket.barrier()))


def make(size: Size) -> Counters:
    """Make the stack by netgroupd: what that took."""
    with Kernel() as kernel:
        refused = kernel.apply(stack(size).steps)
        assert not refused, refused[:3]
        return kernel.counters


def ip_batch(path: Path) -> None:
    """Run ``ip`` over a file."""
    subprocess.run(("ip", "-batch", str(path)), check=True)


def creation(size: Size, runs: int) -> Iterator[tuple[str, Cell]]:
    """Each way to make the stack of one size."""
    packets = encoded(stack(size).steps)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "batch"
        batch_file(stack(size), path)
        ways = {
            IP: Way(lambda: ip_batch(path), remove),
            BLIND: Way(lambda: send_blind(packets), remove),
            "netgroupd": Way(lambda: make(size), remove),
        }
        found = in_turn(ways, runs)
    remove()
    counters = make(size)
    remove()
    yield "links", count(size.ports + size.links)
    yield from found.items()
    yield "netgroupd ÷ `ip -batch`", by_rounds(found["netgroupd"], found[IP])
    yield "netgroupd ÷ blind", by_rounds(found["netgroupd"], found[BLIND])
    yield "messages", count(counters.messages)
    yield "system calls", count(counters.syscalls)


def bare() -> None:
    """Receive every link and look at nothing but the end."""
    skip = features().skip
    with Socket() as socket:
        socket.send(request(RTM_GETLINK, NLM_F_DUMP, bytes(16), u32(IFLA_EXT_MASK, skip)))
        while int.from_bytes(socket.receive()[4:6], "little") != NLMSG_DONE:
            pass


def read() -> None:
    """Read every link into objects."""
    with Kernel() as kernel:
        kernel.dump(EVERYTHING)


def memory() -> float:
    """How many bytes one link takes once it is read."""
    with Kernel() as kernel:
        kernel.dump(EVERYTHING)
        tracemalloc.start()
        state = kernel.dump(EVERYTHING)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return held / len(state)


def reading(links: int, runs: int) -> Iterator[tuple[str, Cell]]:
    """Read a host with so many links, mostly VLANs."""
    with Kernel() as kernel:
        refused = kernel.apply(stack(Size(links // 7, 6)).steps)
        assert not refused, refused[:3]
    theirs, ours = seconds(bare, runs=runs), seconds(read, runs=runs)
    yield "a bare socket", theirs
    yield "netgroupd", ours
    yield "netgroupd ÷ bare", ratio(ours, theirs)
    yield "memory of one link", count(memory(), "B")
    remove()


def table(name: str, title: str, figures: dict[str, dict[str, Cell]], goal: str) -> Table:
    """One column for each size."""
    rows = {row: tuple(column[row] for column in figures.values()) for row in next(iter(figures.values()))}
    return Table(name, title, tuple(figures), rows, goal)


def measure(quick: bool) -> Iterator[Table]:
    """Two tables: making and reading."""
    runs = 1 if quick else _RUNS
    made = {str(size): dict(creation(size, runs)) for size in (SIZES[:1] if quick else SIZES)}
    yield table("links_made", "Ports × VLANs in bridges, from nothing", made, "≤ 1.0 × `ip -batch`, ≤ 1.2 × blind")
    seen = {f"{links} links": dict(reading(links, runs)) for links in (READ[:1] if quick else READ)}
    yield table("links_read", "Reading all links", seen, "≤ 3 × a bare socket at 10,000 links; ≤ 2 KiB a link")


if __name__ == "__main__":
    run(measure)
