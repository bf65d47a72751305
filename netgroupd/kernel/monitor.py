# SPDX-License-Identifier: GPL-2.0-or-later
"""That something has changed in the kernel, as it happens, of the links in our groups and what belongs to them.

The news themselves are not read: what has changed is found by comparing again.
A classic BPF program on the socket drops the news of other links in the kernel,
before they wake anybody.
"""

import select
import struct
from collections.abc import Iterable
from typing import Self

from netgroupd.kernel.features import RTNLGRP_LINK_BRIEF, features
from netgroupd.kernel.links.numbers import IFLA_GROUP
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.socket import NETLINK_GENERIC, Counters, Socket
from netgroupd.model.family import INET6

_LINK, _TC = 1, 4
_GROUPS = {
    "link": (_LINK,),
    "bridge_vlan": (33,),
    "vlan_global": (33,),
    "vni": (35,),
    "token": (12,),
    "sriov": (_LINK,),
    "vf": (_LINK,),
    "address": (5, 9),
    "neighbour": (3,),
    "fdb": (3,),
    "mdb": (26,),
    "nexthop": (32,),
    "route": (7, 11, 27),
    "rule": (8, 19),
    "qdisc": (_TC,),
    "tclass": (_TC,),
    "action": (_TC,),
    "chain": (_TC,),
    "filter": (_TC,),
}
"""RTNLGRP numbers by class."""

_NEWS = ("ethtool", "monitor")
_BUFFER = 64 << 10  # bytes of news that the kernel keeps; one is as good as thousands
_NLATTR = 0xFFFFF000 + 12  # SKF_AD_OFF + SKF_AD_NLATTR: where attribute X is, from A on
_ATTRIBUTES = 32  # behind struct nlmsghdr and struct ifinfomsg
_ALL = 0xFFFFFFFF  # to accept less than all would cut it short for other listeners too


def _loaded(code: str, value: int) -> int:
    # BPF loads in network order what the kernel wrote in the host's.
    return int.from_bytes(struct.pack("=" + code, value), "big")


def link_filter(group: int, mask: int) -> list[tuple[int, int, int, int]]:
    """The BPF program that drops the news of links of other groups, and no others."""
    return [
        (0x28, 0, 0, 4),  # A = nlmsg_type
        (0x15, 1, 0, _loaded("H", 16)),  # RTM_NEWLINK: skip the next
        (0x15, 0, 11, _loaded("H", 17)),  # not RTM_DELLINK: accept
        (0x30, 0, 0, 16),  # A = ifi_family
        (0x15, 9, 0, INET6),  # of IPv6, which tells no group: accept
        (0x00, 0, 0, _ATTRIBUTES),  # A = where to search
        (0x01, 0, 0, IFLA_GROUP),  # X = for what
        (0x20, 0, 0, _NLATTR),  # A = where it is
        (0x15, 4, 0, 0),  # nowhere: drop
        (0x07, 0, 0, 0),  # X = A
        (0x40, 0, 0, 4),  # A = its payload
        (0x54, 0, 0, _loaded("I", mask)),  # A &= mask
        (0x15, 1, 0, _loaded("I", group & mask)),  # ours: accept
        (0x06, 0, 0, 0),
        (0x06, 0, 0, _ALL),
    ]


class Monitor:
    """Notifications of one network namespace: ``fileno`` is ready from the first on."""

    def __init__(
        self, classes: Iterable[str] = ("link",), groups: tuple[int, int] | None = None, netns: str | None = None
    ) -> None:
        """Listen; ``groups`` is (id, mask) of the groups of the links that matter.

        Raises:
            UsageError: There is no such namespace.
        """
        classes = frozenset(classes)
        self._socket = Socket(netns, buffer=_BUFFER)
        if groups:
            self._socket.attach(link_filter(*groups))
        brief = features().brief
        for number in {number for cls in classes for number in _GROUPS.get(cls, ())}:
            self._socket.join(RTNLGRP_LINK_BRIEF if brief and number == _LINK else number)
        self._drivers = _drivers(netns) if "ethtool" in classes else None
        self._both = select.epoll() if self._drivers else None
        for each in (self._socket, self._drivers):
            if self._both and each:
                self._both.register(each.fileno(), select.EPOLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for each in (self._both, self._drivers, self._socket):
            if each:
                each.close()

    def fileno(self) -> int:
        """For ``select``."""
        return (self._both or self._socket).fileno()


def _drivers(netns: str | None) -> Socket | None:
    """The news of what drivers are told, which are generic netlink's; none where the kernel has none."""
    generic = Generic(netns, Counters())
    try:
        group = generic.group(*_NEWS)
    except OSError:
        return None
    finally:
        generic.close()
    listening = Socket(netns, NETLINK_GENERIC, buffer=_BUFFER)
    listening.join(group)
    return listening
