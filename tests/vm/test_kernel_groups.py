# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests by group on the patched kernel: message, reply, effect."""

import errno
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import (
    ADDRESS,
    CREATE,
    DELLINK,
    DUMP,
    DUMP_FILTERED,
    GETLINK,
    GROUP,
    GROUP_ADDRESS,
    GROUP_INHERIT,
    GROUP_MASK,
    IFF_UP,
    IFNAME,
    INFO_KIND,
    LINK,
    LINKINFO,
    MASTER,
    MTU,
    NEW_GROUP,
    NEWLINK,
    Netlink,
    attr,
    nest,
    parse,
    split,
    u32,
)

pytestmark = pytest.mark.vm("patched")
VRF_TABLE, VLAN_ID = 1, 1
IFF_NOARP = 0x80


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in the test's network namespace."""
    with Netlink() as opened:
        yield opened


def dummies(nl: Netlink, count: int, group: int, *attrs: bytes, prefix: str = "d") -> list[int]:
    """Make dummies in a group."""
    return [nl.add_link(f"{prefix}{number}", "dummy", attr(GROUP, group), *attrs) for number in range(count)]


def by_group(group: int, mask: int | None = None) -> list[bytes]:
    """Select by group."""
    return [attr(GROUP, group)] + ([attr(GROUP_MASK, mask)] if mask is not None else [])


def vlan(nl: Netlink, name: str, lower: int, vid: int, *attrs: bytes) -> int:
    """Stack a VLAN on a link."""
    return nl.add_link(name, "vlan", attr(LINK, lower), *attrs, data=attr(VLAN_ID, struct.pack("H", vid)))


def test_mask_changes_the_members_of_every_group_below_a_prefix(nl: Netlink) -> None:
    inside = dummies(nl, 2, 0x70001) + dummies(nl, 2, 0x70002, prefix="e")
    outside = dummies(nl, 1, 0x80001, prefix="f")
    assert nl.link(NEWLINK, *by_group(0x70000, 0xFFFF0000), attr(MTU, 1400)).error == 0
    assert {u32(nl.get(index)[MTU]) for index in inside} == {1400}
    assert u32(nl.get(outside[0])[MTU]) == 1500
    assert [u32(nl.get(index)[GROUP]) for index in inside] == [0x70001, 0x70001, 0x70002, 0x70002]


@pytest.mark.parametrize(("group", "mask", "want"), [(5, None, 3), (4, 6, 5), (0, 1 << 31, 7), (0x7FFFFFF0, None, 0)])
def test_dump_by_group_sends_the_members_and_nothing_else(nl: Netlink, group: int, mask: int | None, want: int) -> None:
    dummies(nl, 3, 5)
    dummies(nl, 2, 4, prefix="e")
    before = set(nl.links())
    extra = len(before) - 5 if group == 0 else 0
    reply = nl.link(GETLINK, *by_group(group, mask), flags=DUMP)
    assert reply.error == 0
    assert len(reply.messages) == (5 + extra if group == 0 else want)
    assert all(message.flags & DUMP_FILTERED for message in reply.messages)


def test_dump_by_group_goes_on_where_a_full_buffer_stopped_it(nl: Netlink) -> None:
    members = dummies(nl, 120, 9)
    dummies(nl, 20, 8, prefix="e")
    assert sorted(nl.links(*by_group(9))) == members


