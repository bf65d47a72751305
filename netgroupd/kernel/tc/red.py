# SPDX-License-Identifier: GPL-2.0-or-later
"""Random early detection: the average, and how it ages while nothing comes, as logarithms and a table."""

import math
import struct

from netgroupd.kernel.message import attr, attributes, u32
from netgroupd.model.state import Attrs
from netgroupd.model.tc.units import SHARES, parts_of, share
from netgroupd.model.value import Value

_PARMS = struct.Struct("=IIIBBBB")  # limit, min, max, W log, P log, cell log, flags
_FLAGS = {"ecn": 1, "harddrop": 2, "adaptive": 4}
_ROOT_LINK = 1_250_000  # bytes per second; what the average ages by if no rate is known
_TICKS_PER_S = 15_625_000
_MOST_SHIFT = 31


def _number(attrs: Attrs, name: str, default: int) -> int:
    value = attrs.get(name)
    return value if isinstance(value, int) and value else default


def _weight_log(low: int, burst: int, packet: int) -> int:
    """The weight of one packet in the average, so that a burst of that many passes."""
    room = burst + 1 - low / packet
    weight = 0.5
    for log in range(1, 32):
        if room <= (1 - (1 - weight) ** burst) / weight:
            return log
        weight /= 2
    return _MOST_SHIFT


def _aging(weight_log: int, packet: int) -> tuple[int, bytes]:
    """The cell size, and by how much the average is shifted after that many cells of silence."""
    per_packet = packet / _ROOT_LINK * _TICKS_PER_S
    fading = -math.log(1 - 1 / (1 << weight_log)) / per_packet
    longest = _MOST_SHIFT / fading
    cell = next(log for log in range(32) if longest / (1 << log) < 512 or log == _MOST_SHIFT)
    shifts = [min(round((place << cell) * fading), _MOST_SHIFT) for place in range(255)]
    return cell, bytes((*shifts, _MOST_SHIFT))


def pack_red(attrs: Attrs) -> bytes:
    """The options; what is not said is what ``tc`` would take."""
    limit, packet = _number(attrs, "limit", 60000), _number(attrs, "avpkt", 1000)
    high = _number(attrs, "max", limit // 4)
    low = _number(attrs, "min", high // 3)
    burst = _number(attrs, "burst", (2 * low + high) // (3 * packet))
    chance = parts_of(attrs.get("probability", 2)) / SHARES
    weight_log = _weight_log(low, max(burst, 1), packet)
    cell, table = _aging(weight_log, packet)
    probability_log = max(1, math.ceil(math.log2(max(high - low, 1) / chance)))
    flags = sum(bit for name, bit in _FLAGS.items() if attrs.get(name))
    parms = _PARMS.pack(limit, low, high, weight_log, min(probability_log, 31), cell, flags)
    return attr(1, parms) + attr(2, table) + u32(3, min(round(chance * (1 << 32)), 0xFFFFFFFF))


def unpack_red(payload: memoryview) -> dict[str, Value]:
    """What the kernel still tells of it."""
    found = attributes(payload)
    limit, low, high, _, _, _, flags = _PARMS.unpack_from(found[1])
    return {
        "limit": limit,
        "min": low,
        "max": high,
        "probability": share(round(int.from_bytes(found.get(3, b""), "little") * SHARES / (1 << 32))),
        **{name: bool(flags & bit) for name, bit in _FLAGS.items()},
    }
