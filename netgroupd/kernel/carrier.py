# SPDX-License-Identifier: GPL-2.0-or-later
"""The carriers of links, and waiting for them."""

import socket
import struct
import time
from collections.abc import Callable, Iterable, Sequence, Set
from fcntl import ioctl
from itertools import islice
from sys import byteorder
from typing import NamedTuple

from netgroupd.kernel.links.numbers import (
    IFLA_CARRIER,
    IFLA_CARRIER_DOWN_COUNT,
    IFLA_EXT_MASK,
    IFLA_IFNAME,
    RTM_GETLINK,
    SKIP_STATS,
)
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import attributes, request, text, u32
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.netns import entered
from netgroupd.model.nexthop import links_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Op, cls_of

_SIOCGIFFLAGS = 0x8913
_IFREQ = struct.Struct("16sH22x")
_IFF_UP, _IFF_RUNNING = 0x1, 0x40
_FLAGS = struct.Struct("=8xI4x")  # struct ifinfomsg

ENOUGH_S = 4
"""A link that comes up has its carrier by then, if it has one."""
OFTEN_S = 0.05


def running(names: Iterable[str], netns: str | None) -> frozenset[str]:
    """Those of the links ``names`` that can carry packets now: up, with a carrier, and waiting for no key or the like.

    Raises:
        UsageError: There is no such namespace.
    """
    with entered(netns), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asked:
        return frozenset(name for name in names if _flags(asked, name) & _IFF_RUNNING)


class Carrier(NamedTuple):
    """Of a link whether it is up and has no carrier, and how often it has lost that."""

    dark: bool
    losses: int


def carrier_of(asking: Socket, name: str) -> Carrier | None:
    """The carrier of a link, if that is there.

    What follows from it has happened then: unasked the kernel takes up to a second for that.
    """
    asked = request(RTM_GETLINK, 0, header(0), text(IFLA_IFNAME, name), u32(IFLA_EXT_MASK, SKIP_STATS))
    _, found = asking.ask(asked, _carrier)
    return next(iter(found), None)


def _carrier(_kind: int, payload: memoryview) -> Carrier:
    (flags,), told = _FLAGS.unpack_from(payload), attributes(payload, _FLAGS.size)
    losses = int.from_bytes(told[IFLA_CARRIER_DOWN_COUNT], byteorder)
    return Carrier(bool(flags & _IFF_UP) and told[IFLA_CARRIER][0] == 0, losses)


def _flags(asked: socket.socket, name: str) -> int:
    try:
        _, flags = _IFREQ.unpack(ioctl(asked, _SIOCGIFFLAGS, _IFREQ.pack(name.encode(), 0)))
    except OSError:  # it is not there
        return 0
    return int(flags)


def needed(steps: Sequence[AnyStep]) -> list[int]:
    """Before which step to wait for carriers: the first that makes a nexthop on a link."""
    return [*islice((place for place, step in enumerate(steps) if _links_of((step,))), 1)]


def _links_of(steps: Iterable[AnyStep]) -> set[str]:
    nexthops = (step for step in steps if cls_of(step) == "nexthop")
    return links_of(step.object for step in singles(nexthops) if step.op is not Op.DELETE)


def settled(steps: Sequence[AnyStep], without: Callable[[Set[str]], Set[str]]) -> None:
    """Wait until no link of a nexthop is ``without`` a carrier any more, or it has taken too long for that."""
    links: Set[str] = _links_of(steps)
    end = time.monotonic() + ENOUGH_S
    while (links := without(links)) and time.monotonic() < end:
        time.sleep(OFTEN_S)
