# SPDX-License-Identifier: GPL-2.0-or-later
"""What grows with a network namespace on the patched kernel is charged to the memory cgroup of who makes it grow.

It takes what its lists take, and not the double for the little that is in front of them.
"""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.charged import charged
from tests.vm.kernel_netlink import IFA_LOCAL, NEWADDR, NODAD, Netlink, attr, nest

pytestmark = pytest.mark.vm("patched")
NEWLINKPROP, PROP_LIST, ALT_IFNAME = 108, 52, 53
CREATE_EXCL = 0x600
ENTRIES = 4096  # of a hash that has as many lists
CHARGED = ENTRIES * struct.calcsize("P")  # for the next one, which has twice as many and takes the place of this one
BESIDE = CHARGED // 2  # whatever else comes and goes meanwhile


@pytest.fixture
def kernel_memory() -> Iterator[Path]:
    """A cgroup that this process is in meanwhile."""
    mine = Path("/proc/self/cgroup").read_text(encoding="ascii").strip().rpartition(":")[2]
    root = Path("/sys/fs/cgroup")
    (root / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
    grown = root / "grown"
    grown.mkdir(exist_ok=True)
    (grown / "cgroup.procs").write_text("0", encoding="ascii")
    yield grown
    (root / mine[1:] / "cgroup.procs").write_text("0", encoding="ascii")


def test_larger_hash_of_addresses_is_charged_to_who_adds_the_next_one(kernel_memory: Path) -> None:
    with Netlink() as nl:
        index = nl.add_link("d0", "dummy")
        body = struct.pack("BBBBI", socket.AF_INET6, 128, 0, 0, index)
        there = len(Path("/proc/thread-self/net/if_inet6").read_text(encoding="ascii").splitlines())
        local = (attr(IFA_LOCAL, b"\xfd" + bytes(11) + struct.pack(">I", number)) for number in range(1 << 32))
        many = ((NEWADDR, CREATE_EXCL, body + next(local) + NODAD) for _ in range(ENTRIES - there))
        assert nl.send_many(many).error == 0
        before = charged(kernel_memory, "kernel")
        assert nl.ask(NEWADDR, CREATE_EXCL, body + next(local) + NODAD).error == 0
        assert abs(charged(kernel_memory, "kernel") - before - CHARGED) < BESIDE


def test_larger_hash_of_names_is_charged_to_who_adds_the_next_one(kernel_memory: Path) -> None:
    with Netlink() as nl:
        # The names of one link fill an attribute before they are so many.
        indexes = [nl.add_link(f"d{number}", "dummy") for number in range(64)]
        there = len(nl.links())

        def named(number: int) -> bytes:
            head = struct.pack("BxHiII", 0, 0, indexes[number % len(indexes)], 0, 0)
            return head + nest(PROP_LIST, attr(ALT_IFNAME, f"another{number}"))

        many = ((NEWLINKPROP, CREATE_EXCL, named(number)) for number in range(ENTRIES - there))
        assert nl.send_many(many).error == 0
        before = charged(kernel_memory, "kernel")
        assert nl.ask(NEWLINKPROP, CREATE_EXCL, named(ENTRIES)).error == 0
        assert abs(charged(kernel_memory, "kernel") - before - CHARGED) < BESIDE
