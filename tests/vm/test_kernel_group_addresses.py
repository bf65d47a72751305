# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses added and deleted by group on the patched kernel: message, reply, effect."""

import errno
import ipaddress
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.vm.kernel_netlink import (
    CREATE,
    DELADDR,
    DUMP,
    EXCL,
    GETADDR,
    GROUP,
    IFA_ADDRESS,
    IFA_FLAGS,
    IFA_GROUP,
    IFA_GROUP_MASK,
    IFA_INCR,
    IFA_LOCAL,
    LIGHT,
    LINK,
    NEWADDR,
    NODAD,
    REPLACE,
    Netlink,
    Reply,
    attr,
)

pytestmark = pytest.mark.vm("patched")
IFA_LABEL, IFA_BROADCAST, IFA_CACHEINFO = 3, 4, 6
IFA_F_PERMANENT, IFA_F_MANAGETEMPADDR = 0x80, 0x100
V4, V6 = socket.AF_INET, socket.AF_INET6


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in a namespace with three links in group 5 and one in group 6."""
    with Netlink() as opened:
        for name, group in (("a", 5), ("b", 5), ("c", 5), ("z", 6)):
            opened.add_link(name, "dummy", attr(GROUP, group))
        yield opened


def packed(text: str) -> bytes:
    """An address in network order."""
    return ipaddress.ip_address(text).packed


def request(
    nl: Netlink, kind: int, prefix: str, incr: str | None, *attrs: bytes, group: int = 5, flags: int = 0
) -> Reply:
    """Ask for the address of the first member and its successors."""
    interface = ipaddress.ip_interface(prefix)
    parts = [attr(IFA_GROUP, group), attr(IFA_LOCAL, interface.packed), *attrs]
    if incr:
        parts.append(attr(IFA_INCR, packed(incr)))
    family = V4 if interface.version == 4 else V6
    return nl.address(kind, family, interface.network.prefixlen, *parts, flags=flags)


def has(nl: Netlink) -> dict[str, list[str]]:
    """The addresses by link, IPv6 link-local ones left out."""
    found: dict[str, list[str]] = {}
    for family in (V4, V6):
        for index, prefix in nl.addresses(family):
            found.setdefault(socket.if_indextoname(index), []).append(prefix)
    return found


CASES = [
    pytest.param("10.0.0.1/24", "0.0.0.1", ["10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24"], id="hosts_of_one_subnet"),
    pytest.param("10.0.0.1/24", "0.0.1.0", ["10.0.0.1/24", "10.0.1.1/24", "10.0.2.1/24"], id="subnets"),
    pytest.param("10.0.0.255/32", "0.0.0.1", ["10.0.0.255/32", "10.0.1.0/32", "10.0.1.1/32"], id="single_addresses"),
    pytest.param("10.0.0.1/24", None, ["10.0.0.1/24"] * 3, id="the_same_for_all"),
    pytest.param("255.255.255.253/32", "0.0.0.1", [f"255.255.255.25{k}/32" for k in (3, 4, 5)], id="to_the_last"),
    pytest.param("2001:db8::1/64", "::1", ["2001:db8::1/64", "2001:db8::2/64", "2001:db8::3/64"], id="hosts_v6"),
    pytest.param(
        "2001:db8::1/64", "0:0:0:1::", ["2001:db8::1/64", "2001:db8:0:1::1/64", "2001:db8:0:2::1/64"], id="subnets_v6"
    ),
    pytest.param(
        "2001:db8::ffff:ffff/128",
        "::1",
        ["2001:db8::ffff:ffff/128", "2001:db8::1:0:0/128", "2001:db8::1:0:1/128"],
        id="carry_v6",
    ),
]


@pytest.mark.parametrize(("prefix", "incr", "want"), CASES)
def test_every_member_gets_its_address_and_loses_it_again(
    nl: Netlink, prefix: str, incr: str | None, want: list[str]
) -> None:
    assert request(nl, NEWADDR, prefix, incr, NODAD, flags=CREATE | EXCL).error == 0
    got = has(nl)
    assert [got[name] for name in ("a", "b", "c")] == [[one] for one in want]
    assert "z" not in got
    assert request(nl, DELADDR, prefix, incr).error == 0
    assert not {"a", "b", "c"} & set(has(nl))


def test_peer_steps_with_the_local_address(nl: Netlink) -> None:
    peer = attr(IFA_ADDRESS, packed("10.0.0.1"))
    assert request(nl, NEWADDR, "10.0.0.0/31", "0.0.0.2", peer).error == 0
    replies = nl.address(22, V4, 0, flags=0x300).messages
    peers = [socket.inet_ntoa(one.attrs(8)[IFA_ADDRESS]) for one in replies]
    assert peers[-3:] == ["10.0.0.1", "10.0.0.3", "10.0.0.5"]


@pytest.mark.parametrize(
    ("incr", "want"), [("0.0.0.1", ["10.0.0.255"] * 3), ("0.0.1.0", [f"10.0.{k}.255" for k in range(3)])]
)
def test_broadcast_address_steps_with_the_subnet_only(nl: Netlink, incr: str, want: list[str]) -> None:
    assert request(nl, NEWADDR, "10.0.0.1/24", incr, attr(IFA_BROADCAST, packed("10.0.0.255"))).error == 0
    replies = nl.address(22, V4, 0, flags=0x300).messages
    found = [one.attrs(8)[IFA_BROADCAST] for one in replies if IFA_BROADCAST in one.attrs(8)]
    assert [socket.inet_ntoa(one) for one in found] == want


@pytest.mark.parametrize("kind", [NEWADDR, DELADDR])
def test_empty_group_is_no_error(nl: Netlink, kind: int) -> None:
    assert request(nl, kind, "10.0.0.1/24", "0.0.0.1", group=0x7FFFFFF0).error == 0
    assert request(nl, kind, "2001:db8::1/64", "::1", group=0x7FFFFFF0).error == 0


REFUSED = [
    pytest.param("255.255.255.254/32", "0.0.0.1", (), errno.ERANGE, "ipv4: Addresses of the group wrap", id="wrap"),
    pytest.param(
        "10.0.0.254/24", "0.0.0.1", (), errno.ERANGE, "ipv4: Addresses of the group leave their prefix", id="leave"
    ),
    pytest.param(
        "10.0.0.1/24", "255.255.255.0", (), errno.ERANGE, "ipv4: Addresses of the group wrap", id="huge_increment"
    ),
    pytest.param(
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/128",
        "::1",
        (),
        errno.ERANGE,
        "ipv6: Addresses of the group wrap",
        id="wrap_v6",
    ),
    pytest.param(
        "2001:db8::ffff/112", "::1", (), errno.ERANGE, "ipv6: Addresses of the group leave their prefix", id="leave_v6"
    ),
    pytest.param(
        "10.0.0.1/24",
        "0.0.0.1",
        (attr(IFA_LABEL, "a:1"),),
        errno.EINVAL,
        "ipv4: Members of a group have labels of their own",
        id="label",
    ),
]


@pytest.mark.parametrize(("prefix", "incr", "attrs", "code", "text"), REFUSED)
def test_impossible_addresses_are_refused_before_the_first(
    nl: Netlink, prefix: str, incr: str, attrs: tuple[bytes, ...], code: int, text: str
) -> None:
    reply = request(nl, NEWADDR, prefix, incr, *attrs)
    assert (reply.error, reply.text) == (code, text)
    assert has(nl) == {}


@pytest.mark.parametrize("prefix", ["10.0.0.2/24", "2001:db8::2/64"])
def test_address_in_the_way_is_named_and_none_is_added(nl: Netlink, prefix: str) -> None:
    interface = ipaddress.ip_interface(prefix)
    family = V4 if interface.version == 4 else V6
    index = socket.if_nametoindex("b")
    local = attr(IFA_LOCAL, interface.packed)
    assert nl.address(NEWADDR, family, interface.network.prefixlen, local, NODAD, index=index).error == 0
    first = prefix.replace("2/", "1/")
    step = "0.0.0.1" if family == V4 else "::1"
    reply = request(nl, NEWADDR, first, step, NODAD, flags=CREATE | EXCL)
    assert reply.error == errno.EEXIST
    assert reply.text.startswith("b: ")
    assert reply.cookie == index
    assert has(nl) == {"b": [prefix]}
    assert request(nl, NEWADDR, first, step, NODAD, flags=CREATE | REPLACE).error == 0
    assert sorted(has(nl)) == ["a", "b", "c"]


@pytest.mark.parametrize("prefix", ["10.0.0.1/24", "2001:db8::1/64"])
def test_refusal_of_a_lower_link_takes_back_what_was_added(nl: Netlink, prefix: str) -> None:
    """The members that had the address keep it as it was, those before the second ipvlan have it no more."""
    a = socket.if_nametoindex("a")
    interface = ipaddress.ip_interface(prefix)
    family = V4 if interface.version == 4 else V6
    local, expires = attr(IFA_LOCAL, interface.packed), struct.pack("4I", 1000, 2000, 0, 0)
    have = nl.address(NEWADDR, family, interface.network.prefixlen, local, attr(IFA_CACHEINFO, expires), NODAD, index=a)
    assert have.error == 0
    lower = nl.add_link("lower", "dummy")
    second = [nl.add_link(f"i{k}", "ipvlan", attr(LINK, lower), attr(GROUP, 5)) for k in range(2)][1]
    reply = request(nl, NEWADDR, prefix, None, NODAD, flags=CREATE | REPLACE)
    assert reply.error == errno.EADDRINUSE
    assert reply.text == "i1: Address already assigned to an ipvlan device"
    assert reply.cookie == second
    assert has(nl) == {"a": [prefix]}
    (left,) = (one for one in nl.address(GETADDR, family, 0, flags=DUMP).messages if interface.packed in one.body)
    assert not left.body[2] & IFA_F_PERMANENT


def test_change_that_one_member_cannot_have_is_made_to_none(nl: Netlink) -> None:
    index = socket.if_nametoindex("b")
    assert nl.address(NEWADDR, V6, 128, attr(IFA_LOCAL, packed("2001:db8::2")), NODAD, index=index).error == 0
    temporary = attr(IFA_FLAGS, IFA_F_MANAGETEMPADDR)
    reply = request(nl, NEWADDR, "2001:db8::1/64", "::1", temporary, flags=CREATE | REPLACE)
    assert (reply.error, reply.cookie) == (errno.EINVAL, index)
    assert reply.text == "b: ipv6: Only a public /64 address can be mngtmpaddr"
    assert has(nl) == {"b": ["2001:db8::2/128"]}


@pytest.mark.parametrize("prefix", ["10.0.0.1/24", "2001:db8::1/64"])
def test_missing_address_is_named_and_none_is_deleted(nl: Netlink, prefix: str) -> None:
    step = "0.0.0.1" if "." in prefix else "::1"
    assert request(nl, NEWADDR, prefix, step, NODAD).error == 0
    third = prefix.replace("1/", "3/")
    interface = ipaddress.ip_interface(third)
    index = socket.if_nametoindex("c")
    family = V4 if "." in prefix else V6
    gone = nl.address(DELADDR, family, interface.network.prefixlen, attr(IFA_LOCAL, interface.packed), index=index)
    assert gone.error == 0
    reply = request(nl, DELADDR, prefix, step)
    assert (reply.error, reply.cookie) == (errno.EADDRNOTAVAIL, index)
    assert reply.text.startswith("c: ")
    assert sorted(has(nl)) == ["a", "b"]


@pytest.mark.parametrize("prefix", ["10.0.0.1/24", "2001:db8::1/64"])
def test_member_without_the_protocol_is_named(nl: Netlink, prefix: str) -> None:
    index = nl.add_link("l2", "dummy", attr(GROUP, 5), attr(LIGHT, 0b1100))
    reply = request(nl, NEWADDR, prefix, None, NODAD)
    assert reply.cookie == index
    family = "4" if "." in prefix else "6"
    assert reply.text == f"l2: ipv{family}: IPv{family} is disabled on this device"
    assert has(nl) == {}


@pytest.mark.parametrize(
    ("attrs", "index", "text"),
    [
        pytest.param((attr(IFA_GROUP, 5),), 1, "Either a device or a group", id="device_and_group"),
        pytest.param((attr(IFA_GROUP_MASK, 5),), 0, "Attribute is for requests by group only", id="mask_alone"),
        pytest.param(
            (attr(IFA_INCR, b"\0\0\0\1"),), 0, "Attribute is for requests by group only", id="increment_alone"
        ),
        pytest.param((attr(IFA_GROUP, b"abc"),), 0, "", id="short_group"),
        pytest.param((attr(IFA_GROUP, 5), attr(IFA_GROUP_MASK, 0)), 0, "", id="mask_of_nothing"),
        pytest.param((attr(IFA_GROUP, 5), attr(IFA_INCR, b"\0\0\1")), 0, "", id="short_increment"),
    ],
)
@pytest.mark.parametrize("kind", [NEWADDR, DELADDR])
def test_malformed_request_is_refused_with_a_sentence(
    nl: Netlink, kind: int, attrs: tuple[bytes, ...], index: int, text: str
) -> None:
    reply = nl.address(kind, V4, 24, attr(IFA_LOCAL, packed("10.0.0.1")), *attrs, index=index)
    assert reply.error in (errno.EINVAL, errno.ERANGE)
    assert text in reply.text
    assert reply.text
    assert has(nl) == {}


def test_masked_selection_is_numbered_across_its_groups(nl: Netlink) -> None:
    assert request(nl, NEWADDR, "10.0.0.1/24", "0.0.0.1", attr(IFA_GROUP_MASK, 4), group=4).error == 0
    assert has(nl) == {"a": ["10.0.0.1/24"], "b": ["10.0.0.2/24"], "c": ["10.0.0.3/24"], "z": ["10.0.0.4/24"]}
