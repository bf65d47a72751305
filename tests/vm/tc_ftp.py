# SPDX-License-Identifier: GPL-2.0-or-later
"""The beginning of FTP: one connection, in which the client says where it waits, and the one that the server makes."""

import struct

from tests.vm.tc_wire import MARK, ip4, summed

End = tuple[str, int]
_CLIENT, _SERVER = ("10.0.0.1", 1000), ("10.0.0.2", 21)
_SYN, _ACK = 2, 16


def _segment(source: End, to: End, numbers: tuple[int, int], flags: int, said: bytes = b"") -> bytes:
    """A frame with a segment of TCP; the numbers are its own and the one that it acknowledges."""
    header = struct.pack(">HHIIBBHHH", source[1], to[1], *numbers, 0x50, flags, 1000, 0, 0)
    return summed(ip4(header + said, 6, src=source[0], dst=to[0]))


CONTROL = (
    _segment(_CLIENT, _SERVER, (0, 0), _SYN),
    _segment(_SERVER, _CLIENT, (0, 1), _SYN | _ACK),
    _segment(_CLIENT, _SERVER, (1, 1), _ACK, b"NOOP\r\n"),  # where a line ends the kernel knows from the one before
    _segment(_CLIENT, _SERVER, (7, 1), _ACK, b"PORT 10,0,0,1,19,137\r\n"),
)
RELATED = _segment(("10.0.0.2", 20), ("10.0.0.1", 5001), (0, 0), _SYN, MARK)
