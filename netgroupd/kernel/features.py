# SPDX-License-Identifier: GPL-2.0-or-later
"""What the running kernel can do beyond the least that netgroupd needs.

Every probe is inert: it asks about a group that nobody uses, or asks for
what no kernel does.  Never inferred from a version.  The answer
is that of the boot, whatever the network namespace, so it is asked for once.
"""

import errno
from functools import cache
from pathlib import Path
from typing import NamedTuple

from netgroupd.errors import KernelError
from netgroupd.kernel.links.numbers import (
    IFLA_AF_SPEC,
    IFLA_EXT_MASK,
    IFLA_GROUP,
    IFLA_GROUP_ADDRESS,
    IFLA_GROUP_INHERIT,
    IFLA_GROUP_MASK,
    IFLA_LIGHT,
    IFLA_NEW_GROUP,
    IFLA_STATS64,
    RTM_DELLINK,
    RTM_GETLINK,
    RTM_NEWLINK,
    SKIP_STATS,
)
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.compound import RTM_BATCHTFILTER
from netgroupd.kernel.netlink.socket import Socket

RTM_NEWADDR, RTM_GETADDR = 20, 22

IFA_LOCAL = 2
IFA_GROUP = 32

SKIP_LINK_STATS = 1 << 31
SKIP_AF_SPEC = 1 << 30
SKIP_DEVCONF = 1 << 29
NAME_ONLY = 1 << 8
RTNLGRP_LINK_BRIEF = 64

_STATUS = Path("/proc/thread-self/status")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NOBODY = 0x7FFFFFF0  # a group that no link is in
_LINK = b"\0" * 16  # struct ifinfomsg
_LOOPBACK = b"\0\0\0\0\1\0\0\0" + b"\0" * 8


class Features(NamedTuple):
    """What this kernel can do; each is False on a stock one."""

    dump_group: bool = False
    group_mask: bool = False
    new_group: bool = False
    group_mac: bool = False
    group_inherit: bool = False
    group_addr: bool = False
    dump_addr_group: bool = False
    light: bool = False
    bulk_delete: bool = False
    skip_link_stats: bool = False
    skip_af_spec: bool = False
    skip_devconf: bool = False
    name_only: bool = False
    tc_batch: bool = False
    brief: bool = False

    @property
    def lacking(self) -> frozenset[str]:
        """The rows of links that this kernel does not have: it ignores them without a word."""
        rows = {"lightweight": self.light, "l2only": self.light, "group_inherit": self.group_inherit}
        return frozenset(name for name, there in rows.items() if not there)

    @property
    def skip(self) -> int:
        """The RTEXT_FILTER bits that make a link message as short as this kernel can."""
        bits = SKIP_STATS  # on every kernel
        bits |= SKIP_LINK_STATS if self.skip_link_stats else 0
        return bits | (SKIP_AF_SPEC if self.skip_af_spec else SKIP_DEVCONF if self.skip_devconf else 0)


def _knows_attribute(socket: Socket, kind: int, payload: bytes = b"\xff" * 4) -> bool:
    # An unknown attribute is ignored, a known one is refused: it has no such value, or is for groups or new links
    # alone.  One of a wrong length would be refused as well, but the kernel would write that to its log.
    asked = message.request(RTM_NEWLINK, 0, _LOOPBACK, message.attr(kind, payload))
    return socket.ask(asked)[0].errno not in (0, errno.EPERM)


def _can_dump(socket: Socket, asked: bytes) -> bool:
    try:
        socket.dump(asked, lambda _kind, _payload: None)
    except KernelError:
        return False
    return True


def _loopback(socket: Socket, bits: int) -> dict[int, memoryview]:
    asked = message.request(RTM_GETLINK, 0, _LOOPBACK, message.u32(IFLA_EXT_MASK, bits))
    _, found = socket.ask(asked, lambda _kind, payload: bytes(payload))
    return message.attributes(memoryview(found[0]), 16) if found else {}


def _errno(socket: Socket, kind: int, flags: int, *body: bytes) -> int:
    return socket.ask(message.request(kind, flags, *body))[0].errno


def _can_join(group: int) -> bool:
    with Socket() as socket:
        try:
            socket.join(group)
        except OSError:
            return False
    return True


def probe(socket: Socket) -> Features:
    """Ask the kernel behind ``socket`` what it can do; without CAP_NET_ADMIN most stays False."""
    group = message.u32(IFLA_GROUP, _NOBODY)
    everything = _loopback(socket, 0)
    without_conf = _loopback(socket, SKIP_DEVCONF).get(IFLA_AF_SPEC, b"")
    header = b"\2" + b"\0" * 7  # struct ifaddrmsg: AF_INET
    address = b"\2\x20\0\0\0\0\0\0"  # struct ifaddrmsg: AF_INET, /32, index 0
    by_group = message.u32(IFA_GROUP, _NOBODY)
    local = message.attr(IFA_LOCAL, b"\x7f\0\0\1")
    return Features(
        dump_group=_can_dump(socket, message.request(RTM_GETLINK, message.NLM_F_DUMP, _LINK, group)),
        group_mask=_knows_attribute(socket, IFLA_GROUP_MASK),
        new_group=_knows_attribute(socket, IFLA_NEW_GROUP),
        group_mac=_knows_attribute(socket, IFLA_GROUP_ADDRESS, b""),
        group_inherit=_knows_attribute(socket, IFLA_GROUP_INHERIT),
        light=_knows_attribute(socket, IFLA_LIGHT),
        group_addr=_errno(socket, RTM_NEWADDR, 0, address, local, by_group) == 0,
        dump_addr_group=_can_dump(socket, message.request(RTM_GETADDR, message.NLM_F_DUMP, header, by_group)),
        bulk_delete=_errno(socket, RTM_DELLINK, message.NLM_F_BULK, _LINK, group) == errno.ENODEV,
        skip_link_stats=IFLA_STATS64 not in _loopback(socket, SKIP_LINK_STATS),
        skip_af_spec=IFLA_AF_SPEC not in _loopback(socket, SKIP_AF_SPEC),
        skip_devconf=len(without_conf) < len(everything.get(IFLA_AF_SPEC, b"")),
        name_only=0 < len(_loopback(socket, NAME_ONLY)) <= 2,
        tc_batch=_errno(socket, RTM_BATCHTFILTER, 0, b"\0" * 4, b"\0" * 8) == 0,
        brief=_can_join(RTNLGRP_LINK_BRIEF),
    )


@cache
def _of_boot(boot: str, privileged: bool) -> Features:
    del boot, privileged  # what the answer depends on
    with Socket() as socket:
        return probe(socket)


def features() -> Features:
    """What the running kernel can do, asked once in this boot, and again where that is not known."""
    status = (line.split() for line in _lines(_STATUS))
    capable = next((int(fields[1], 16) for fields in status if fields[:1] == ["CapEff:"]), 0)
    return _of_boot("".join(_lines(_BOOT)), bool(capable & 1 << 12))


def _lines(path: Path) -> list[str]:
    """What a file of /proc says; nothing where that is not mounted."""
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