@pytest.mark.parametrize("request_kind", [GETLINK, NEWLINK, DELLINK])
def test_mask_without_a_group_is_refused(nl: Netlink, request_kind: int) -> None:
    reply = nl.link(request_kind, attr(GROUP_MASK, 7), flags=DUMP if request_kind == GETLINK else 0)
    assert (reply.error, reply.text) == (errno.EINVAL, "Group mask without a group")


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(attr(GROUP_MASK, b"abc"), id="short"),
        pytest.param(attr(GROUP_MASK, b"abcdefgh"), id="long"),
        pytest.param(attr(GROUP_MASK, 0), id="mask_of_nothing"),
        pytest.param(attr(NEW_GROUP, b"abc"), id="short_new_group"),
        pytest.param(attr(GROUP_INHERIT, 2), id="inherit_two"),
        pytest.param(attr(GROUP_ADDRESS, b""), id="not_a_nest"),
        pytest.param(nest(GROUP_ADDRESS), id="nest_without_base"),
        pytest.param(nest(GROUP_ADDRESS, attr(1, b"12345")), id="short_base"),
        pytest.param(nest(GROUP_ADDRESS, attr(1, bytes(6)), attr(9, 1)), id="unknown_in_nest"),
    ],
)
def test_malformed_attribute_is_refused_with_a_sentence_and_nothing_changes(nl: Netlink, bad: bytes) -> None:
    member = dummies(nl, 1, 5)[0]
    before = nl.get(member)
    reply = nl.link(NEWLINK, *by_group(5), bad, attr(MTU, 1300))
    assert reply.error in (errno.EINVAL, errno.ERANGE)
    assert reply.text
    assert nl.get(member)[MTU] == before[MTU]


@pytest.mark.parametrize("modifier", [attr(GROUP_MASK, 1), attr(NEW_GROUP, 3), nest(GROUP_ADDRESS, attr(1, b"\2" * 6))])
def test_modifier_of_groups_is_refused_for_a_single_link(nl: Netlink, modifier: bytes) -> None:
    member = dummies(nl, 1, 5)[0]
    replies = [
        nl.link(NEWLINK, attr(GROUP, 5), modifier, index=member),
        nl.link(DELLINK, attr(GROUP, 5), modifier, index=member),
        nl.link(NEWLINK, attr(IFNAME, "x0"), nest(LINKINFO, attr(INFO_KIND, "dummy")), modifier, flags=CREATE),
    ]
    assert {(one.error, one.text) for one in replies} == {(errno.EINVAL, "Attribute is for requests by group only")}


def test_group_moves_to_another_group(nl: Netlink) -> None:
    members = dummies(nl, 3, 5)
    assert nl.link(NEWLINK, *by_group(5), attr(NEW_GROUP, 0x50001)).error == 0
    assert sorted(nl.links(*by_group(0x50001))) == members
    assert nl.links(*by_group(5)) == {}


def test_regrouping_inside_the_selection_visits_each_member_once(nl: Netlink) -> None:
    members = dummies(nl, 2, 0x50001) + dummies(nl, 2, 0x50002, prefix="e")
    base = nest(GROUP_ADDRESS, attr(1, bytes.fromhex("020000000001")))
    assert nl.link(NEWLINK, *by_group(0x50000, 0xFFFF0000), attr(NEW_GROUP, 0x50009), base).error == 0
    assert [nl.get(index)[ADDRESS].hex() for index in members] == [f"02000000000{k}" for k in (1, 2, 3, 4)]
    assert sorted(nl.links(*by_group(0x50009))) == sorted(members)


def test_member_that_can_not_take_a_value_is_named_and_none_is_changed(nl: Netlink) -> None:
    members = dummies(nl, 3, 5)
    vrf = nl.add_link("vrf9", "vrf", attr(GROUP, 5), data=attr(VRF_TABLE, 9))
    reply = nl.link(NEWLINK, *by_group(5), attr(MTU, 70000))
    assert reply.error == errno.EINVAL
    assert reply.text == "vrf9: mtu greater than device maximum"
    assert reply.cookie == vrf
    assert {u32(nl.get(index)[MTU]) for index in members} == {1500}


def test_member_that_refuses_at_work_is_named(nl: Netlink) -> None:
    lower = nl.add_link("low", "dummy")
    first = dummies(nl, 1, 5)[0]
    stacked = vlan(nl, "low.7", lower, 7, attr(GROUP, 5))
    reply = nl.link(NEWLINK, *by_group(5), attr(MTU, 9000))
    assert (reply.error, reply.text, reply.cookie) == (errno.ERANGE, "low.7 refused", stacked)
    assert u32(nl.get(first)[MTU]) == 9000


