# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates as struct tc_ratespec, with the table of times that policers still want."""

import struct

RATESPEC = struct.Struct("=BBHhHI")  # cell log, link layer, overhead, cell align, mpu, rate
RATESPEC_SIZE = RATESPEC.size
_ETHERNET = 1
_LAYERS = 0xF
_CELL_LOG = 3  # 256 cells of 8 bytes: packets up to 2047
TABLE = bytes(256 * 4)
"""In place of how long packets of each size take: the kernel wants one, and looks at it where no link layer is said."""
_LARGEST = 0xFFFFFFFF


def pack_rate(rate: int, layer: int = _ETHERNET, overhead: int = 0, mpu: int = 0) -> bytes:
    """A rate in bytes per second; one past 32 bits is said by an attribute of its own too.

    A packet is taken for ``overhead`` more bytes, in cells of ATM where the link has
    them, and for ``mpu`` bytes at least.
    """
    if not rate:
        return RATESPEC.pack(0, 0, 0, 0, 0, 0)
    return RATESPEC.pack(_CELL_LOG, layer, overhead, -1, mpu, min(rate, _LARGEST))


def unpack_rate(payload: bytes, wide: memoryview | None) -> int:
    """The rate, from the attribute of 64 bits where there is one."""
    if wide is not None:
        return int.from_bytes(wide, "little")
    rate: int = RATESPEC.unpack_from(payload)[5]
    return rate


def framing(payload: bytes) -> tuple[int, int, int]:
    """The link layer, the overhead and the least size of packets."""
    _, layer, overhead, _, mpu, _ = RATESPEC.unpack_from(payload)
    return layer & _LAYERS, overhead, mpu


def is_wide(rate: int) -> bool:
    """Whether a rate needs the attribute of 64 bits."""
    return rate >= _LARGEST
