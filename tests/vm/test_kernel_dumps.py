# SPDX-License-Identifier: GPL-2.0-or-later
"""What link messages leave out on request on the patched kernel."""

import errno
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import (
    AF_SPEC,
    CREATE,
    DELADDR,
    DELLINK,
    DUMP,
    DUMP_INTR,
    EXCL,
    EXT_MASK,
    GETADDR,
    GETLINK,
    GETTFILTER,
    GROUP,
    GROUP_MASK,
    IFA_GROUP,
    IFA_GROUP_MASK,
    IFA_LOCAL,
    IFA_MASTER,
    IFNAME,
    MASTER,
    NEWADDR,
    NEWLINK,
    NEWQDISC,
    NEWTFILTER,
    NODAD,
    STATS,
    STATS64,
    Netlink,
    attr,
    nest,
    parse,
    split,
)
from tests.waiting import eventually

pytestmark = pytest.mark.vm("patched")
NAME_ONLY = 1 << 8
SKIP_LINK_STATS, SKIP_AF_SPEC, SKIP_DEVCONF, SKIP_STATS = 1 << 31, 1 << 30, 1 << 29, 1 << 3
AF_INET, AF_INET6, INET6_CONF = 2, 10, 2
LINK_BRIEF, PROP_LIST = 64, 52
TCA_KIND, TCA_OPTIONS, CLSACT, INGRESS, SHOT = 1, 2, 0xFFFFFFF1, 0xFFFFFFF2, 2


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in the test's network namespace."""
    with Netlink() as opened:
        yield opened


def families(attrs: dict[int, bytes]) -> dict[int, dict[int, bytes]]:
    """What IFLA_AF_SPEC has for each family."""
    return {family: parse(value) for family, value in parse(attrs[AF_SPEC]).items()}


def test_statistics_are_left_out_on_request(nl: Netlink) -> None:
    attrs = nl.get(1, attr(EXT_MASK, SKIP_LINK_STATS))
    assert not {STATS, STATS64} & set(attrs)
    assert AF_SPEC in attrs


def test_af_spec_is_left_out_on_request(nl: Netlink) -> None:
    attrs = nl.get(1, attr(EXT_MASK, SKIP_AF_SPEC))
    assert AF_SPEC not in attrs
    assert {STATS, STATS64} <= set(attrs)


def test_devconf_alone_is_left_out_on_request(nl: Netlink) -> None:
    full = families(nl.get(1))
    lean = families(nl.get(1, attr(EXT_MASK, SKIP_DEVCONF)))
    assert AF_INET in full
    assert AF_INET not in lean
    assert set(full[AF_INET6]) - set(lean[AF_INET6]) == {INET6_CONF}