@pytest.mark.parametrize(("master", "code"), [("none", errno.EINVAL), ("d0", errno.EOPNOTSUPP)])
def test_impossible_master_is_refused_before_anything_happens(nl: Netlink, master: str, code: int) -> None:
    dummies(nl, 2, 5, attr(MTU, 1400))
    index = socket.if_nametoindex(master) if master != "none" else 4711
    reply = nl.link(NEWLINK, *by_group(5), attr(MASTER, index), attr(MTU, 1300))
    assert reply.error == code
    assert "aster" in reply.text
    assert {u32(one[MTU]) for one in nl.links(*by_group(5)).values()} == {1400}


def test_group_enters_and_leaves_a_vrf_and_is_up_as_before(nl: Netlink) -> None:
    vrf = nl.add_link("vrf9", "vrf", data=attr(VRF_TABLE, 9))
    members = dummies(nl, 6, 5)
    down = members.pop()
    assert nl.link(NEWLINK, *by_group(5), up=True).error == 0
    assert nl.link(NEWLINK, index=down, up=False).error == 0
    for master in (vrf, 0):
        assert nl.link(NEWLINK, *by_group(5), attr(MASTER, master)).error == 0
        assert all(nl.flags(index) & IFF_UP for index in members)
        assert not nl.flags(down) & IFF_UP
        masters = {u32(one.get(MASTER, bytes(4))) for one in nl.links(*by_group(5)).values()}
        assert masters == {master}


def test_refused_enslaving_opens_the_members_again(nl: Netlink) -> None:
    vrf = nl.add_link("vrf9", "vrf", data=attr(VRF_TABLE, 9))
    members = dummies(nl, 2, 5)
    other = nl.add_link("vrf8", "vrf", attr(GROUP, 5), data=attr(VRF_TABLE, 8))
    assert nl.link(NEWLINK, *by_group(5), up=True).error == 0
    reply = nl.link(NEWLINK, *by_group(5), attr(MASTER, vrf))
    assert reply.error == errno.EINVAL
    assert reply.text.startswith("vrf8: ")
    assert reply.cookie == other
    assert all(nl.flags(index) & IFF_UP for index in members)


@pytest.mark.parametrize("kind", ["bond", "team"])
def test_group_that_is_up_does_not_leave_a_vrf_for_what_takes_links_that_are_down_only(nl: Netlink, kind: str) -> None:
    vrf = nl.add_link("vrf9", "vrf", data=attr(VRF_TABLE, 9))
    members = dummies(nl, 2, 5, attr(MASTER, vrf))
    assert nl.link(NEWLINK, *by_group(5), up=True).error == 0
    alone = nl.add_link("alone", "dummy", attr(MASTER, vrf))
    assert nl.link(NEWLINK, index=alone, up=True).error == 0
    master = attr(MASTER, nl.add_link("m0", kind))
    want = nl.link(NEWLINK, master, index=alone)
    assert "up" in want.text
    reply = nl.link(NEWLINK, *by_group(5), master)
    assert (reply.error, reply.text, reply.cookie) == (want.error, f"d0: {want.text}", members[0])
    assert all(nl.flags(index) & IFF_UP for index in members)
    assert u32(nl.get(members[1])[MASTER]) == vrf


def test_group_goes_down_and_up(nl: Netlink) -> None:
    members = dummies(nl, 5, 5)
    for up in (True, False, True):
        assert nl.link(NEWLINK, *by_group(5), up=up).error == 0
        assert {bool(nl.flags(index) & IFF_UP) for index in members} == {up}


