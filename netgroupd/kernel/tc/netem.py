# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of netem: a structure, and attributes behind it.

What is not sent of a table of delays stays, and is not told either.
"""

import struct

from netgroupd.kernel.netlink.message import attr, attributes, nest, u32, u64
from netgroupd.kernel.tc.rates import is_wide
from netgroupd.model.state import Attrs, integer
from netgroupd.model.tc.units import SHARES, fine_time, ns_of, parts_of, share
from netgroupd.model.value import Value

_WHOLE = 0xFFFFFFFF
_NETEM = struct.Struct("=IIIIII")  # latency, limit, loss, gap, duplicate, jitter
_CORRELATIONS = struct.Struct("=III")  # of delay, loss and duplicates
_PAIR = struct.Struct("=II")  # probability, correlation
_RATE = struct.Struct("=IiIi")  # rate, overhead of packets, size and overhead of cells
_SLOT = struct.Struct("=qqiiqq")  # least and longest delay, packets, bytes, and a delay by a table with its jitter
_CORR, _REORDER, _CORRUPT, _LOSS, _SLOW, _ECN, _SLOW64, _LATENCY, _JITTER, _SLOTS = 1, 3, 4, 5, 6, 7, 8, 10, 11, 12
_STATES, _GEMODEL = 1, 2
_CORRELATED = ("delay_corr", "loss_corr", "duplicate_corr")
_FRAMING = ("packet_overhead", "cell_size", "cell_overhead")


def _share(attrs: Attrs, name: str) -> int:
    return _of_whole(attrs.get(name, 0))


def _of_whole(percentage: Value) -> int:
    return round(parts_of(percentage) * _WHOLE / SHARES)


def _percent(of_whole: int) -> Value:
    return share(round(of_whole * SHARES / _WHOLE))


def pack_netem(attrs: Attrs) -> bytes:
    """The options; a model of loss that is not sent is none."""
    loss, duplicate = (_share(attrs, name) for name in ("loss", "duplicate"))
    rate = integer(attrs, "rate")
    parts = [
        _NETEM.pack(0, integer(attrs, "limit", 1000), loss, integer(attrs, "gap"), duplicate, 0),
        u64(_LATENCY, ns_of(attrs.get("delay", 0))),
        u64(_JITTER, ns_of(attrs.get("jitter", 0))),
        attr(_CORR, _CORRELATIONS.pack(*(_share(attrs, name) for name in _CORRELATED))),
        attr(_REORDER, _PAIR.pack(_share(attrs, "reorder"), _share(attrs, "reorder_corr"))),
        attr(_CORRUPT, _PAIR.pack(_share(attrs, "corrupt"), _share(attrs, "corrupt_corr"))),
        attr(_SLOW, _RATE.pack(min(rate, _WHOLE), *(integer(attrs, name) for name in _FRAMING))),
        u64(_SLOW64, rate) if is_wide(rate) else b"",
        u32(_ECN, integer(attrs, "ecn")),
        *_pack_loss(attrs),
        *_pack_slot(attrs),
    ]
    return b"".join(parts)


def _pack_loss(attrs: Attrs) -> list[bytes]:
    states, gemodel = attrs.get("loss_state"), attrs.get("loss_gemodel")
    if isinstance(states, tuple):
        return [nest(_LOSS, attr(_STATES, struct.pack("=5I", *map(_of_whole, states))))]
    if isinstance(gemodel, tuple):
        p, r, not_h, not_k = map(_of_whole, gemodel)
        return [nest(_LOSS, attr(_GEMODEL, struct.pack("=4I", p, r, _WHOLE - not_h, not_k)))]
    return []


def _pack_slot(attrs: Attrs) -> list[bytes]:
    """The slots; those by a table, which are not told, stay."""
    slot = attrs.get("slot")
    if not isinstance(slot, tuple):
        return []
    most = (integer(attrs, name) for name in ("slot_packets", "slot_bytes"))
    return [attr(_SLOTS, _SLOT.pack(*slot, *most, 0, 0))]


def unpack_netem(payload: memoryview) -> dict[str, Value]:
    """What the kernel tells."""
    _, limit, loss, gap, duplicate, _ = _NETEM.unpack_from(payload)
    found = attributes(payload, _NETEM.size)
    attrs: dict[str, Value] = {"limit": limit, "loss": _percent(loss), "gap": gap, "duplicate": _percent(duplicate)}
    for name, number in (("delay", _LATENCY), ("jitter", _JITTER)):
        attrs[name] = fine_time(int.from_bytes(found.get(number, b""), "little"))
    correlations = _CORRELATIONS.unpack_from(found[_CORR]) if _CORR in found else (0, 0, 0)
    attrs |= zip(_CORRELATED, map(_percent, correlations), strict=True)
    for name, number in (("reorder", _REORDER), ("corrupt", _CORRUPT)):
        pair = _PAIR.unpack_from(found[number]) if number in found else (0, 0)
        attrs |= zip((name, f"{name}_corr"), map(_percent, pair), strict=True)
    narrow, *framing = _RATE.unpack_from(found[_SLOW]) if _SLOW in found else (0, 0, 0, 0)
    attrs["rate"] = int.from_bytes(found[_SLOW64], "little") if _SLOW64 in found else narrow
    attrs |= zip(_FRAMING, framing, strict=True)
    attrs["ecn"] = any(found.get(_ECN, b""))
    return {**attrs, **_loss(found.get(_LOSS)), **_slot(found.get(_SLOTS))}


def _loss(payload: memoryview | None) -> dict[str, Value]:
    found = attributes(payload) if payload else {}
    if _STATES in found:
        return {"loss_state": tuple(map(_percent, struct.unpack_from("=5I", found[_STATES])))}
    if _GEMODEL in found:
        p, r, h, not_k = struct.unpack_from("=4I", found[_GEMODEL])
        return {"loss_gemodel": tuple(map(_percent, (p, r, _WHOLE - h, not_k)))}
    return {}


def _slot(payload: memoryview | None) -> dict[str, Value]:
    if payload is None:
        return {}
    first, last, packets, octets, *by_table = _SLOT.unpack_from(payload)
    return {} if any(by_table) else {"slot": (first, last), "slot_packets": packets, "slot_bytes": octets}
