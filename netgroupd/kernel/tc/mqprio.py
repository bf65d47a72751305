# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of mqprio: a structure, and attributes of what the hardware is told besides.

Rates are an attribute each, of the number that the nest of them has; what is said
of one class is in a nest of its own.
"""

import struct
from collections.abc import Iterator
from itertools import islice

from netgroupd.kernel.netlink.message import attr, attributes, nest, u32, walk
from netgroupd.model.state import Attrs, integers
from netgroupd.model.tc.mqprio import MODE, PREEMPTION, SHAPER
from netgroupd.model.value import Type, Value

_STRUCTURE = struct.Struct("=B16BB32H")  # classes, map, hardware, counts and offsets
_ATTRIBUTES = 84  # where they begin, aligned
_CLASSES, _HARDWARE = 16, 17  # how many there may be, and where the structure says who has them
_U64 = struct.Struct("=Q")
_WORDS: dict[str, tuple[int, Type]] = {"mode": (1, MODE), "shaper": (2, SHAPER)}
_USUAL = "dcb"  # which goes without saying
_RATES = {"min_rate": 3, "max_rate": 4}
_CLASS, _INDEX, _PREEMPTION = 5, 1, 2


def _listed(attrs: Attrs, name: str) -> tuple[Value, ...]:
    value = attrs.get(name) or ()
    assert isinstance(value, tuple)
    return value


def pack_mqprio(attrs: Attrs) -> bytes:
    """What is said, and 0 for the rest."""
    return pack_queues(attrs).ljust(_ATTRIBUTES, b"\0") + b"".join(_to_hardware(attrs))


def pack_queues(attrs: Attrs) -> bytes:
    """The structure, which taprio has too."""
    classes, queues = attrs.get("num_tc", 1), integers(attrs, "queues")
    counts, offsets = _filled(queues[::2]), _filled(queues[1::2])
    priomap = integers(attrs, "map") or (0,) * 16
    return _STRUCTURE.pack(classes, *priomap, bool(attrs.get("hw")), *counts, *offsets)


def _filled(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return (*numbers, *(0,) * (_CLASSES - len(numbers)))


def _to_hardware(attrs: Attrs) -> Iterator[bytes]:
    for name, (number, kind) in _WORDS.items():
        if attrs.get(name, _USUAL) != _USUAL and kind.pack:
            yield attr(number, kind.pack(attrs[name]))
    for name, number in _RATES.items():
        if name in attrs:
            yield nest(number, *(attr(number, _U64.pack(rate)) for rate in _filled(integers(attrs, name))))
    for place, said in enumerate(_listed(attrs, "fp")):
        assert PREEMPTION.pack
        yield nest(_CLASS, u32(_INDEX, place), attr(_PREEMPTION, PREEMPTION.pack(said)))


def unpack_mqprio(payload: memoryview) -> dict[str, Value]:
    """What there is; the kernel tells of preemption without hardware too, where there is none."""
    classes, hardware = payload[0], bool(payload[_HARDWARE])
    told = {**unpack_queues(payload), "hw": hardware}
    return told | (_from_hardware(payload[_ATTRIBUTES:], classes) if hardware else {})


def unpack_queues(payload: memoryview) -> dict[str, Value]:
    """What the structure says of classes and queues."""
    classes, *rest = _STRUCTURE.unpack_from(payload)
    priomap, counts, offsets = rest[:16], rest[17:33], rest[33:]
    pairs = zip(counts[:classes], offsets[:classes], strict=True)
    queues = tuple(number for pair in pairs for number in pair)
    return {"num_tc": classes, "map": tuple(priomap), "queues": queues}


def _from_hardware(payload: memoryview, classes: int) -> dict[str, Value]:
    found, told = attributes(payload), dict[str, Value]()
    for name, (number, kind) in _WORDS.items():
        told[name] = kind.unpack(bytes(found[number])) if number in found and kind.unpack else _USUAL
    for name, number in _RATES.items():
        if number in found:
            rates = (_U64.unpack_from(found[number], start)[0] for _, start, _ in walk(found[number]))
            told[name] = tuple(islice(rates, classes))
    entries = (attributes(payload, start, end) for number, start, end in walk(payload) if number == _CLASS)
    assert PREEMPTION.unpack
    fp = tuple(PREEMPTION.unpack(bytes(entry[_PREEMPTION])) for entry in entries)
    return told | ({"fp": fp[:classes]} if fp else {})
