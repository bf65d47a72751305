# SPDX-License-Identifier: GPL-2.0-or-later
"""What the action sample hands to listeners, through generic netlink."""

import socket
import struct
from typing import NamedTuple

from tests.vm.kernel_netlink import REQUEST, attr, parse

_GENERIC, _CONTROL, _GET_FAMILY = 16, 16, 3
_NAME, _GROUPS, _GROUP_NAME, _GROUP_ID = 2, 7, 1, 2
_ADD_MEMBERSHIP, _SOL_NETLINK = 1, 270
_SAMPLE_GROUP, _RATE, _DATA = 3, 5, 6
_HEADERS = 16 + 4


class Sample(NamedTuple):
    """One packet, as far as it was kept."""

    group: int
    rate: int
    frame: bytes


class Samples:
    """Everything that is sampled in this network namespace."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC)
        self._socket.settimeout(60)
        self._socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, self._group())

    def _group(self) -> int:
        body = struct.pack("BBH", _GET_FAMILY, 1, 0) + attr(_NAME, "psample")
        self._socket.send(struct.pack("IHHII", 16 + len(body), _CONTROL, REQUEST, 1, 0) + body)
        family = parse(self._socket.recv(65536)[_HEADERS:])
        groups = (parse(group) for group in parse(family[_GROUPS]).values())
        by_name = {group[_GROUP_NAME].rstrip(b"\0"): group[_GROUP_ID] for group in groups}
        return int.from_bytes(by_name[b"packets"], "little")

    def next(self) -> Sample:
        """Wait for the next sample."""
        told = parse(self._socket.recv(65536)[_HEADERS:])
        group, rate = (int.from_bytes(told[number], "little") for number in (_SAMPLE_GROUP, _RATE))
        return Sample(group, rate, told[_DATA])

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()
