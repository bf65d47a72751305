# SPDX-License-Identifier: GPL-2.0-or-later
"""The slides' table on dumps: bytes and receive calls for 615 interfaces, by what the kernel is asked to leave out.

Counts only: no noise disturbs them.  Run it in the lab:
``python -m netgroupd.lab run -- python -m bench.dumps``.
"""

import socket
import sys
from collections.abc import Iterator
from typing import NamedTuple

from bench.costs import costs
from bench.harness import Cell, Table, count, run
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.links.numbers import IFLA_EXT_MASK, IFLA_GROUP, IFLA_LINKINFO, IFLA_MASTER, RTM_GETLINK
from netgroupd.kernel.netlink.message import (
    HEADER,
    HEADER_LEN,
    NLM_F_DUMP,
    NLMSG_DONE,
    NLMSG_ERROR,
    nest,
    request,
    text,
    u32,
)
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.step import Op, Step

GROUP = 7
_BUFFER = 32 << 10
_SKIP_STATS, _SKIP_LINK_STATS, _SKIP_AF_SPEC = 1 << 3, 1 << 31, 1 << 30
_PYROUTE2 = "from pyroute2 import IPRoute\nwith IPRoute() as route: len(list(route.get_links()))"


class Question(NamedTuple):
    """One dump request: what it is called, and what it asks the kernel to filter or to leave out."""

    name: str
    attributes: bytes = b""


class Answer(NamedTuple):
    """What a dump brought; no links where the kernel refused the filter."""

    links: int
    received: int
    calls: int

    def cells(self) -> tuple[Cell, ...]:
        """As a row of the table."""
        if not self.calls:
            return (Cell(note="this kernel has no such filter"), Cell(), Cell())
        return count(self.received, "B"), count(self.calls), count(self.links)


def links() -> Iterator[Object]:
    """614 links beside lo: ports in bonds, VLANs of the bonds in bridges, macvlans on those, and VRFs."""

    def link(name: str, attrs: Attrs) -> Object:
        return Object("link", (name,), attrs)

    for number in range(2):
        yield link(f"vrf{number}", {"kind": "vrf", "table": 1000 + number})
    for number in range(32):
        yield link(f"bond{number}", {"kind": "bond"})
    for number in range(64):
        yield link(f"swp{number}", {"kind": "dummy", "group": GROUP, "master": f"bond{number // 2}"})
    for number in range(105):
        yield link(f"br{number}", {"kind": "bridge"})
    for number in range(307):
        lower, vid = f"bond{number % 32}", number // 32 + 2
        yield link(f"{lower}.{vid}", {"kind": "vlan", "link": lower, "id": vid, "master": f"br{number % 105}"})
    for number in range(104):
        yield link(f"mac{number}", {"kind": "macvlan", "link": f"br{number}"})


def create(kernel: Kernel) -> None:
    """Make them all, masters first."""
    refused = kernel.apply([Step(Op.CREATE, None, link, link.attrs) for link in links()])
    assert not refused, refused[:3]


def ask(question: Question) -> Answer:
    """Send one strict dump request on a socket of its own and count what comes."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as connection:
        connection.setsockopt(270, 12, 1)
        connection.bind((0, 0))
        connection.send(request(RTM_GETLINK, NLM_F_DUMP, bytes(16), question.attributes))
        found = received = calls = 0
        while True:
            packet = connection.recv(_BUFFER)
            calls += 1
            received += len(packet)
            start = 0
            while start < len(packet):
                size, kind, *_ = HEADER.unpack_from(packet, start)
                if kind in (NLMSG_DONE, NLMSG_ERROR):
                    refused = int.from_bytes(packet[start + HEADER_LEN : start + HEADER_LEN + 4], "little")
                    return Answer(0, 0, 0) if refused else Answer(found, received, calls)
                found += 1
                start += (size + 3) & ~3


def questions(kernel: Kernel) -> Iterator[Question]:
    """The slides' filters, and those that the patched kernel adds."""
    yield Question("everything")
    yield Question("kind bond", nest(IFLA_LINKINFO, text(1, "bond")))
    yield Question("kind vrf", nest(IFLA_LINKINFO, text(1, "vrf")))
    yield Question("master br1", u32(IFLA_MASTER, kernel.names.index("br1")))
    yield Question(f"group {GROUP} (64 links)", u32(IFLA_GROUP, GROUP))
    for name, bits in (
        ("without IPv6 statistics (any kernel)", _SKIP_STATS),
        ("without statistics", _SKIP_STATS | _SKIP_LINK_STATS),
        ("without statistics and devconf", _SKIP_STATS | _SKIP_LINK_STATS | _SKIP_AF_SPEC),
    ):
        yield Question(f"everything {name}", u32(IFLA_EXT_MASK, bits))


def theirs(*argv: str) -> tuple[Cell, ...]:
    """What another program reads."""
    found = costs(argv)
    return count(found.received, "B"), count(found.packets), Cell(note="and the monitor that counts")


def ours(kernel: Kernel) -> tuple[Cell, ...]:
    """What netgroupd reads to compare all of them."""
    before = kernel.counters.received, kernel.counters.syscalls
    state = kernel.dump(Selection(everything=True))
    after = kernel.counters.received, kernel.counters.syscalls
    return count(after[0] - before[0], "B"), count(after[1] - before[1] - 1), count(len(state))


def measure(_quick: bool) -> Iterator[Table]:
    """One row for each question."""
    with Kernel() as kernel:
        create(kernel)
        rows = {question.name: ask(question).cells() for question in questions(kernel)}
        rows["`ip link show`"] = theirs("ip", "link", "show")
        rows["`ip link show type bond`"] = theirs("ip", "link", "show", "type", "bond")
        rows[f"`ip link show group {GROUP}`"] = theirs("ip", "link", "show", "group", str(GROUP))
        rows["pyroute2 get_links"] = theirs(sys.executable, "-c", _PYROUTE2)
        rows["netgroupd"] = ours(kernel)
    goal = "the slides saw 888,512 bytes in 58 calls for all, 70,556 in 7 by kind bond, 3,716 in 3 by kind vrf"
    yield Table("dumps", "Slides, dump table: 615 interfaces", ("bytes", "receive calls", "links"), rows, goal)


if __name__ == "__main__":
    run(measure)
