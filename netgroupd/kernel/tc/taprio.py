# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of taprio: which queues classes have, as of mqprio, and a schedule.

A schedule that is told stands beside the one that runs until it begins: the last that was told counts.
"""

import struct
from collections.abc import Mapping

from netgroupd.kernel.netlink.message import attr, attributes, nest, u8, u32, walk
from netgroupd.kernel.tc.mqprio import pack_queues, unpack_queues
from netgroupd.model.state import Attrs, integer
from netgroupd.model.tc.taprio import CLOCK, COMMANDS, OFFLOAD, TXTIME_ASSIST, entries, entry_text
from netgroupd.model.value import Value

_QUEUES, _ENTRIES, _BASE, _CLOCK, _NEXT, _CYCLE, _EXTENSION, _FLAGS, _DELAY = 1, 2, 3, 5, 7, 8, 9, 10, 11
_ENTRY, _INDEX, _COMMAND, _GATES, _INTERVAL = 1, 1, 2, 3, 4
_TIMES = {"base_time": _BASE, "cycle_time": _CYCLE, "cycle_time_extension": _EXTENSION}
_S64 = struct.Struct("=q")
_NAMES = {number: name for name, number in COMMANDS.items()}


def pack_taprio(attrs: Attrs) -> bytes:
    """All of it: what is not sent is as if it were new, but for how long a packet takes."""
    flags = integer(attrs, "flags")
    assert CLOCK.pack
    parts = [
        attr(_QUEUES, pack_queues(attrs)),
        nest(
            _ENTRIES,
            *(
                nest(
                    _ENTRY, u32(_INDEX, place), u8(_COMMAND, COMMANDS[command]), u32(_GATES, gates), u32(_INTERVAL, ns)
                )
                for place, (command, gates, ns) in enumerate(entries(attrs))
            ),
        ),
        *(attr(number, _S64.pack(integer(attrs, name))) for name, number in _TIMES.items()),
        b"" if flags & OFFLOAD else attr(_CLOCK, CLOCK.pack(attrs["clockid"])),
        u32(_FLAGS, flags) if flags else b"",
        u32(_DELAY, integer(attrs, "txtime_delay")) if flags & TXTIME_ASSIST else b"",
    ]
    return b"".join(parts)


def unpack_taprio(payload: memoryview) -> dict[str, Value]:
    """All that it has."""
    found = attributes(payload)
    assert CLOCK.unpack
    clock = {"clockid": CLOCK.unpack(bytes(found[_CLOCK]))} if _CLOCK in found else {}
    flags = {
        name: int.from_bytes(found.get(number, b""), "little")
        for name, number in (("flags", _FLAGS), ("txtime_delay", _DELAY))
    }
    return {**unpack_queues(found[_QUEUES]), **clock, **flags, **_schedule(found)}


def _schedule(found: Mapping[int, memoryview]) -> dict[str, Value]:
    told = attributes(found[_NEXT]) if _NEXT in found else found
    listed = told.get(_ENTRIES, memoryview(b""))
    return {
        "sched_entry": tuple(_entry(attributes(listed, start, end)) for _, start, end in walk(listed)),
        **{name: _S64.unpack_from(told[number])[0] for name, number in _TIMES.items() if number in told},
    }


def _entry(told: Mapping[int, memoryview]) -> str:
    command, gates, interval = (int.from_bytes(told[number], "little") for number in (_COMMAND, _GATES, _INTERVAL))
    return entry_text(_NAMES[command], gates, interval)
