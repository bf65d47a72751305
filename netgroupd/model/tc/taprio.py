# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of taprio, under ``tc``'s names, and what follows from some where others are not said.

The largest packets of each class have no name here: before its schedule has begun the kernel does not tell them.
"""

import re

from netgroupd.model.attr import Attr, Change
from netgroupd.model.state import Attrs
from netgroupd.model.tc.mqprio import QUEUES
from netgroupd.model.tc.units import LONG_TIME_NS, SHORT_TIME_NS, TIME_NS
from netgroupd.model.value import Type, Value, number, several, word

COMMANDS = {"S": 0, "H": 1, "R": 2}
TXTIME_ASSIST, OFFLOAD = 1, 2
_CLOCKS = {"realtime": 0, "monotonic": 1, "boottime": 7, "tai": 11}
CLOCK = word(32, _CLOCKS)._replace(schema={"enum": [*_CLOCKS, *map(str.upper, _CLOCKS)]})  # tc has them in capitals
_ENTRY = re.compile(r"([SHR])\s+(?:0x)?([0-9a-f]{1,8})\s+(\S.*)", re.ASCII | re.IGNORECASE)
_EXPECTED = "an entry like S 03 300us: its command, which gates are open in hexadecimal, and for how long"
_MOST_NS = (1 << 31) - 1


def _parse_entry(raw: object) -> Value:
    found = _ENTRY.fullmatch(str(raw).strip())
    try:
        interval = TIME_NS.parse(found[3]) if found else 0
    except ValueError:
        interval = 0
    if not found or not isinstance(interval, int) or not interval:
        raise ValueError(f"expected {_EXPECTED}")
    return entry_text(found[1].upper(), int(found[2], 16), interval)


def entry_text(command: str, gates: int, interval: int) -> str:
    """An entry of a schedule as it is written, its interval in nanoseconds."""
    return f"{command} {gates:02x} {interval}"


def read_entry(text: str) -> tuple[str, int, int]:
    """The command of an entry, which gates are open, and for how many nanoseconds."""
    command, gates, interval = text.split()
    return command, int(gates, 16), int(interval)


def entries(attrs: Attrs) -> list[tuple[str, int, int]]:
    """The entries of a schedule."""
    value = attrs.get("sched_entry") or ()
    assert isinstance(value, tuple)
    return [read_entry(str(entry)) for entry in value]


_SCHEDULE = several(Type(_EXPECTED, _parse_entry, {"type": "string"}))
OPTIONS = (
    *QUEUES,
    Attr("sched_entry", _SCHEDULE, "Which gates are open one after the other, each for how long."),
    Attr("base_time", LONG_TIME_NS, "When the first begins, on the clock; from then on a cycle follows the other."),
    Attr("cycle_time", SHORT_TIME_NS, "How long they take together; their sum if not mentioned."),
    Attr("cycle_time_extension", LONG_TIME_NS, "By how much the last cycle before a change may be longer."),
    Attr("clockid", CLOCK, "The clock; with `flags: 2` that of the card.", 0, Change.RECREATE),
    Attr(
        "flags",
        number(32, 0, OFFLOAD),
        "1 to give packets their times, for etf below, or 2 to leave it to the hardware.",
        0,
        Change.RECREATE,
    ),
    Attr("txtime_delay", TIME_NS, "With `flags: 1`: how long a packet takes to the card."),
)
NEEDED = frozenset({"num_tc", "map", "queues", "sched_entry"})


def whole(attrs: Attrs) -> Attrs:
    """The options as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    said = entries(attrs)
    if not said:
        raise ValueError("sched_entry: expected at least one")
    classes, priomap = attrs.get("num_tc"), attrs.get("map")
    highest = max((each for each in priomap if isinstance(each, int)), default=0) if isinstance(priomap, tuple) else 0
    if isinstance(classes, int) and highest >= classes:
        raise ValueError(f"map: expected none above {classes - 1} of num_tc {classes}, not {highest}")
    if ("clockid" in attrs) == (attrs.get("flags") == OFFLOAD):
        raise ValueError("clockid: expected one, but for flags: 2; the card has its own")
    if attrs.get("txtime_delay") and attrs.get("flags") != TXTIME_ASSIST:
        raise ValueError("txtime_delay: expected flags: 1 beside it")
    cycle = attrs.get("cycle_time") or sum(interval for *_, interval in said)
    assert isinstance(cycle, int)
    if cycle > _MOST_NS:
        raise ValueError(f"sched_entry: expected intervals of {_MOST_NS} ns together at most, or a cycle_time")
    return {**attrs, "cycle_time": cycle}


def opened(attrs: Attrs) -> set[int]:
    """The traffic classes whose gates are ever open."""
    gates = 0
    for _, some, _ in entries(attrs):
        gates |= some
    return {number for number in range(16) if gates >> number & 1}
