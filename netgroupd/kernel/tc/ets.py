# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ets: bytes, and lists in nests.

The kernel takes as many sizes as there are bands that are not strict, and the MTU for those that are not sent.
"""

from netgroupd.kernel.netlink.message import attributes, nest, u8, u32, walk
from netgroupd.model.state import Attrs, integer, integers
from netgroupd.model.value import Value

_BANDS, _STRICT, _QUANTA, _QUANTUM, _PRIOMAP, _BAND = range(1, 7)


def pack_ets(attrs: Attrs) -> bytes:
    """All of it: what is not sent is as if it were new."""
    bands, strict = integer(attrs, "bands"), integer(attrs, "strict")
    quanta = integers(attrs, "quanta")[: bands - strict]
    return b"".join(
        (
            u8(_BANDS, bands),
            u8(_STRICT, strict),
            nest(_QUANTA, *(u32(_QUANTUM, each) for each in quanta)) if quanta else b"",
            nest(_PRIOMAP, *(u8(_BAND, band) for band in integers(attrs, "priomap"))),
        )
    )


def unpack_ets(payload: memoryview) -> dict[str, Value]:
    """All that it has."""
    found = attributes(payload)
    return {
        "bands": found[_BANDS][0],
        "strict": found[_STRICT][0] if _STRICT in found else 0,
        "quanta": _each(found.get(_QUANTA)),
        "priomap": _each(found.get(_PRIOMAP)),
    }


def _each(told: memoryview | None) -> tuple[int, ...]:
    if told is None:
        return ()
    return tuple(int.from_bytes(told[start:end], "little") for _, start, end in walk(told))
