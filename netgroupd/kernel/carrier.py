# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that can carry packets now: up, with a carrier, and not waiting for a key or the like."""

import socket
import struct
from collections.abc import Iterable
from fcntl import ioctl

from netgroupd.kernel.netns import entered

_SIOCGIFFLAGS = 0x8913
_IFREQ = struct.Struct("16sH22x")
_IFF_RUNNING = 0x40


def running(names: Iterable[str], netns: str | None) -> frozenset[str]:
    """Those of the links ``names`` that are running, in their network namespace.

    Raises:
        UsageError: There is no such namespace.
    """
    with entered(netns), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asked:
        return frozenset(name for name in names if _flags(asked, name) & _IFF_RUNNING)


def _flags(asked: socket.socket, name: str) -> int:
    try:
        _, flags = _IFREQ.unpack(ioctl(asked, _SIOCGIFFLAGS, _IFREQ.pack(name.encode(), 0)))
    except OSError:  # it is not there
        return 0
    return int(flags)
