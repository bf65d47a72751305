# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that a program reads and writes."""

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.value import FLAG, Value, number, word

_FIXED = Change.RECREATE
_ID = number(32, 0, 0xFFFFFFFE)  # the number above says that there is none


def _is_given(_have: Value, want: Value) -> bool:
    """The kernel gives one to another user, and takes it away from none."""
    return want is not None


TUN = Kind(
    "tun",
    "A link that a program reads and writes; it stays when the program ends.",
    table(
        (
            Attr("user", _ID, "The user who may open it.", 1, nullable=True, in_place=_is_given),
            Attr("user_group", _ID, "The group of users who may open it.", 2, nullable=True, in_place=_is_given),
            Attr("mode", word(8, {"tun": 1, "tap": 2}), "IP packets (tun) or Ethernet frames (tap).", 3, _FIXED),
            Attr("pi", FLAG, "Put the protocol before each packet.", 4, _FIXED),
            Attr("vnet_hdr", FLAG, "Put virtio's header before each packet.", 5, _FIXED),
            Attr("multi_queue", FLAG, "Several programs may open it.", 7, _FIXED),
        )
    ),
    required=frozenset({"mode"}),
)
