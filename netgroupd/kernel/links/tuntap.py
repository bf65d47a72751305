# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that a program reads and writes are made by ioctl, and stay when it is done."""

import fcntl
import os
import struct

from netgroupd.kernel.netns import entered
from netgroupd.model.state import Attrs

_SET_IFF = 0x400454CA
_SET_PERSIST = 0x400454CB
_SET_OWNER = 0x400454CC
_SET_GROUP = 0x400454CE
_SET_IFINDEX = 0x400454DA

_MODES = {"tun": 0x0001, "tap": 0x0002}
_NO_PI, _VNET_HDR, _EXCLUSIVE, _MULTI_QUEUE = 0x1000, 0x4000, 0x8000, 0x0100


def _flags(attrs: Attrs) -> int:
    flags = _MODES[str(attrs["mode"])]
    flags |= 0 if attrs.get("pi") else _NO_PI
    flags |= _VNET_HDR if attrs.get("vnet_hdr") else 0
    return flags | (_MULTI_QUEUE if attrs.get("multi_queue") else 0)


def _attach(device: int, name: str, flags: int) -> None:
    fcntl.ioctl(device, _SET_IFF, struct.pack("=16sH22x", name.encode(), flags))


def _give(device: int, attrs: Attrs) -> None:
    for name, call in (("user", _SET_OWNER), ("user_group", _SET_GROUP)):
        if attrs.get(name) is not None:
            number = int(str(attrs[name]))
            fcntl.ioctl(device, call, number - ((number & 1 << 31) << 1))  # as the signed number that it takes


def create(netns: str | None, name: str, index: int, attrs: Attrs) -> None:
    """Make it, with the index that was chosen for it.

    Raises:
        OSError: The kernel refuses.
    """
    with entered(netns):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, _SET_IFINDEX, struct.pack("=I", index))
        _attach(device, name, _flags(attrs) | _EXCLUSIVE)
        _give(device, attrs)
        fcntl.ioctl(device, _SET_PERSIST, 1)
    finally:
        os.close(device)


def change(netns: str | None, name: str, everything: Attrs, attrs: Attrs) -> None:
    """Give it to another user.

    Raises:
        OSError: A program has it open, or the kernel refuses.
    """
    with entered(netns):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    try:
        _attach(device, name, _flags(everything))
        _give(device, attrs)
    finally:
        os.close(device)
