# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers tell by the ioctl of old, which netgroupd does not use: another witness."""

import ctypes
import fcntl
import socket
import struct
import subprocess
from collections.abc import Mapping

from netgroupd.kernel.netns import entered

_SIOCETHTOOL = 0x8946
_STRINGS, _FEATURES = 0x1B, 0x3A
_OF_FEATURES = 4
_NAME = 32
_CALLS = {"rings": (0x10, 9), "channels": (0x3C, 9), "coalesce": (0x0E, 23), "pause": (0x12, 4), "fec": (0x50, 4)}
_ROOM = 8192


def _asked(netns: str | None, link: str, command: bytes) -> bytes:
    buffer = ctypes.create_string_buffer(command, _ROOM)
    with entered(netns), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, _SIOCETHTOOL, struct.pack("16sP16x", link.encode(), ctypes.addressof(buffer)))
    return buffer.raw


def names(netns: str | None = None) -> set[str]:
    """The links that are there."""
    where = () if netns is None else ("-n", netns)
    shown = subprocess.run(["ip", *where, "-br", "link"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0].partition("@")[0] for line in shown.splitlines()}


def told(link: str, part: str, netns: str | None = None) -> tuple[int, ...]:
    """The numbers of a part of a link, as they are in the structure of that part; none if it has none."""
    command, count = _CALLS[part]
    try:
        found = _asked(netns, link, struct.pack("=I", command))
    except OSError:
        return ()
    return struct.unpack_from(f"={count - 1}I", found, 4)


def features(link: str, netns: str | None = None) -> Mapping[str, tuple[bool, bool]]:
    """Of each feature whether somebody wants it, and whether it is active."""
    answer = _asked(netns, link, struct.pack("=III", _STRINGS, _OF_FEATURES, 0))
    (count,) = struct.unpack_from("=I", answer, 8)
    texts = (answer[12 + _NAME * number : 12 + _NAME * (number + 1)] for number in range(count))
    names = [text.rstrip(b"\0").decode() for text in texts]
    blocks = -(-count // 32)
    answer = _asked(netns, link, struct.pack("=II", _FEATURES, blocks))
    words = [struct.unpack_from("=IIII", answer, 8 + 16 * block) for block in range(blocks)]
    return {
        name: (bool(words[place // 32][1] >> place % 32 & 1), bool(words[place // 32][2] >> place % 32 & 1))
        for place, name in enumerate(names)
        if name
    }
