# SPDX-License-Identifier: GPL-2.0-or-later
"""The action police: its structure is none of the usual ones."""

import struct
from collections.abc import Mapping

from netgroupd.kernel.netlink.message import attr, u32, u64
from netgroupd.kernel.tc.rates import RATESPEC_SIZE, TABLE, framing, is_wide, pack_rate, unpack_rate
from netgroupd.model.state import integer
from netgroupd.model.tc.action import control_number, control_text, usual_control
from netgroupd.model.tc.rates import LINK_LAYER_NAMES, LINK_LAYERS, MOST_OF_PACKETS, size_of, ticks
from netgroupd.model.value import Value

_HEAD = struct.Struct("=IIIII")  # index, control, limit, burst, mtu
_TAIL = struct.Struct("=iiI")  # references, binds, capabilities
PARMS, _RATE, _PEAKRATE, _MEASURED, _RESULT, TIMES = 1, 2, 3, 4, 5, 6
_RATE64, _PEAKRATE64, _PKTRATE, _PKTBURST = 8, 9, 10, 11


def pack_police(index: int, fields: Mapping[str, Value]) -> bytes:
    """The options of the action; the kernel gives it an index where ``index`` is 0."""
    rate, peak = integer(fields, "rate"), integer(fields, "peakrate")
    control = control_number(str(fields.get("control", usual_control({"kind": "police"}))))
    layer = LINK_LAYERS[str(fields.get("linklayer", "ethernet"))]
    framed = (layer, integer(fields, "overhead"), integer(fields, "mpu"))
    burst = ticks(integer(fields, "burst"), rate) if rate else 0
    parts = [
        attr(
            PARMS,
            _HEAD.pack(index, control, 0, burst, integer(fields, "mtu"))
            + pack_rate(rate, *framed)
            + pack_rate(peak, *framed)
            + _TAIL.pack(0, 0, 0),
        )
    ]
    for value, narrow, wide in ((rate, _RATE, _RATE64), (peak, _PEAKRATE, _PEAKRATE64)):
        parts += [attr(narrow, TABLE)] if value else []
        parts += [u64(wide, value)] if is_wide(value) else []
    if packets := integer(fields, "pkts_rate"):
        burst = ticks(integer(fields, "pkts_burst"), packets, MOST_OF_PACKETS)
        parts += [u64(_PKTRATE, packets), u64(_PKTBURST, burst)]
    if "conform" in fields:
        parts.append(u32(_RESULT, control_number(str(fields["conform"]))))
    return b"".join(parts)


def unpack_police(found: Mapping[int, memoryview]) -> dict[str, Value]:
    """The fields that a dump tells; one by a rate that the kernel measures is of a kind that no file can say."""
    parms = bytes(found[PARMS])
    _, control, _, burst, mtu = _HEAD.unpack_from(parms)
    fields: dict[str, Value] = {"control": control_text(control)}
    if _MEASURED in found:
        fields["kind"] = "police avrate"
    rate = unpack_rate(parms[_HEAD.size :], found.get(_RATE64))
    peak = unpack_rate(parms[_HEAD.size + RATESPEC_SIZE :], found.get(_PEAKRATE64))
    if rate:
        layer, overhead, mpu = framing(parms[_HEAD.size :])
        fields |= {"overhead": overhead, "mpu": mpu, "linklayer": LINK_LAYER_NAMES.get(layer, layer)}
        fields |= {"rate": rate, "burst": size_of(burst, rate)}
    if peak:
        fields["peakrate"] = peak
    if mtu:
        fields["mtu"] = mtu
    if _PKTRATE in found:
        packets, time = (int.from_bytes(found[number], "little") for number in (_PKTRATE, _PKTBURST))
        fields |= {"pkts_rate": packets, "pkts_burst": size_of(time, packets)}
    # 0, which is to pass, is not told.
    fields["conform"] = control_text(int.from_bytes(found.get(_RESULT, b""), "little"))
    return fields


COUNTS = _HEAD.size + 2 * RATESPEC_SIZE
"""Where in the structure is by how many it is held."""


def police_counts(found: Mapping[int, memoryview]) -> tuple[int, int, int]:
    """The index, and by how many it is held: in all, and by filters."""
    references, binds, _ = _TAIL.unpack_from(found[PARMS], COUNTS)
    return _HEAD.unpack_from(found[PARMS])[0], references, binds