def test_group_goes_down_on_its_way_into_a_vrf_whose_flags_have_no_mask(nl: Netlink) -> None:
    vrf = nl.add_link("vrf9", "vrf", data=attr(VRF_TABLE, 9))
    members = dummies(nl, 3, 5)
    assert nl.link(NEWLINK, *by_group(5), up=True).error == 0
    all_flags = struct.pack("BxHiII", 0, 0, 0, IFF_NOARP, 0)
    assert nl.ask(NEWLINK, 0, all_flags + b"".join(by_group(5)) + attr(MASTER, vrf)).error == 0
    assert {u32(nl.get(index)[MASTER]) for index in members} == {vrf}
    assert [nl.flags(index) & (IFF_UP | IFF_NOARP) for index in members] == [IFF_NOARP] * 3


def test_refused_group_leaves_the_members_behind_up(nl: Netlink) -> None:
    members = dummies(nl, 4, 5)
    bridge = nl.add_link("br9", "bridge")
    nl.add_link("mv0", "macvlan", attr(LINK, members[2]))  # no port of a bridge from now on
    assert nl.link(NEWLINK, *by_group(5), up=True).error == 0
    reply = nl.link(NEWLINK, *by_group(5), attr(MASTER, bridge), up=False)
    assert (reply.error, reply.cookie) == (errno.EBUSY, members[2])
    assert [bool(nl.flags(index) & IFF_UP) for index in members] == [False, False, True, True]
    assert [MASTER in nl.get(index) for index in members] == [True, True, False, False]


def test_addresses_count_up_by_rank(nl: Netlink) -> None:
    members = dummies(nl, 3, 5)
    spec = (attr(1, bytes.fromhex("0200000000f0")), attr(2, struct.pack("q", 16)), attr(3, 1))
    assert nl.link(NEWLINK, *by_group(5), nest(GROUP_ADDRESS, *spec)).error == 0
    assert [nl.get(index)[ADDRESS].hex() for index in members] == ["020000000100", "020000000110", "020000000120"]


def test_addresses_count_down_with_a_negative_stride(nl: Netlink) -> None:
    members = dummies(nl, 3, 5)
    spec = (attr(1, bytes.fromhex("020000000003")), attr(2, struct.pack("q", -1)))
    assert nl.link(NEWLINK, *by_group(5), nest(GROUP_ADDRESS, *spec)).error == 0
    assert [nl.get(index)[ADDRESS].hex() for index in members] == ["020000000003", "020000000002", "020000000001"]


@pytest.mark.parametrize(
    ("base", "stride", "first", "code"),
    [
        pytest.param("fffffffffffe", 1, 0, errno.EADDRNOTAVAIL, id="multicast"),
        pytest.param("fefffffffffe", 1, 0, errno.EADDRNOTAVAIL, id="runs_into_multicast"),
        pytest.param("000000000002", -1, 0, errno.EADDRNOTAVAIL, id="runs_into_zero"),
        pytest.param("020000000000", 1 << 40, 300, errno.ERANGE, id="leaves_48_bits"),
        pytest.param("020000000000", (1 << 63) - 1, 2, errno.ERANGE, id="leaves_64_bits"),
        pytest.param("020000000000", -(1 << 63), 0xFFFFFFFF, errno.ERANGE, id="leaves_64_bits_below"),
    ],
)
def test_address_that_can_not_be_is_refused_for_all(nl: Netlink, base: str, stride: int, first: int, code: int) -> None:
    members = dummies(nl, 4, 5)
    before = [nl.get(index)[ADDRESS] for index in members]
    spec = (attr(1, bytes.fromhex(base)), attr(2, struct.pack("q", stride)), attr(3, first))
    reply = nl.link(NEWLINK, *by_group(5), nest(GROUP_ADDRESS, *spec))
    assert reply.error == code
    assert reply.text
    assert reply.cookie in members
    assert [nl.get(index)[ADDRESS] for index in members] == before


