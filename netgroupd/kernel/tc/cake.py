# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of cake: an attribute each, of four bytes but for its rate."""

from netgroupd.kernel.netlink.message import attr, attributes, u32
from netgroupd.model.state import Attrs
from netgroupd.model.tc.cake import OPTIONS
from netgroupd.model.value import Value

_RAW = 12  # no overhead is counted


def pack_cake(attrs: Attrs) -> bytes:
    """What is said, and no more: the rest stays as it is."""
    parts = []
    for row in OPTIONS:
        value = attrs.get(row.name)
        if value is not None and row.type.pack:
            parts.append(attr(row.wire, row.type.pack(value)))
        elif row.name in attrs:
            parts.append(u32(_RAW, 0))
    return b"".join(parts)


def unpack_cake(payload: memoryview) -> dict[str, Value]:
    """All that it has."""
    told = attributes(payload)
    found = {
        row.name: row.type.unpack(bytes(told[row.wire])) for row in OPTIONS if row.wire in told and row.type.unpack
    }
    return {**found, "overhead": None} if _RAW in told else found
