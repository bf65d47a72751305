# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that are made two at a time, each the other end of the other.

What a pair is besides is said of one of its ends, which the kernel makes with that: it
is the primary one, and tells it alone.
"""

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind, stays
from netgroupd.model.value import LINK, word

_FIXED = Change.RECREATE
_POLICY = word(32, {"forward": 0, "blackhole": 2})
_SCRUB = word(32, {"none": 0, "default": 1})
_PEER = Attr("peer", LINK, "The other end.", change=_FIXED)

VETH = Kind(
    "veth", "One end of a cable; the other is its peer, made with it.", table((_PEER,)), required=frozenset({"peer"})
)

NETKIT = Kind(
    "netkit",
    "One end of a pair for BPF programs, of Linux 6.7; the other is its peer, made with it.",
    table(
        (
            _PEER,
            Attr("mode", word(32, {"l2": 0, "l3": 1}), "With MACs (l2), or l3 if not said.", 5, _FIXED),
            Attr("policy", _POLICY, "What it does with packets that no program decides on.", 3, in_place=stays),
            Attr("peer_policy", _POLICY, "What the other end does with them.", 4, in_place=stays),
            Attr("scrub", _SCRUB, "Whether marks and priorities leave its network namespace.", 6, _FIXED),
            Attr("peer_scrub", _SCRUB, "Whether they leave that of the other end.", 7, _FIXED),
        )
    ),
    required=frozenset({"peer"}),
)

PAIRS = {kind.name: kind for kind in (VETH, NETKIT)}

OF_PAIR = frozenset(NETKIT.attrs) - {"peer"}
"""What is said of one end."""
