# SPDX-License-Identifier: GPL-2.0-or-later
"""A netlink socket of the system's, with all that netgroupd wants to be told and as much as may wait in it."""

import socket

from netgroupd.kernel.netns import entered

SOL_NETLINK = 270
_CAP_ACK = 10
_EXT_ACK = 11
_STRICT_CHECK = 12
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33


def opened(netns: str | None, family: int, buffer: int) -> socket.socket:
    """Open one in ``netns``; ``buffer`` is what may wait in it in bytes, either way.

    Raises:
        UsageError: There is no such namespace.
    """
    with entered(netns):
        raw = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
    for option in (_CAP_ACK, _EXT_ACK, _STRICT_CHECK):
        raw.setsockopt(SOL_NETLINK, option, 1)
    for forced, asked in ((_SO_SNDBUFFORCE, socket.SO_SNDBUF), (_SO_RCVBUFFORCE, socket.SO_RCVBUF)):
        try:
            raw.setsockopt(socket.SOL_SOCKET, forced, buffer)
        except PermissionError:
            raw.setsockopt(socket.SOL_SOCKET, asked, buffer)
    raw.bind((0, 0))
    return raw
