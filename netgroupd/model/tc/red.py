# SPDX-License-Identifier: GPL-2.0-or-later
"""Random early detection: the average, and how it ages while nothing comes, as logarithms and a table.

The kernel tells the logarithms, but not the burst and the size of packets that they are from.
"""

import math
from typing import NamedTuple

from netgroupd.model.state import Attrs

_ROOT_LINK = 1_250_000  # bytes per second; what the average ages by if no rate is known
_TICKS_PER_S = 15_625_000
_MOST_SHIFT = 31
_BITS = 32


class Usual(NamedTuple):
    """All of it: what is not said is what ``tc`` would take."""

    limit: int
    low: int
    high: int
    ewma: int
    scell_log: int
    table: bytes


def usual(attrs: Attrs) -> Usual:
    """What the options come to."""
    limit, packet = _number(attrs, "limit", 60000), _number(attrs, "avpkt", 1000)
    high = _number(attrs, "max", limit // 4)
    low = _number(attrs, "min", high // 3)
    burst = _number(attrs, "burst", (2 * low + high) // (3 * packet))
    ewma = _number(attrs, "ewma", _weight_log(low, max(burst, 1), packet))
    said = attrs.get("scell_log")
    return Usual(limit, low, high, ewma, *_aging(ewma, packet, said if isinstance(said, int) else None))


def whole(attrs: Attrs) -> Attrs:
    """The options with what the kernel tells in place of a burst; raises ValueError("OPTION: expected …").

    A probability that is said is not to be adapted, unless that is said too.
    """
    attrs = {"adaptive": False, **attrs} if "probability" in attrs else attrs
    named = [name for name in ("burst", "avpkt") if name in attrs]
    if named and (beside := [name for name in ("ewma", "scell_log") if name in attrs]):
        raise ValueError(f"{beside[0]}: expected none beside {named[0]}, which it follows from")
    all_ = usual(attrs)
    if all_.high.bit_length() + all_.ewma >= _BITS:
        hint = "no average of 32 bits comes of this with the others of min, max, burst and avpkt"
        raise ValueError(f"{(*named, 'max')[0]}: expected another value; {hint}")
    return {**attrs, "ewma": all_.ewma, "scell_log": all_.scell_log} if named else attrs


def lasting(attrs: Attrs) -> Attrs:
    """The options without a probability that is adapted: what it begins with is soon another, and no difference."""
    return {name: value for name, value in attrs.items() if name != "probability"} if attrs.get("adaptive") else attrs


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


def _aging(weight_log: int, packet: int, said: int | None) -> tuple[int, bytes]:
    """The cell size, and by how much the average is shifted after that many cells of silence."""
    per_packet = packet / _ROOT_LINK * _TICKS_PER_S
    fading = -math.log(1 - 1 / (1 << weight_log)) / per_packet
    longest = _MOST_SHIFT / fading
    cell = next(log for log in range(32) if longest / (1 << log) < 512 or log == _MOST_SHIFT) if said is None else said
    shifts = [min(round((place << cell) * fading), _MOST_SHIFT) for place in range(255)]
    return cell, bytes((*shifts, _MOST_SHIFT))
