# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets through VRFs, while these are deleted together or devices beside them come and go."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.vm.kernel_netlink import DELLINK, GROUP, IFA_LOCAL, MASTER, NEWADDR, NEWLINK, NODAD, Netlink, attr
from tests.vm.meanwhile import repeatedly

pytestmark = pytest.mark.vm(cpus={"patched": 2})
_VRFS = 20
_GROUP = 5
_ROUNDS = 5
_BESIDE, _MANY = 6, 1_100  # a group of more devices than are looked for in one place
_TABLE = 1  # the attribute of a VRF
_TO = {socket.AF_INET: ("10.0.{k}.9", 9), socket.AF_INET6: ("fd00::{k:x}:9", 9)}


def make(nl: Netlink) -> None:
    """VRFs of a group, each with a port that is up and has addresses."""
    for k in range(_VRFS):
        vrf = nl.add_link(f"vrf{k}", "vrf", attr(GROUP, _GROUP), data=attr(_TABLE, 100 + k))
        port = nl.add_link(f"d{k}", "dummy", attr(GROUP, _GROUP), attr(MASTER, vrf))
        ipv6 = b"\xfd" + bytes(12) + bytes((k, 0, 1))
        for family, plen, address in ((socket.AF_INET, 24, bytes((10, 0, k, 1))), (socket.AF_INET6, 112, ipv6)):
            assert nl.address(NEWADDR, family, plen, attr(IFA_LOCAL, address), NODAD, index=port).error == 0
    assert nl.link(NEWLINK, attr(GROUP, _GROUP), up=True).error == 0


@contextmanager
def senders() -> Iterator[list[OSError]]:
    """A packet after the other through each VRF, of both families, for as long as this lasts; what was refused."""
    sockets, refused = [], []
    for k in range(_VRFS):
        for family, (host, port) in _TO.items():
            bound = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, f"vrf{k}".encode())
            sockets.append((bound, (host.format(k=k), port)))
    for bound, target in sockets:
        bound.sendto(b"x", target)  # there is a way

    def send() -> None:
        for bound, target in sockets:
            try:
                bound.sendto(b"x", target)
            except OSError as error:
                refused.append(error)

    try:
        with repeatedly(send):
            yield refused
    finally:
        for bound, _ in sockets:
            bound.close()


def test_vrfs_are_deleted_together_under_traffic() -> None:
    with Netlink() as nl:
        for _ in range(_ROUNDS):
            make(nl)
            with senders():
                assert nl.link(DELLINK, attr(GROUP, _GROUP)).error == 0
                assert len(nl.links()) == 1


def test_packets_find_their_devices_while_these_become_many_and_few() -> None:
    with Netlink() as nl:
        make(nl)
        with senders() as refused:
            for number in range(_MANY):
                nl.add_link(f"beside{number}", "dummy", attr(GROUP, _BESIDE))
            assert nl.link(DELLINK, attr(GROUP, _BESIDE)).error == 0
        assert not refused
