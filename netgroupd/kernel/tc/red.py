# SPDX-License-Identifier: GPL-2.0-or-later
"""Random early detection: its options as a structure, and the table by which the average ages."""

import math
import struct

from netgroupd.kernel.netlink.message import attr, attributes, u32
from netgroupd.model.state import Attrs
from netgroupd.model.tc import red
from netgroupd.model.tc.units import SHARES, parts_of, share
from netgroupd.model.value import Value

_PARMS = struct.Struct("=IIIBBBB")  # limit, min, max, W log, P log, cell log, flags
_EARLY = struct.Struct("=IIIBBBBI24x")  # limit, min, max, W log, P log, cell log, flags, probability, counts
_FLAGS = {"ecn": 1, "harddrop": 2, "adaptive": 4}
_NODROP, _NEW_FLAGS = 8, 4
_ALL_FLAGS = 15
_BITS = struct.Struct("=II")  # values, and which of them are said


def _probability_log(usual: red.Usual, chance: float) -> int:
    return min(max(1, math.ceil(math.log2(max(usual.high - usual.low, 1) / chance))), 31)


def pack_early(attrs: Attrs) -> bytes:
    """Early detection inside of another qdisc, none where it has no ``min``."""
    if not attrs.get("min"):
        return bytes(_EARLY.size)
    usual, chance = red.usual(attrs), parts_of(attrs.get("probability", 2)) / SHARES
    flags = sum(bit for name, bit in _FLAGS.items() if attrs.get(name))
    logs = (usual.ewma, _probability_log(usual, chance), usual.scell_log)
    return _EARLY.pack(0, usual.low, usual.high, *logs, flags, min(round(chance * (1 << 32)), 0xFFFFFFFF))


def unpack_early(payload: bytes) -> dict[str, Value]:
    """What the kernel tells of that."""
    _, low, high, ewma, _, scell_log, flags, chance = _EARLY.unpack_from(payload)
    if not low:
        return {}
    return {
        "min": low,
        "max": high,
        "ewma": ewma,
        "scell_log": scell_log,
        "probability": share(round(chance * SHARES / (1 << 32))),
        **{name: bool(flags & bit) for name, bit in _FLAGS.items() if name != "adaptive"},
    }


def pack_red(attrs: Attrs) -> bytes:
    """The options; what is not said is what ``tc`` would take."""
    usual = red.usual(attrs)
    chance = parts_of(attrs.get("probability", 2)) / SHARES
    flags = sum(bit for name, bit in _FLAGS.items() if attrs.get(name))
    # The kernel takes them in one of two places, and begins to adapt by the first alone.
    # Where nothing is marked any more what cannot be is dropped again.
    old, new = (0, flags | _NODROP * bool(attrs.get("ecn"))) if attrs.get("nodrop") else (flags, 0)
    parms = _PARMS.pack(
        usual.limit, usual.low, usual.high, usual.ewma, _probability_log(usual, chance), usual.scell_log, old
    )
    more = attr(_NEW_FLAGS, _BITS.pack(new, _ALL_FLAGS)) if attrs.get("nodrop") else b""
    return attr(1, parms) + attr(2, usual.table) + u32(3, min(round(chance * (1 << 32)), 0xFFFFFFFF)) + more


def unpack_red(payload: memoryview) -> dict[str, Value]:
    """What the kernel still tells of it."""
    found = attributes(payload)
    limit, low, high, ewma, _, scell_log, flags = _PARMS.unpack_from(found[1])
    more = _BITS.unpack_from(found[_NEW_FLAGS])[0] if _NEW_FLAGS in found else 0
    return {
        "limit": limit,
        "min": low,
        "max": high,
        "ewma": ewma,
        "scell_log": scell_log,
        "nodrop": bool(more & _NODROP),
        "probability": share(round(int.from_bytes(found.get(3, b""), "little") * SHARES / (1 << 32))),
        **{name: bool(flags & bit) for name, bit in _FLAGS.items()},
    }
