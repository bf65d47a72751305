# SPDX-License-Identifier: GPL-2.0-or-later
"""What a router advertises to a link: nothing that a capture has, and no default route of netgroupd's."""

import socket
import struct
from pathlib import Path

import pytest

from netgroupd.kernel.netns import entered
from tests.vm.hosts import EngineIn, here
from tests.waiting import eventually

_ALL_NODES, _ANY_HOP = "ff02::1", 255
_DEFAULT = "links: {d0: {up: true%s}}\nroutes: [{to: default, via: fe80::1, dev: d0%s}]\n"
_DEAF = (
    "links hear a router no more when the default route that it advertised is netgroupd's, and what it gave expires, "
    "which no file says of them: d0"
)


def _advertise(hops: int) -> None:
    """As a router on d1: a lifetime of half an hour, 40 s for who was reached, and 2 s until it is asked again."""
    told = struct.pack("!BBHBBHII", 134, 0, 0, hops, 0, 1800, 40_000, 2_000)
    with entered("there"), socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as router:
        router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, _ANY_HOP)
        router.sendto(told, (_ALL_NODES, 0, 0, socket.if_nametoindex("d1")))


def _heard(hops: int) -> None:
    """Advertise, until it has come to d0, whatever is done about it there."""

    def came() -> int:
        with entered("here"):
            counted = Path("/proc/thread-self/net/dev_snmp6/d0").read_text().split()
        return int(counted[counted.index("Icmp6InRouterAdvertisements") + 1])

    def comes() -> bool:
        before = came()
        _advertise(hops)
        return came() > before

    eventually(comes)


def _hops() -> int:
    with entered("here"):
        return int(Path("/proc/sys/net/ipv6/conf/d0/hop_limit").read_text())


@pytest.fixture
def advertised(engine_in: EngineIn) -> None:
    """A link that has heard a router."""
    engine_in("here", "{}")
    engine_in("there", "{}")
    here("ip link add d0 type veth peer name d1 netns there")
    here("ip link set d1 addrgenmode none up", "there")
    here("ip address add fe80::1/64 dev d1 nodad", "there")
    here("ip link set d0 up")
    # When its address is its own, it has asked for routers.
    eventually(lambda: "inet6" in (shown := here("ip address show dev d0")) and "tentative" not in shown)
    eventually(lambda: "LOWER_UP" in here("ip link show d1", "there"))
    _heard(60)
    assert "proto ra" in here("ip -6 route show default")
    assert _hops() == 60


def test_settings_that_a_router_gave_are_not_captured(engine_in: EngineIn, advertised: None) -> None:
    assert "sysctl" not in engine_in("here", "{}").capture()


def test_link_that_will_hear_its_router_no_more_is_told(engine_in: EngineIn, advertised: None) -> None:
    engine = engine_in("here", _DEFAULT % ("", ""))
    assert engine.diff().warnings == (_DEAF,)
    engine.apply()
    _heard(59)
    assert _hops() == 60


@pytest.mark.parametrize(
    ("setting", "metric", "hops"),
    [
        pytest.param("", ", metric: 512", 59, id="beside_the_advertised_route"),
        pytest.param(", sysctl: {ipv6.accept_ra: 0}", "", 60, id="link_that_is_to_be_deaf"),
    ],
)
def test_default_route_that_makes_no_link_deaf_is_not_told(
    engine_in: EngineIn, advertised: None, setting: str, metric: str, hops: int
) -> None:
    engine = engine_in("here", _DEFAULT % (setting, metric))
    assert _DEAF not in engine.diff().warnings
    engine.apply(allow=frozenset({"d0"}))
    _heard(59)
    assert _hops() == hops
