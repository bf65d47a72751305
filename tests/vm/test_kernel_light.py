# SPDX-License-Identifier: GPL-2.0-or-later
"""Lightweight links on the patched kernel: what they lack, and that all else works on top of the lack."""

import errno
import itertools
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import (
    AF_SPEC,
    CREATE,
    DELLINK,
    GROUP,
    IFA_LOCAL,
    IFNAME,
    INFO_KIND,
    LIGHT,
    LINK,
    LINKINFO,
    MASTER,
    MTU,
    NEWADDR,
    NEWLINK,
    Netlink,
    attr,
    nest,
    u32,
)
from tests.waiting import eventually

pytestmark = pytest.mark.vm("patched")
NO_SYSFS_EXTRA, NO_DEVCONF, NO_INET, NO_INET6, NO_UEVENT, NO_SYSFS = 1, 2, 4, 8, 16, 32
ALL = NO_SYSFS_EXTRA | NO_DEVCONF | NO_INET | NO_INET6 | NO_UEVENT
EACH = [0, 1, 2, 4, 8, 16, NO_SYSFS_EXTRA | NO_DEVCONF, NO_SYSFS, ALL | NO_SYSFS]


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in a namespace that /sys and /proc/sys show."""
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    with Netlink() as opened:
        yield opened
    subprocess.run(["umount", "/sys"], check=True)


def vlan(nl: Netlink, name: str, lower: int, vid: int, *attrs: bytes) -> int:
    """Stack a VLAN on a link."""
    return nl.add_link(name, "vlan", attr(LINK, lower), *attrs, data=attr(1, struct.pack("H", vid)))


def test_flags_are_reported_back(nl: Netlink) -> None:
    assert u32(nl.get(nl.add_link("d0", "dummy", attr(LIGHT, ALL)))[LIGHT]) == ALL
    assert LIGHT not in nl.get(nl.add_link("d1", "dummy"))


def test_sysfs_keeps_the_link_and_drops_its_directories(nl: Netlink) -> None:
    nl.add_link("d0", "dummy")
    nl.add_link("d1", "dummy", attr(LIGHT, NO_SYSFS_EXTRA))
    names = [{one.name for one in Path(f"/sys/class/net/d{k}").iterdir()} for k in (0, 1)]
    assert {"statistics", "queues"} <= names[0] - names[1] <= {"statistics", "queues", "power"}
    assert (Path("/sys/class/net/d1/mtu")).read_text(encoding="ascii") == "1500\n"


def test_link_without_sysfs_is_not_there(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy", attr(LIGHT, NO_SYSFS))
    assert u32(nl.get(index)[LIGHT]) == NO_SYSFS | NO_SYSFS_EXTRA | NO_UEVENT
    bridge = nl.add_link("br0", "bridge")
    assert nl.link(NEWLINK, attr(MASTER, bridge), index=index).error == 0
    assert {one.name for one in Path("/sys/class/net").iterdir()} - {"bonding_masters"} == {"lo", "br0"}
    assert list(Path("/sys/class/net/br0/brif").iterdir()) == []


@pytest.mark.parametrize(("port", "master"), [(NO_SYSFS, 0), (0, NO_SYSFS), (NO_SYSFS, NO_SYSFS)])
@pytest.mark.parametrize("kind", ["bridge", "bond", "vrf"])
def test_ports_and_masters_without_sysfs(nl: Netlink, kind: str, port: int, master: int) -> None:
    """All that puts links and directories into the one of a device, or renames them."""
    upper = nl.add_link("up0", kind, attr(LIGHT, master), data=attr(1, 9) if kind == "vrf" else b"")
    lower = nl.add_link("lo0", "dummy", attr(LIGHT, port))
    other = nl.add_link("lo1", "dummy")
    for index in (lower, other):
        assert nl.link(NEWLINK, attr(MASTER, upper), index=index).error == 0
    for name, index in (("up1", upper), ("lo2", lower)):
        assert nl.link(NEWLINK, attr(IFNAME, name), index=index).error == 0
    assert nl.link(NEWLINK, attr(MASTER, 0), index=lower).error == 0
    assert nl.link(NEWLINK, attr(MASTER, upper), index=lower).error == 0
    assert nl.link(DELLINK, index=upper).error == 0
    assert MASTER not in nl.get(lower)


@pytest.mark.parametrize("kind", ["macvtap", "ipvtap"])
def test_character_device_needs_sysfs(nl: Netlink, kind: str) -> None:
    lower = nl.add_link("d0", "dummy")
    info = nest(LINKINFO, attr(INFO_KIND, kind))
    reply = nl.link(NEWLINK, attr(IFNAME, "t0"), attr(LINK, lower), info, attr(LIGHT, NO_SYSFS), flags=CREATE)
    assert (reply.error, reply.text) == (errno.EOPNOTSUPP, "The character device needs the device in sysfs")


def test_link_without_devconf_has_no_sysctls_and_the_defaults(nl: Netlink) -> None:
    Path("/proc/sys/net/ipv4/conf/default/rp_filter").write_text("2", encoding="ascii")
    index = nl.add_link("d0", "dummy", attr(LIGHT, NO_DEVCONF))
    for tree in ("ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh", "mpls/conf"):
        assert not Path(f"/proc/sys/net/{tree}/d0").exists()
    families = dict(socket_families(nl, index))
    rp_filter = struct.unpack_from("I", families[2], 4 + 4 * (8 - 1))[0]
    assert rp_filter == 2


def socket_families(nl: Netlink, index: int) -> Iterator[tuple[int, bytes]]:
    """What IFLA_AF_SPEC has for each family."""
    blob = nl.get(index)[AF_SPEC]
    at = 0
    while at < len(blob):
        size, kind = struct.unpack_from("HH", blob, at)
        yield kind, blob[at + 4 : at + size]
        at += (size + 3) & ~3


def test_defaults_survive_the_link(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy", attr(LIGHT, NO_DEVCONF))
    assert nl.link(DELLINK, index=index).error == 0
    assert Path("/proc/sys/net/ipv6/conf/default/mtu").read_text(encoding="ascii")
    nl.add_link("d1", "dummy")
    assert Path("/proc/sys/net/ipv6/conf/d1/mtu").read_text(encoding="ascii") == "1500\n"


@pytest.mark.parametrize(
    ("flag", "prefix", "family"), [(NO_INET, b"\x0a\0\0\1", 2), (NO_INET6, b"\xfd" + bytes(14) + b"\1", 10)]
)
def test_link_without_a_protocol_refuses_its_addresses(nl: Netlink, flag: int, prefix: bytes, family: int) -> None:
    light = nl.add_link("d0", "dummy", attr(LIGHT, flag))
    full = nl.add_link("d1", "dummy")
    plen = len(prefix) * 8
    reply = nl.address(NEWADDR, family, plen, attr(IFA_LOCAL, prefix), index=light)
    assert reply.error in (errno.ENOBUFS, errno.EAFNOSUPPORT)
    assert "disabled on this device" in reply.text
    assert nl.address(NEWADDR, family, plen, attr(IFA_LOCAL, prefix), index=full).error == 0
    assert family not in dict(socket_families(nl, light))
    # an MTU that was too small for the protocol brings it back on other links
    for mtu in (67, 1500):
        assert nl.link(NEWLINK, attr(MTU, mtu), index=light).error == 0
    assert nl.address(NEWADDR, family, plen, attr(IFA_LOCAL, prefix), index=light).error == reply.error


def test_existing_link_can_not_become_light(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy", attr(GROUP, 5))
    for selected in (index, 0):
        reply = nl.link(NEWLINK, attr(GROUP, 5), attr(LIGHT, 1), index=selected)
        assert reply.error == errno.EOPNOTSUPP
        assert reply.text.endswith("Only a new device can be made light")


def test_unknown_flag_is_refused(nl: Netlink) -> None:
    info = nest(LINKINFO, attr(INFO_KIND, "dummy"))
    reply = nl.link(NEWLINK, attr(IFNAME, "d0"), info, attr(LIGHT, 1 << 30), flags=CREATE)
    assert reply.error in (errno.EINVAL, errno.ERANGE)
    assert reply.text


@pytest.mark.parametrize("flags", EACH, ids=bin)
@pytest.mark.parametrize("kind", ["dummy", "bridge", "ifb", "vrf"])
def test_everything_is_done_to_a_light_link(nl: Netlink, kind: str, flags: int) -> None:
    data = attr(1, 77) if kind == "vrf" else b""
    index = nl.add_link("x0", kind, attr(LIGHT, flags), data=data)
    bridge = nl.add_link("br9", "bridge")
    vrf = nl.add_link("vrf9", "vrf", data=attr(1, 9))
    assert nl.link(NEWLINK, index=index, up=True).error == 0
    if kind in ("dummy", "bridge"):
        top = vlan(nl, "x0.7", index, 7, attr(LIGHT, flags))
        assert nl.link(NEWLINK, index=top, up=True).error == 0
    for master in (bridge, vrf) if kind in ("dummy", "ifb") else (vrf,) if kind == "bridge" else ():
        for value in (master, 0):
            assert nl.link(NEWLINK, attr(MASTER, value), index=index).error == 0
    assert nl.link(NEWLINK, index=index, up=False).error == 0
    assert nl.link(NEWLINK, attr(IFNAME, "y0"), index=index).error == 0
    child = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
    try:
        mine = Path("/proc/self/ns/net").readlink()
        eventually(lambda: Path(f"/proc/{child.pid}/ns/net").readlink() != mine)
        if kind == "dummy":
            assert nl.link(NEWLINK, attr(19, child.pid), index=index).error == 0
        else:
            assert nl.link(DELLINK, index=index).error == 0
    finally:
        child.kill()
        child.wait()


def test_light_ports_by_the_hundred(nl: Netlink) -> None:
    lower = nl.add_link("low", "dummy", attr(LIGHT, ALL))
    assert nl.link(NEWLINK, index=lower, up=True).error == 0
    bridge = nl.add_link("br9", "bridge", attr(LIGHT, ALL))
    for vid in range(1, 101):
        vlan(nl, f"p{vid}", lower, vid, attr(LIGHT, ALL), attr(GROUP, 5), attr(MASTER, bridge))
    assert nl.link(NEWLINK, attr(GROUP, 5), up=True).error == 0
    assert len(nl.links(attr(MASTER, bridge))) == 100
    assert nl.link(DELLINK, attr(GROUP, 5)).error == 0
    assert nl.links(attr(MASTER, bridge)) == {}


def test_no_event_is_sent_for_a_quiet_link(nl: Netlink) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15) as events:
        events.bind((0, 1))
        nl.add_link("d0", "dummy", attr(LIGHT, NO_UEVENT))
        nl.link(NEWLINK, attr(IFNAME, "e0"), index=socket.if_nametoindex("d0"))
        nl.link(DELLINK, index=socket.if_nametoindex("e0"))
        nl.add_link("d1", "dummy")
        first = events.recv(8192).split(b"\0")[0]
    assert first == b"add@/devices/virtual/net/d1"


@pytest.mark.parametrize("flag", [NO_UEVENT, NO_SYSFS])
def test_no_event_is_sent_for_a_quiet_link_that_was_elsewhere(nl: Netlink, flag: int) -> None:
    nl.add_link("d0", "dummy", attr(LIGHT, flag))
    subprocess.run(["ip", "netns", "add", "elsewhere"], check=True)
    try:
        subprocess.run(["ip", "link", "set", "d0", "netns", "elsewhere"], check=True)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15) as events:
            events.bind((0, 1))
            back = ["ip", "-n", "elsewhere", "link", "set", "d0", "netns", str(os.getpid())]
            subprocess.run(back, check=True)
            nl.link(NEWLINK, attr(IFNAME, "e0"), index=socket.if_nametoindex("d0"))
            nl.link(DELLINK, index=socket.if_nametoindex("e0"))
            nl.add_link("d1", "dummy")
            first = events.recv(8192).split(b"\0")[0]
        assert first == b"add@/devices/virtual/net/d1"
    finally:
        subprocess.run(["ip", "netns", "del", "elsewhere"], check=True)


def test_each_pair_of_flags_is_made_and_deleted(nl: Netlink) -> None:
    for one, other in itertools.combinations(EACH, 2):
        index = nl.add_link("d0", "dummy", attr(LIGHT, one | other))
        assert nl.link(NEWLINK, index=index, up=True).error == 0
        assert nl.link(DELLINK, index=index).error == 0
