# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups that go to another network namespace, or to a VRF, by one request."""

import errno
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import GROUP, GROUP_MASK, IFF_UP, LINK, MASTER, NEWLINK, Netlink, attr, u32
from tests.waiting import eventually

pytestmark = pytest.mark.vm("patched")
NET_NS_PID, NET_NS_FD = 19, 28
BY_GROUP = attr(GROUP, 5)


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in a namespace with three members of a group."""
    with Netlink() as opened:
        for number in range(3):
            opened.add_link(f"d{number}", "dummy", BY_GROUP)
        yield opened


@contextmanager
def another_namespace() -> Iterator[int]:
    """A process in a network namespace of its own."""
    child = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
    try:
        mine = Path("/proc/self/ns/net").readlink()
        eventually(lambda: Path(f"/proc/{child.pid}/ns/net").readlink() != mine)
        yield child.pid
    finally:
        child.kill()
        child.wait()


def test_group_moves_to_another_namespace(nl: Netlink) -> None:
    members = nl.links(BY_GROUP).keys()
    with another_namespace() as pid:
        with Path(f"/proc/{pid}/ns/net").open("rb") as theirs:
            reply = nl.link(NEWLINK, BY_GROUP, attr(NET_NS_FD, theirs.fileno()))
        assert reply.error == 0
        assert not members & nl.links().keys()
        assert nl.links(BY_GROUP) == {}


@pytest.mark.parametrize("here", ["none", "dummy", "vrf"])
def test_group_gets_the_master_of_the_namespace_it_moves_to(nl: Netlink, here: str) -> None:
    index = 4242
    assert nl.link(NEWLINK, BY_GROUP, up=True).error == 0
    if here != "none":  # a link with the number of that master, which is not meant
        table = ["table", "7"] if here == "vrf" else []
        subprocess.run(["ip", "link", "add", "name", "here", "index", str(index), "type", here, *table], check=True)
    with another_namespace() as pid:
        there = ["nsenter", "-t", str(pid), "-n", "ip"]
        subprocess.run([*there, "link", "add", "name", "br", "index", str(index), "type", "bridge"], check=True)
        reply = nl.link(NEWLINK, BY_GROUP, attr(NET_NS_PID, pid), attr(MASTER, index))
        assert (reply.error, reply.text) == (0, "")
        told = subprocess.run([*there, "-br", "link", "show", "master", "br"], check=True, capture_output=True)
        assert len(told.stdout.splitlines()) == 3


def test_member_that_has_left_is_not_opened_where_it_went(nl: Netlink) -> None:
    assert nl.link(NEWLINK, BY_GROUP, up=True).error == 0
    first, *others = nl.links(BY_GROUP)
    with another_namespace() as pid:
        no_master = attr(MASTER, 4242)
        reply = nl.link(NEWLINK, BY_GROUP, attr(NET_NS_PID, pid), no_master, up=False)
        assert (reply.error, reply.cookie) == (errno.EINVAL, first)
        assert [bool(nl.flags(index) & IFF_UP) for index in others] == [True, True]
        there = ["nsenter", "-t", str(pid), "-n", "ip", "-o", "link", "show", "up"]
        told = subprocess.run(there, check=True, capture_output=True, text=True).stdout
        assert "d0" not in told


@pytest.mark.parametrize(("kind", "data"), [("vlan", attr(1, struct.pack("H", 9))), ("macsec", b"")])
@pytest.mark.parametrize("upper_group", [0x70001, 0x70003])
def test_members_on_members_enter_a_vrf_and_stay_up(nl: Netlink, kind: str, data: bytes, upper_group: int) -> None:
    """They are closed together for it, and what is above may be the first one to be opened again."""
    vrf = nl.add_link("vrf", "vrf", data=attr(1, 100))
    lower = nl.add_link("lower", "dummy", attr(GROUP, 0x70002))
    upper = nl.add_link("upper", kind, attr(LINK, lower), attr(GROUP, upper_group), data=data)
    for index in (lower, upper):
        assert nl.link(NEWLINK, index=index, up=True).error == 0
    reply = nl.link(NEWLINK, attr(GROUP, 0x70000), attr(GROUP_MASK, 0xFFFF0000), attr(MASTER, vrf))
    assert (reply.error, reply.text) == (0, "")
    for index in (lower, upper):
        assert nl.flags(index) & IFF_UP
        assert u32(nl.get(index)[MASTER]) == vrf