def test_name_alone_is_sent_on_request(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy")
    subprocess.run(("ip", "link", "property", "add", "dev", "d0", "altname", "other"), check=True)
    assert set(nl.get(index, attr(EXT_MASK, NAME_ONLY))) == {IFNAME, PROP_LIST}
    sent = nl.link(GETLINK, attr(EXT_MASK, NAME_ONLY), flags=DUMP).messages
    assert [one.attrs(16).get(IFNAME) for one in sent] == [b"lo\0", b"d0\0"]
    assert 16 + len(sent[0].body) == 40


def test_dump_without_either_is_a_quarter_of_the_size(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy")
    lean = SKIP_LINK_STATS | SKIP_AF_SPEC | SKIP_DEVCONF | SKIP_STATS
    sizes = [
        next(16 + len(one.body) for one in nl.link(GETLINK, *attrs, flags=0x300).messages if one.body[4] == index)
        for attrs in ((), (attr(EXT_MASK, lean),))
    ]
    assert sizes[1] * 4 < sizes[0]


def _dumped_meanwhile(nl: Netlink, moved: int, group: int, *attrs: bytes) -> bool:
    """Whether a dump says that it was not whole when a member gets another group while it runs."""
    with Netlink() as other:
        parts = other.parts(GETLINK, bytes(16) + b"".join(attrs))
        found = list(next(parts))
        assert nl.link(NEWLINK, attr(GROUP, group), index=moved).error == 0
        found += [message for part in parts for message in part]
    assert len(found) > 8
    return any(message.flags & DUMP_INTR for message in found)


@pytest.mark.parametrize(("moved", "group"), [(11, 0x100), (0, 0x1FF)], ids=["to_the_front", "to_the_end"])
def test_dump_by_group_tells_of_a_group_that_changed_meanwhile(nl: Netlink, moved: int, group: int) -> None:
    members = [nl.add_link(f"d{number}", "dummy", attr(GROUP, 0x100 + number)) for number in range(12)]
    assert _dumped_meanwhile(nl, members[moved], group, attr(GROUP, 0x100), attr(GROUP_MASK, 0xFF00))


def test_dump_of_all_links_is_whole_while_groups_change(nl: Netlink) -> None:
    members = [nl.add_link(f"d{number}", "dummy", attr(GROUP, 5)) for number in range(12)]
    assert not _dumped_meanwhile(nl, members[-1], 6)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_addresses_are_dumped_by_group_and_by_master(nl: Netlink, family: socket.AddressFamily) -> None:
    bridge = nl.add_link("br9", "bridge")
    first = nl.add_link("d0", "dummy", attr(GROUP, 5), attr(MASTER, bridge))
    second = nl.add_link("d1", "dummy", attr(GROUP, 6))
    local = {socket.AF_INET: b"\x0a\0\0\1", socket.AF_INET6: b"\xfd" + bytes(14) + b"\1"}[family]
    for index in (first, second):
        assert nl.address(NEWADDR, family, 24, attr(IFA_LOCAL, local), index=index).error == 0

    def links_with(*attrs: bytes) -> list[int]:
        return [index for index, _ in nl.addresses(family, *attrs)]

    assert links_with() == [first, second]
    assert links_with(attr(IFA_GROUP, 5)) == [first]
    assert links_with(attr(IFA_GROUP, 4), attr(IFA_GROUP_MASK, 4)) == [first, second]
    assert links_with(attr(IFA_MASTER, bridge)) == [first]
    assert links_with(attr(IFA_MASTER, 0xFFFFFFFF)) == [second]
    assert links_with(attr(IFA_GROUP, 6), attr(IFA_MASTER, bridge)) == []
    assert links_with(attr(IFA_GROUP, 0x7FFFFFF0)) == []


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_link_that_leaves_the_group_half_dumped_hides_no_addresses_of_the_next(
    nl: Netlink, family: socket.AddressFamily
) -> None:
    count = 200
    first, second = (nl.add_link(name, "dummy", attr(GROUP, 5)) for name in ("d0", "d1"))
    net, plen = {socket.AF_INET: (b"\x0a\0", 32), socket.AF_INET6: (b"\xfd" + bytes(13), 128)}[family]
    requests = [
        struct.pack("BBBBI", family, plen, 0, 0, index)
        + attr(IFA_LOCAL, net + bytes((index, number)))
        + (NODAD if family == socket.AF_INET6 else b"")
        for index in (first, second)
        for number in range(count)
    ]
    assert nl.send_many((NEWADDR, CREATE, request) for request in requests).error == 0
    with Netlink() as other:
        parts = other.parts(GETADDR, struct.pack("BBBBI", family, 0, 0, 0, 0) + attr(IFA_GROUP, 5))
        found = list(next(parts))
        assert nl.link(NEWLINK, attr(GROUP, 6), index=first).error == 0
        found += [message for part in parts for message in part]
    told = [struct.unpack_from("I", one.body, 4)[0] for one in found if one.type == NEWADDR]
    assert 0 < told.count(first) < count
    assert told.count(second) == count


@pytest.mark.parametrize("by", ["link", "group"])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_master_selects_addresses_to_dump_and_none_to_change(
    nl: Netlink, family: socket.AddressFamily, by: str
) -> None:
    bridge = nl.add_link("br9", "bridge")
    port = nl.add_link("d0", "dummy", attr(GROUP, 5), attr(MASTER, bridge))
    nl.add_link("d1", "dummy", attr(GROUP, 5))
    net, plen = {socket.AF_INET: (b"\x0a\0\0", 24), socket.AF_INET6: (b"\xfd" + bytes(14), 64)}[family]
    there, another = (attr(IFA_LOCAL, net + bytes((number,))) for number in (1, 2))
    assert nl.address(NEWADDR, family, plen, attr(IFA_GROUP, 5), there, flags=CREATE).error == 0
    before = nl.addresses(family)
    assert len(before) == 2
    group, index = ((), port) if by == "link" else ((attr(IFA_GROUP, 5),), 0)
    for kind, local in ((NEWADDR, another), (DELADDR, there)):
        reply = nl.address(kind, family, plen, *group, attr(IFA_MASTER, bridge), local, index=index)
        assert reply.error == errno.EINVAL
        assert reply.text.endswith("Attribute is for dumps only")
    assert nl.addresses(family) == before


def test_address_dump_with_a_mask_alone_is_refused(nl: Netlink) -> None:
    reply = nl.address(GETADDR, socket.AF_INET, 0, attr(IFA_GROUP_MASK, 5), flags=DUMP)
    assert (reply.error, reply.text) == (errno.EINVAL, "Group mask without a group")


def test_brief_group_hears_of_links_without_their_statistics(nl: Netlink) -> None:
    with Netlink(LINK_BRIEF) as listener:
        index = nl.add_link("d0", "dummy")
        nl.link(DELLINK, index=index)
        heard = [one for _ in range(2) for one in split(listener.socket.recv(1 << 16))]
    assert [one.type for one in heard] == [NEWLINK, DELLINK]
    for one in heard:
        attrs = one.attrs(16)
        assert attrs[IFNAME] == b"d0\0"
        assert not {STATS, STATS64, AF_SPEC} & set(attrs)


def test_full_group_hears_what_it_always_heard(nl: Netlink) -> None:
    with Netlink(1) as listener:
        nl.add_link("d0", "dummy")
        attrs = next(split(listener.socket.recv(1 << 16))).attrs(16)
    assert {STATS, STATS64, AF_SPEC} <= set(attrs)


def test_icmpv6_counters_of_a_silent_link_are_zero(nl: Netlink) -> None:
    nl.add_link("d0", "dummy")
    rows = Path("/proc/thread-self/net/dev_snmp6/d0").read_text(encoding="ascii").splitlines()
    counters = dict(row.split() for row in rows)
    assert counters["Icmp6OutMLDv2Reports"] == "0"
    assert not any(name.startswith("Icmp6OutType") for name in counters)


def test_icmpv6_counters_of_a_link_that_comes_up_count(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy")
    assert nl.link(NEWLINK, index=index, up=True).error == 0
    path = Path("/proc/thread-self/net/dev_snmp6/d0")
    eventually(lambda: "Icmp6OutType" in path.read_text(encoding="ascii"))


def test_filters_of_matchall_that_a_message_has_no_room_for_come_with_the_next(nl: Netlink) -> None:
    index = nl.add_link("d0", "dummy")
    qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, CLSACT, 0)
    assert nl.ask(NEWQDISC, CREATE, qdisc + attr(TCA_KIND, "clsact")).error == 0
    drop = nest(1, attr(1, "gact"), nest(2, attr(2, struct.pack("IIiii", 0, 0, SHOT, 0, 0))))
    rule = attr(TCA_KIND, "matchall") + nest(TCA_OPTIONS, nest(2, drop))

    def hook(pref: int) -> bytes:
        return struct.pack("BxHiIII", 0, 0, index, 0, INGRESS, pref << 16 | 0x0300 if pref else 0)

    prefs = range(1, 601)
    assert nl.send_many((NEWTFILTER, CREATE | EXCL, hook(pref) + rule) for pref in prefs).error == 0
    told = (struct.unpack_from("iIII", one.body, 4) for one in nl.ask(GETTFILTER, DUMP, hook(0)).messages)
    assert [info >> 16 for _index, handle, _parent, info in told if handle] == [*prefs]
