# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of sizes as TCA_STAB, and what the kernel tells of one."""

import struct
from collections.abc import Mapping

from netgroupd.kernel.netlink.message import attr, attributes, nest
from netgroupd.model.tc.rates import LINK_LAYER_NAMES, LINK_LAYERS
from netgroupd.model.tc.sizes import table
from netgroupd.model.value import Value

STAB = 8
_BASE, _DATA = 1, 2
_SPEC = struct.Struct("=BBhiIIII")  # cell log, size log, cell align, overhead, link layer, mpu, mtu, entries


def pack_stab(stab: Mapping[str, Value]) -> bytes:
    """The attribute, with the table that is meant."""
    made = table(stab)
    layer = LINK_LAYERS[str(stab["linklayer"])]
    rest = (stab["overhead"], layer, *(stab[name] for name in ("mpu", "mtu", "tsize")))
    base = attr(_BASE, _SPEC.pack(*made[:3], *rest))
    return nest(STAB, base, attr(_DATA, struct.pack(f"={len(made.sizes)}H", *made.sizes)) if made.sizes else b"")


def unpack_stab(payload: memoryview) -> dict[str, Value]:
    """What the table is for."""
    _, _, _, overhead, layer, mpu, mtu, entries = _SPEC.unpack_from(attributes(payload)[_BASE])
    name = LINK_LAYER_NAMES.get(layer, layer)
    return {"overhead": overhead, "mpu": mpu, "linklayer": name, "mtu": mtu, "tsize": entries}
