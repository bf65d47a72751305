# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs, 802.1Q and 802.1ad."""

import re

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.value import FLAG, Type, Value, number, word

PROTOCOL = word(16, {"802.1q": 0x8100, "802.1ad": 0x88A8}, order=">")
_PAIR = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")


def qos(low: int, high: int) -> Type:
    """Priorities as ``from:to``, several of them; from at most ``low``, to at most ``high``."""
    expected = f"pairs like 1:2, up to {low}:{high}"

    def parse(raw: object) -> Value:
        rows = raw.split() if isinstance(raw, str) else raw if isinstance(raw, list | tuple) else (None,)
        found: dict[int, int] = {}
        for row in rows:
            pair = _PAIR.fullmatch(str(row))
            if not pair or int(pair[1]) > low or int(pair[2]) > high:
                raise ValueError(f"expected {expected}")
            found[int(pair[1])] = int(pair[2])
        return tuple(f"{source}:{found[source]}" for source in sorted(found) if found[source])

    return Type(expected, parse, {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})


VLAN = Kind(
    "vlan",
    "A VLAN of the lower link.",
    table(
        (
            Attr("id", number(16, 0, 4094), "The VLAN id.", 1, Change.RECREATE),
            Attr("protocol", PROTOCOL, "The tag's protocol.", 5, Change.RECREATE),
            Attr("reorder_hdr", FLAG, "Show frames without their tag."),
            Attr("gvrp", FLAG, "Register by GVRP."),
            Attr("mvrp", FLAG, "Register by MVRP."),
            Attr("loose_binding", FLAG, "Do not follow the state of the lower link."),
            Attr("bridge_binding", FLAG, "Follow the state of the bridge's ports of this VLAN."),
            Attr("ingress_qos_map", qos(7, 0xFFFFFFFF), "The packet priority for each priority of the tag."),
            Attr("egress_qos_map", qos(0xFFFFFFFF, 7), "The tag's priority for each packet priority."),
        )
    ),
    required=frozenset({"id"}),
    lower=True,
)
