# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates as struct tc_ratespec, with the table of times that some actions still want."""

import struct

from netgroupd.model.tc.rates import ticks

RATESPEC = struct.Struct("=BBHhHI")  # cell log, link layer, overhead, cell align, mpu, rate
RATESPEC_SIZE = RATESPEC.size
_ETHERNET = 1
_CELL_LOG = 3  # 256 cells of 8 bytes: packets up to 2047
_TABLE = struct.Struct("=256I")
_LARGEST = 0xFFFFFFFF


def pack_rate(rate: int) -> bytes:
    """A rate in bytes per second; one past 32 bits is said by an attribute of its own too."""
    return RATESPEC.pack(
        _CELL_LOG if rate else 0, _ETHERNET if rate else 0, 0, -1 if rate else 0, 0, min(rate, _LARGEST)
    )


def unpack_rate(payload: bytes, wide: memoryview | None) -> int:
    """The rate, from the attribute of 64 bits where there is one."""
    if wide is not None:
        return int.from_bytes(wide, "little")
    rate: int = RATESPEC.unpack_from(payload)[5]
    return rate


def table(rate: int) -> bytes:
    """How long packets of each size take."""
    return _TABLE.pack(*(ticks((cell + 1) << _CELL_LOG, rate) for cell in range(256)))


def is_wide(rate: int) -> bool:
    """Whether a rate needs the attribute of 64 bits."""
    return rate >= _LARGEST
