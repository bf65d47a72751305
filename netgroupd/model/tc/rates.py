# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts as the kernel holds them: as the time that they take at a rate, in ticks of 64 ns.

Where one tick is more than a byte, the bytes that come back are not those that
were given; ``settled`` gives a burst the value that comes back.
"""

from collections.abc import Mapping

from netgroupd.model.value import Value

_TICK_NS = 64
_SECOND_NS = 1_000_000_000
BURSTS = {"burst": "rate", "cburst": "ceil", "pkts_burst": "pkts_rate"}
"""Which size is held as the time at which rate."""
_MOST = 0xFFFFFFFF
MOST_OF_PACKETS = (1 << 57) - 1
"""The ticks that a burst of packets can take: the kernel counts them in nanoseconds, with 63 bits."""
LINK_LAYERS = {"ethernet": 1, "atm": 2}
"""How a link takes bytes: as they are, or in cells of ATM."""
LINK_LAYER_NAMES = {0: "ethernet", **{number: name for name, number in LINK_LAYERS.items()}}


def ticks(size: int, rate: int, most: int = _MOST) -> int:
    """How long ``size`` bytes (or packets) take at ``rate`` a second."""
    return min(size * _SECOND_NS // max(rate, 1) // _TICK_NS, most)


def size_of(time: int, rate: int) -> int:
    """The fewest bytes (or packets) that take that many ticks."""
    return -(-time * _TICK_NS * rate // _SECOND_NS)


def settled(attrs: Mapping[str, Value], bursts: Mapping[str, str] = BURSTS) -> dict[str, Value]:
    """The attributes of a class, qdisc or action with its bursts as the kernel will tell them."""
    result = dict(attrs)
    for burst, rate in bursts.items():
        size, speed = attrs.get(burst), attrs.get(rate)
        if isinstance(size, int) and isinstance(speed, int):
            result[burst] = size_of(ticks(size, speed, MOST_OF_PACKETS if burst == "pkts_burst" else _MOST), speed)
    return result
