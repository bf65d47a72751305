# SPDX-License-Identifier: GPL-2.0-or-later
"""VRFs that are deleted together while somebody sends through them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.vm.kernel_netlink import DELLINK, GROUP, IFA_LOCAL, MASTER, NEWADDR, NEWLINK, NODAD, Netlink, attr
from tests.vm.meanwhile import repeatedly

pytestmark = pytest.mark.vm()
_VRFS = 20
_GROUP = 5
_ROUNDS = 5
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
def senders() -> Iterator[None]:
    """A packet after the other through each VRF, of both families, for as long as this lasts."""
    sockets = []
    for k in range(_VRFS):
        for family, (host, port) in _TO.items():
            bound = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, f"vrf{k}".encode())
            sockets.append((bound, (host.format(k=k), port)))
    for bound, target in sockets:
        bound.sendto(b"x", target)  # there is a way

    def send() -> None:
        for bound, target in sockets:
            with suppress(OSError):  # it is gone by now
                bound.sendto(b"x", target)

    try:
        with repeatedly(send):
            yield
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