def test_addresses_are_refused_for_a_member_without_ethernet(nl: Netlink) -> None:
    members = dummies(nl, 1, 5)
    before = nl.get(members[0])[ADDRESS]
    nl.add_link("tun9", "ipip", attr(GROUP, 5), data=attr(2, b"\x0a\0\0\1") + attr(3, b"\x0a\0\0\2"))
    reply = nl.link(NEWLINK, *by_group(5), nest(GROUP_ADDRESS, attr(1, b"\2" * 6)))
    assert (reply.error, reply.text) == (errno.EOPNOTSUPP, "tun9: Device takes no Ethernet address")
    assert nl.get(members[0])[ADDRESS] == before


def _notified(listener: Netlink) -> list[tuple[int, int]]:
    """(ifindex, group) of each notification that waits."""
    listener.socket.setblocking(False)
    found = []
    try:
        while True:
            for one in split(listener.socket.recv(1 << 17)):
                attrs = parse(one.body[16:])
                found.append((struct.unpack_from("i", one.body, 4)[0], u32(attrs[GROUP])))
    except BlockingIOError:
        return found


def test_group_change_is_told_once_whoever_makes_it(nl: Netlink) -> None:
    member = dummies(nl, 1, 5)[0]
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    try:
        with Netlink(1) as listener:
            Path("/sys/class/net/d0/netdev_group").write_text("6", encoding="ascii")
            nl.link(NEWLINK, attr(GROUP, 7), index=member)
            nl.link(NEWLINK, attr(GROUP, 7), index=member)
            nl.link(NEWLINK, *by_group(7), attr(NEW_GROUP, 8))
            assert _notified(listener) == [(member, 6), (member, 7), (member, 8)]
    finally:
        subprocess.run(["umount", "/sys"], check=True)


@pytest.mark.parametrize("up", [False, True])
def test_change_of_inheriting_is_told_once(nl: Netlink, up: bool) -> None:
    member = dummies(nl, 1, 5)[0]
    assert nl.link(NEWLINK, index=member, up=up).error == 0
    with Netlink(1) as listener:
        for value in (1, 1, 0):
            assert nl.link(NEWLINK, attr(GROUP_INHERIT, value), index=member).error == 0
        assert _notified(listener) == [(member, 5)] * 2


def test_stacked_links_inherit_the_group(nl: Netlink) -> None:
    lower = nl.add_link("low", "dummy", attr(GROUP, 5), attr(GROUP_INHERIT, 1))
    upper = vlan(nl, "low.7", lower, 7)
    top = vlan(nl, "low.7.8", upper, 8)
    own = vlan(nl, "low.9", lower, 9, attr(GROUP, 6))
    stacked = nl.add_link("mv0", "macvlan", attr(LINK, lower))
    groups = {index: u32(nl.get(index)[GROUP]) for index in (upper, top, own, stacked)}
    assert groups == {upper: 5, top: 5, own: 6, stacked: 5}
    assert u32(nl.get(top)[GROUP_INHERIT]) == 1
    assert GROUP_INHERIT not in nl.get(own)


def test_master_does_not_inherit_from_a_port(nl: Netlink) -> None:
    bridge = nl.add_link("br9", "bridge")
    nl.add_link("low", "dummy", attr(GROUP, 5), attr(GROUP_INHERIT, 1), attr(MASTER, bridge))
    assert u32(nl.get(bridge)[GROUP]) == 0


def test_inheriting_ends_when_it_is_switched_off(nl: Netlink) -> None:
    lower = nl.add_link("low", "dummy", attr(GROUP, 5), attr(GROUP_INHERIT, 1))
    assert nl.link(NEWLINK, *by_group(5), attr(GROUP_INHERIT, 0)).error == 0
    assert u32(nl.get(vlan(nl, "low.7", lower, 7))[GROUP]) == 0


def test_unprivileged_sender_is_refused(nl: Netlink) -> None:
    dummies(nl, 1, 5)
    os.seteuid(65534)
    try:
        reply = nl.link(NEWLINK, *by_group(5), attr(NEW_GROUP, 6))
    finally:
        os.seteuid(0)
    assert reply.error == errno.EPERM
    assert len(nl.links(*by_group(5))) == 1
