# SPDX-License-Identifier: GPL-2.0-or-later
"""Links on links: how high they may be stacked, and what becomes of ports whose bridge goes while packets pass."""

import errno
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest

from tests.vm.kernel_netlink import (
    ADDRESS,
    CREATE,
    DELLINK,
    DUMP,
    EXCL,
    GROUP,
    IFNAME,
    INFO_DATA,
    INFO_KIND,
    LINK,
    LINKINFO,
    MASTER,
    NEW_GROUP,
    NEWLINK,
    Netlink,
    attr,
    nest,
)
from tests.vm.meanwhile import repeatedly
from tests.waiting import eventually

_LEVELS = 8
_LOOSE = struct.pack("II", 4, 4)
_PORTS = 4
_VLAN_FILTERING, _NDA_MASTER = 7, 9
_GETNEIGH, _NUD_PERMANENT = 30, 0x80
_TO_ALL = b"\xff" * 6
_REST = b"\x88\xb5" + bytes(50)


def add_vlan(nl: Netlink, name: str, lower: int, vid: int) -> int:
    """Make a VLAN that does not mind whether the link below is up."""
    return nl.add_link(name, "vlan", attr(LINK, lower), data=attr(1, struct.pack("H", vid)) + attr(2, _LOOSE))


def room(nl: Netlink, bond: int, tower: list[int]) -> int:
    """How many levels of links may be below a bond, by trying."""
    for level in range(len(tower), 0, -1):
        error = nl.link(NEWLINK, attr(MASTER, bond), index=tower[level - 1]).error
        if not error:
            assert nl.link(NEWLINK, attr(MASTER, 0), index=tower[level - 1]).error == 0
            return level
        assert error == errno.EMLINK
    return 0


def test_links_are_stacked_as_high_as_what_is_above_and_below_allows() -> None:
    with Netlink() as nl:
        tower = [nl.add_link("low1", "dummy")]
        for level in range(2, _LEVELS + 1):
            tower.append(add_vlan(nl, f"low{level}", tower[-1], 1))
        vlan = nest(LINKINFO, attr(INFO_KIND, "vlan"), nest(INFO_DATA, attr(1, struct.pack("H", 1))))
        refused = nl.link(NEWLINK, attr(IFNAME, "low9"), attr(LINK, tower[-1]), vlan, flags=CREATE | EXCL)
        assert refused.error == errno.EMLINK

        bond = nl.add_link("bond", "bond")
        found = {"nothing above": room(nl, bond, tower)}
        above = [add_vlan(nl, f"up{vid}", bond, vid) for vid in range(1, 9)]
        found["VLANs above"] = room(nl, bond, tower)
        higher = add_vlan(nl, "higher", above[0], 1)
        found["a VLAN of one of them"] = room(nl, bond, tower)
        bridge = nl.add_link("bridge", "bridge")
        for index in (bond, *above[1:]):
            assert nl.link(NEWLINK, attr(MASTER, bridge), index=index).error == 0
        found["a bridge of the others and the bond itself"] = room(nl, bond, tower)
        steeple = [add_vlan(nl, "steeple1", bridge, 1)]
        steeple.append(add_vlan(nl, "steeple2", steeple[0], 1))
        found["two VLANs above the bridge"] = room(nl, bond, tower)
        nl.link(DELLINK, index=steeple[1])
        found["one of them deleted"] = room(nl, bond, tower)
        nl.link(DELLINK, index=steeple[0])
        found["both deleted"] = room(nl, bond, tower)
        nl.link(DELLINK, index=higher)
        for index in above[1:-1]:
            nl.link(NEWLINK, attr(MASTER, 0), index=index)
        found["one port left"] = room(nl, bond, tower)
        nl.link(DELLINK, index=bridge)
        found["the bridge deleted"] = room(nl, bond, tower)
        for index in above:
            nl.link(DELLINK, index=index)
        found["nothing above again"] = room(nl, bond, tower)
        for index in (bond, tower[0]):
            assert nl.link(DELLINK, index=index).error == 0
    assert found == {
        "nothing above": 7,
        "VLANs above": 6,
        "a VLAN of one of them": 5,
        "a bridge of the others and the bond itself": 5,
        "two VLANs above the bridge": 3,
        "one of them deleted": 4,
        "both deleted": 5,
        "one port left": 5,
        "the bridge deleted": 6,
        "nothing above again": 7,
    }


@contextmanager
def packets(nl: Netlink, names: Sequence[str]) -> Iterator[None]:
    """Send from these links as fast as one thread can; one that is gone no longer does."""
    frames = {name: _TO_ALL + nl.get(socket.if_nametoindex(name))[ADDRESS] + _REST for name in names}

    def send() -> None:
        with suppress(OSError):
            for name, frame in frames.items():
                sender.sendto(frame, (name, 0))

    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender, repeatedly(send):
        yield


def learned(nl: Netlink, bridge: int) -> set[int]:
    """The ports from which a bridge has learned addresses."""
    body = struct.pack("BxHiHBB", socket.AF_BRIDGE, 0, 0, 0, 0, 0) + attr(_NDA_MASTER, bridge)
    heads = (struct.unpack_from("iH", one.body, 4) for one in nl.ask(_GETNEIGH, DUMP, body).messages)
    return {index for index, state in heads if not state & _NUD_PERMANENT}


def wait_until_learned(nl: Netlink, bridge: int, ports: Sequence[int]) -> None:
    """Packets pass from each port to the bridge."""
    eventually(lambda: learned(nl, bridge) == set(ports), every_s=0)


@pytest.mark.vm("patched", cpus=2)
def test_ports_of_bridges_that_are_deleted_together_are_as_new_while_packets_pass() -> None:
    filtering = attr(_VLAN_FILTERING, b"\1")
    with Netlink() as nl:
        peers = [f"p{k}" for k in range(_PORTS)]
        for k, peer in enumerate(peers):
            nl.add_link(
                f"q{k}", "veth", attr(GROUP, 5), data=nest(1, struct.pack("BxHiII", 0, 0, 0, 0, 0), attr(IFNAME, peer))
            )
            nl.link(NEWLINK, index=socket.if_nametoindex(peer), up=True)
        ports = [socket.if_nametoindex(f"q{k}") for k in range(_PORTS)]
        nl.link(NEWLINK, attr(GROUP, 5), up=True)
        with packets(nl, peers):
            for _ in range(3):
                bridges = [nl.add_link(f"b{k}", "bridge", attr(GROUP, 6), data=filtering) for k in range(2)]
                nl.link(NEWLINK, attr(GROUP, 6), up=True)
                for k, port in enumerate(ports):
                    assert nl.link(NEWLINK, attr(MASTER, bridges[k % 2]), index=port).error == 0
                for k, bridge in enumerate(bridges):
                    wait_until_learned(nl, bridge, ports[k::2])
                assert nl.link(DELLINK, attr(GROUP, 6)).error == 0
                assert not any(MASTER in nl.get(port) for port in ports)
            bridge = nl.add_link("b0", "bridge", attr(GROUP, 6), data=filtering)
            nl.link(NEWLINK, index=bridge, up=True)
            assert nl.link(NEWLINK, attr(MASTER, bridge), attr(GROUP, 5)).error == 0
            wait_until_learned(nl, bridge, ports)
            nl.link(NEWLINK, attr(NEW_GROUP, 6), attr(GROUP, 5))
            # The ports come first.
            assert nl.link(DELLINK, attr(GROUP, 6)).error == 0
        assert set(socket.if_nameindex()) == {(1, "lo")}
