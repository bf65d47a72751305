# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ets, under ``tc``'s names, and what follows from some where others are not said."""

from netgroupd.model.attr import Attr
from netgroupd.model.state import Attrs, integer, integers
from netgroupd.model.tc.lists import PRIOMAP
from netgroupd.model.tc.units import SIZE
from netgroupd.model.value import number, several

_MOST_BANDS = 16
_LEAST_BYTES, _MOST_BYTES = 256, 1 << 20

OPTIONS = (
    Attr("bands", number(8, 1, _MOST_BANDS), "How many bands; follows from the others."),
    Attr("strict", number(8, 0, _MOST_BANDS), "How many of them go before the others, each before the next."),
    Attr("quanta", several(SIZE), "Bytes of each of the others at a time, in turn; the MTU if not mentioned."),
    Attr("priomap", PRIOMAP, "The band of each priority of packets, 16 numbers; the last if not mentioned."),
)


def whole(attrs: Attrs) -> Attrs:
    """The options as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    quanta = [_taken(size) for size in integers(attrs, "quanta")]
    strict = integer(attrs, "strict")
    bands = integer(attrs, "bands", strict + len(quanta))
    if not bands:
        raise ValueError("bands: expected it, or strict, or quanta")
    if bands > _MOST_BANDS:
        raise ValueError(f"quanta: expected at most {_MOST_BANDS} bands, not {bands} with those that are strict")
    if strict > bands:
        raise ValueError(f"strict: expected at most {bands}, which is bands, not {strict}")
    if "quanta" in attrs and len(quanta) != bands - strict:
        told = f"{bands - strict} sizes, one for each of {bands} bands that is not strict"
        raise ValueError(f"quanta: expected {told}, not {len(quanta)}")
    priomap = integers(attrs, "priomap") or (bands - 1,) * 16
    if max(priomap) >= bands:
        told = f"none above {bands - 1} of {bands} bands, not {max(priomap)}"
        raise ValueError(f"priomap: expected {told}; the bands are counted from 0")
    said = {"quanta": tuple(quanta)} if "quanta" in attrs else {}
    return {**attrs, "bands": bands, "strict": strict, **said, "priomap": priomap}


def _taken(size: int) -> int:
    """What the kernel takes for a size."""
    return min(max(size, _LEAST_BYTES), _MOST_BYTES)
