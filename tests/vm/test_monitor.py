# SPDX-License-Identifier: GPL-2.0-or-later
"""Notifications on a real kernel: what is listened for wakes, and the links of others do not."""

import select
import subprocess

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.monitor import Monitor
from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step

OURS = (GROUP_BASE, GROUP_MASK)
CHANGES = {
    "link": "ip link set low mtu 1400",
    "bridge_vlan": "bridge vlan add dev low vid 7",
    "vlan_global": "bridge vlan global set dev b0 vid 1 mcast_querier 1",
    "vni": "bridge vni add dev vx vni 7",
    "token": "ip token set ::5 dev b0",
    "address": "ip address add 192.0.2.1/24 dev low",
    "neighbour": "ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:01 dev low",
    "fdb": "bridge fdb add 02:00:00:00:00:02 dev low master static",
    "mdb": "bridge mdb add dev b0 port low grp 239.1.1.1 vid 1 permanent",
    "nexthop": "ip nexthop add id 7 blackhole",
    "route": "ip route add blackhole 203.0.113.0/24",
    "rule": "ip rule add pref 100 lookup 100",
    "qdisc": "tc qdisc add dev low root handle 1: prio",
    "filter": "tc filter add dev low parent 1: pref 1 matchall action pass",
}
SETUP = """
link set lo up
link add b0 type bridge vlan_filtering 1
link add low type dummy
link set b0 addrgenmode none
link set low addrgenmode none
link set low up master b0
link set b0 up
link add vx type vxlan external vnifilter dstport 4789
"""
_QUIET_S = 2  # the kernel tells of a carrier up to a second after the link came up


def woken(monitor: Monitor, within_s: float = 0) -> bool:
    return bool(select.select([monitor], [], [], within_s)[0])


def wait_for_quiet() -> None:
    loud = True
    while loud:
        with Monitor(CHANGES) as monitor:
            loud = woken(monitor, _QUIET_S)


def make(name: str, **attrs: object) -> Step:
    link = Object("link", (name,), {"kind": "dummy", **attrs})  # type: ignore[dict-item]
    return Step(Op.CREATE, None, link, link.attrs)


def test_links_of_our_groups_are_told_and_others_are_not() -> None:
    with Kernel() as kernel, Monitor(groups=OURS) as monitor:
        kernel.apply([make("theirs", group=5), make("nobodys")])
        assert not woken(monitor)
        kernel.apply([make("ours", group=GROUP_BASE + 5)])
        assert woken(monitor)


def test_token_is_told_though_its_news_name_no_group() -> None:
    subprocess.run(["ip", "-batch", "-"], input=SETUP, text=True, check=True)
    wait_for_quiet()
    with Monitor(("link", "token"), OURS) as monitor, Monitor(("link",), OURS) as deaf:
        subprocess.run(["ip", "token", "set", "::5", "dev", "b0"], check=True)
        assert woken(monitor)
        assert not woken(deaf)


def test_change_of_any_class_is_told_to_who_listens_for_it() -> None:
    subprocess.run(["ip", "-batch", "-"], input=SETUP, text=True, check=True)
    wait_for_quiet()
    for cls, change in CHANGES.items():
        with Monitor((cls,)) as monitor, Monitor(()) as deaf:
            assert not woken(monitor), cls
            subprocess.run(change.split(), check=True)
            assert woken(monitor), cls
            assert not woken(deaf)


@pytest.mark.vm("stock")
def test_more_news_than_can_wait_are_news_too() -> None:
    with Kernel() as kernel, Monitor() as monitor:
        kernel.apply([make(f"low{number}") for number in range(500)])
        assert woken(monitor)
