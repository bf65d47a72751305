# SPDX-License-Identifier: GPL-2.0-or-later
"""Many IPv6 addresses: none is lost, taken twice or left behind, and what refers to one that goes is let go of."""

import errno
import ipaddress
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import CREATE, DELADDR, DELLINK, EXCL, IFA_LOCAL, NEWADDR, NEWLINK, NODAD, Netlink, attr
from tests.waiting import eventually

# The kernel begins with 256 lists of addresses, and doubles them when there are as many addresses.
_MANY = 1_100
_LINKS = 3
_FIRST = int(ipaddress.IPv6Address("2001:db8::1"))


def packed(number: int) -> bytes:
    """The n-th address of the test."""
    return (_FIRST + number).to_bytes(16)


def message(kind: int, index: int, number: int, flags: int = 0, plen: int = 64) -> tuple[int, int, bytes]:
    """A request about the n-th address on a link."""
    head = bytes((socket.AF_INET6, plen, 0, 0)) + index.to_bytes(4, "little")
    return kind, flags, head + attr(IFA_LOCAL, packed(number)) + NODAD


def listed() -> Counter[tuple[int, bytes]]:
    """What /proc has of the addresses of the test: link and address, as often as it is there."""
    rows = (row.split() for row in Path("/proc/net/if_inet6").read_text(encoding="ascii").splitlines())
    return Counter((int(row[1], 16), bytes.fromhex(row[0])) for row in rows if row[0].startswith("20010db8"))


def groups(link: str) -> int:
    """How many multicast groups a link is in for the sake of the test's addresses."""
    rows = (row.split() for row in Path("/proc/net/igmp6").read_text(encoding="ascii").splitlines())
    return sum(row[1] == link and row[2].startswith("ff0200000000000000000001ff000") for row in rows)


def wait_for_groups(link: str, count: int) -> None:
    """Wait until the kernel, which says first that an address is there, has entered its group."""
    eventually(lambda: groups(link) == count, told=lambda: groups(link))


def ip(batch: str) -> None:
    """Run ip on these lines."""
    subprocess.run(("ip", "-6", "-batch", "-"), input=batch, text=True, check=True)


def test_each_of_many_addresses_is_there_once() -> None:
    with Netlink() as nl:
        indexes = [nl.add_link(f"d{k}", "dummy") for k in range(_LINKS)]
        for at in range(0, _MANY, 50):
            assert nl.send_many(message(NEWADDR, indexes[k % _LINKS], k, CREATE) for k in range(at, at + 50)).error == 0
        # One address may be on many links, and on each of them once.
        assert nl.send_many(message(NEWADDR, indexes[k], 7, CREATE) for k in (0, 2)).error == 0
        wanted = Counter({(indexes[k % _LINKS], packed(k)): 1 for k in range(_MANY)})
        wanted |= Counter({(index, packed(7)): 1 for index in indexes})
        assert listed() == wanted
        again = [nl.ask(*message(NEWADDR, indexes[k % _LINKS], k, CREATE | EXCL)) for k in range(0, _MANY, 90)]
        assert {reply.error for reply in again} == {errno.EEXIST}
        other = nl.ask(*message(DELADDR, indexes[0], 3, plen=65))
        assert (other.error, other.text) == (errno.EADDRNOTAVAIL, "ipv6: address not found")
        for k in range(0, _MANY, 5):
            assert nl.ask(*message(DELADDR, indexes[k % _LINKS], k)).error == 0
            del wanted[indexes[k % _LINKS], packed(k)]
        assert listed() == wanted
        nl.link(DELLINK, index=indexes[1])
        assert listed() == Counter({key: 1 for key in wanted if key[0] != indexes[1]})


def test_who_reads_the_list_meanwhile_misses_none() -> None:
    """What is read at a time ends in the middle of some list, which is elsewhere when there are more of them."""
    with Netlink() as nl, Path("/proc/net/if_inet6").open("rb", buffering=0) as file:
        index = nl.add_link("d0", "dummy")
        early = range(200)
        assert nl.send_many(message(NEWADDR, index, k, CREATE) for k in early).error == 0
        read = file.read(4096)
        for at in range(200, _MANY, 100):
            assert nl.send_many(message(NEWADDR, index, k, CREATE) for k in range(at, at + 100)).error == 0
            read += file.read(4096)
        while more := file.read(4096):
            read += more
        assert {packed(k).hex().encode() for k in early} <= {row.split()[0] for row in read.splitlines()}


@pytest.mark.parametrize("way", ["one by one", "with their link"])
def test_groups_of_addresses_go_with_them(way: str) -> None:
    # The group of the address that comes with the link is none of the test's.
    ip("link add d0 address 02:00:00:ff:ff:ff type veth peer name p0\nlink set p0 up\nlink set d0 up\n")
    index = socket.if_nametoindex("d0")
    with Netlink() as nl:
        for at in (0, 100, 200):
            assert nl.send_many(message(NEWADDR, index, k, CREATE) for k in range(at, at + 100)).error == 0
        wait_for_groups("d0", 300)
        if way == "one by one":
            assert nl.send_many(message(DELADDR, index, k) for k in range(0, 300, 2)).error == 0
            assert groups("d0") == 150
            # One that had been left is entered again.
            assert nl.ask(*message(NEWADDR, index, 0, CREATE)).error == 0
            wait_for_groups("d0", 151)
        nl.link(NEWLINK, index=index, up=False)
        assert groups("d0") == 0


def test_connected_socket_heeds_rules_that_come_and_go() -> None:
    ip("link add d0 type dummy\nlink set d0 up\naddr add 2001:db8:1::1/64 dev d0 nodad\n")
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.connect(("2001:db8:1::9", 9))
        for _ in range(3):
            sender.send(b"")
            ip("rule add to 2001:db8:1::/64 unreachable\n")
            with pytest.raises(OSError, match="unreachable"):
                sender.send(b"")
            ip("rule del to 2001:db8:1::/64 unreachable\n")
        sender.send(b"")


def test_route_loses_the_preferred_source_that_goes() -> None:
    ip(
        "link add d0 type dummy\nlink set d0 up\naddr add 2001:db8:1::1/64 dev d0 nodad\n"
        "addr add 2001:db8:1::2/64 dev d0 nodad\n"
    )
    ip("route add 2001:db8:10::/48 dev d0 src 2001:db8:1::1\nroute add 2001:db8:20::/48 dev d0\n")
    ip("route replace 2001:db8:20::/48 dev d0 src 2001:db8:1::2\n")
    sources = []
    for number in (2, 1):
        ip(f"addr del 2001:db8:1::{number}/64 dev d0\n")
        shown = [
            subprocess.check_output(("ip", "-6", "route", "show", f"2001:db8:{k}0::/48"), text=True) for k in (1, 2)
        ]
        sources.append([" src " in route for route in shown])
    assert sources == [[True, False], [False, False]]
