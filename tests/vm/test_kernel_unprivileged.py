# SPDX-License-Identifier: GPL-2.0-or-later
"""A user who is root in namespaces of his own only: what is new works there, and reaches nothing outside.

What the kernel keeps for his links is charged to him.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.vm.charged import charged
from tests.vm.kernel_netlink import (
    BATCHTFILTER,
    BULK,
    CREATE,
    DELLINK,
    DUMP,
    GETADDR,
    GETLINK,
    GROUP,
    GROUP_MASK,
    IFA_GROUP,
    LIGHT,
    NEW_GROUP,
    NEWLINK,
    NEWQDISC,
    Netlink,
    Reply,
    attr,
)
from tests.vm.test_kernel_tc_batch import CLSACT, KIND, batch, count, entry, flower
from tests.waiting import eventually

pytestmark = pytest.mark.vm("patched")
NOBODY, NEWUSER, NEWNET = 65534, 0x10000000, 0x40000000
NEWNSID, NSID, NSID_PID = 88, 1, 2
NET_NS_PID, TARGET_NETNSID, IFA_TARGET_NETNSID = 19, 46, 10
MINE, OUTSIDE = attr(GROUP, 5), 7
ALL_LIGHT = attr(LIGHT, 63)


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in a namespace with three members of a group, that the user is not to touch."""
    with Netlink() as opened:
        for number in range(3):
            opened.add_link(f"d{number}", "dummy", MINE)
        yield opened


def unshare(what: int) -> None:
    """Leave a namespace for a new one."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(what) == 0, os.strerror(ctypes.get_errno())


def as_root_of_his_own(action: Callable[[Netlink, int], object]) -> str:
    """Do this as a user who is root in namespaces of his own, and knows ours; return what he says."""
    outside = os.getpid()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        ctypes.CDLL(None).prctl(4, 1)  # or what he has in /proc would be root's
        unshare(NEWUSER | NEWNET)
        Path("/proc/self/uid_map").write_text(f"0 {NOBODY} 1")
        try:
            with Netlink() as his:
                his.ask(NEWNSID, 0, bytes(4) + attr(NSID, OUTSIDE) + attr(NSID_PID, outside))
                said = repr(action(his, outside))
        except BaseException as error:
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_what_is_new_works_in_a_namespace_of_his_own() -> None:
    def action(his: Netlink, _: int) -> object:
        index = his.add_link("x0", "dummy", attr(GROUP, 9), ALL_LIGHT)
        his.add_link("x1", "dummy", attr(GROUP, 9))
        qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, CLSACT, 0) + attr(KIND, "clsact")
        done = [
            his.ask(NEWQDISC, CREATE, qdisc).error,
            batch(his, *(entry(flower(index, k)) for k in range(300)), threads=4).error,
            count(his, index),
            his.link(NEWLINK, attr(GROUP, 9), attr(NEW_GROUP, 10)).error,
            len(his.links(attr(GROUP, 10))),
            his.link(DELLINK, attr(GROUP, 10), flags=BULK).error,
        ]
        return [*done, len(his.links(attr(GROUP, 10)))]

    assert as_root_of_his_own(action) == repr([0, 0, 300, 0, 2, 0, 0])


REQUESTS = [
    pytest.param(lambda his, _: his.link(DELLINK, MINE, attr(TARGET_NETNSID, OUTSIDE), flags=BULK), id="bulk_delete"),
    pytest.param(
        lambda his, _: his.link(DELLINK, MINE, attr(GROUP_MASK, 0xFF), attr(TARGET_NETNSID, OUTSIDE)), id="group_delete"
    ),
    pytest.param(
        lambda his, _: his.link(GETLINK, MINE, attr(TARGET_NETNSID, OUTSIDE), flags=DUMP), id="links_by_group"
    ),
    pytest.param(
        lambda his, _: his.address(GETADDR, 2, 0, attr(IFA_GROUP, 5), attr(IFA_TARGET_NETNSID, OUTSIDE), flags=DUMP),
        id="addresses_by_group",
    ),
    pytest.param(lambda his, pid: pushed(his, attr(NET_NS_PID, pid)), id="move_a_group_out"),
    pytest.param(lambda his, _: pushed(his, attr(TARGET_NETNSID, OUTSIDE)), id="move_a_group_to_a_number"),
]


def pushed(his: Netlink, where: bytes) -> Reply:
    """What is said when a group is to go to another namespace."""
    for number in range(2):
        his.add_link(f"x{number}", "dummy", attr(GROUP, 9))
    return his.link(NEWLINK, attr(GROUP, 9), where)


@pytest.mark.parametrize("request_of", REQUESTS)
def test_namespace_of_others_is_out_of_reach(nl: Netlink, request_of: Callable[[Netlink, int], Reply]) -> None:
    before = nl.links().keys()
    said = as_root_of_his_own(lambda his, pid: request_of(his, pid).error)
    assert said in {repr(errno.EPERM), repr(errno.EACCES)}
    assert nl.links().keys() == before
    assert len(nl.links(MINE)) == 3


def test_batch_finds_no_link_of_others(nl: Netlink) -> None:
    theirs = max(nl.links()) + 100
    index = nl.add_link("hook", "dummy", attr(GROUP, 6))
    assert index < theirs
    qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, CLSACT, 0) + attr(KIND, "clsact")
    assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
    said = as_root_of_his_own(lambda his, _: batch(his, *(entry(flower(index, k)) for k in range(200))).text)
    assert said == repr("200 of 200 entries failed")
    assert count(nl, index) == 0


def test_batch_of_a_user_without_a_namespace_is_refused(nl: Netlink) -> None:
    os.seteuid(NOBODY)
    try:
        reply = nl.ask(BATCHTFILTER, 0, bytes(8))
    finally:
        os.seteuid(0)
    assert reply.error == errno.EPERM


def sent_messages(name: str) -> int:
    """How many ICMPv6 messages a link has sent."""
    counters = (Path("/proc/net/dev_snmp6") / name).read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in counters if line.startswith("Icmp6OutMsgs"))


def kernel_bytes(cgroup: Path) -> int:
    """What the kernel keeps for a cgroup, without names of files that it forgets by itself."""
    return charged(cgroup, "slab_unreclaimable")


def test_counters_of_a_link_are_charged_to_whom_it_is_whoever_sends() -> None:
    mine = Path("/proc/self/cgroup").read_text(encoding="ascii").strip().rpartition(":")[2]
    root = Path("/sys/fs/cgroup")
    (root / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
    his = root / "his"
    his.mkdir()
    names = [f"his{number}" for number in range(64)]
    with Netlink() as nl:
        (his / "cgroup.procs").write_text("0", encoding="ascii")
        for name in names:
            nl.add_link(name, "dummy", MINE)
        (root / mine[1:] / "cgroup.procs").write_text("0", encoding="ascii")
        before = kernel_bytes(his)
        assert nl.link(NEWLINK, MINE, up=True).error == 0
        eventually(lambda: all(map(sent_messages, names)))
        assert kernel_bytes(his) - before >= 0.9 * len(names) * 4096
        assert nl.link(DELLINK, MINE).error == 0
