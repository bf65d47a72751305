# SPDX-License-Identifier: GPL-2.0-or-later
"""Links with a MAC or an IP address of their own on a lower link."""

from netgroupd.model.attr import Attr, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.value import FLAG, MAC, S32, U32, Value, several, word

_MODE = word(32, {"private": 1, "vepa": 2, "bridge": 4, "passthru": 8, "source": 16})


def _both_or_none_passthru(before: Value, after: Value) -> bool:
    return (before == "passthru") == (after == "passthru")


_MACVLAN = table(
    (
        Attr("mode", _MODE, "Who hears whom.", 1, in_place=_both_or_none_passthru),
        Attr("nopromisc", FLAG, "Do not make the lower link promiscuous."),
        Attr("nodst", FLAG, "Do not look up the destination of source mode."),
        Attr("macaddr", several(MAC, ordered=False), "The sources that source mode takes."),
        Attr("bcqueuelen", U32, "The length of the broadcast queue.", 7),
        Attr("bclim", S32, "From how many receivers on broadcast is queued; the same for all of a lower link.", 9),
    )
)

_IPVLAN = table(
    (
        Attr(
            "mode",
            word(16, {"l2": 0, "l3": 1, "l3s": 2}),
            "At which layer, l3 if not said; one for all of a lower link.",
            1,
        ),
        Attr("private", FLAG, "Keep it apart from the others; the same for all of a lower link."),
        Attr("vepa", FLAG, "Let a switch connect it with the others; the same for all of a lower link."),
    )
)

MACVLAN = tuple(
    Kind(name, doc, _MACVLAN, lower=True)
    for name, doc in (
        ("macvlan", "A link with a MAC address of its own on the lower link."),
        ("macvtap", "A macvlan that a program reads and writes."),
    )
)

IPVLANS = frozenset({"ipvlan", "ipvtap"})
"""All of these on one link have the mode that one of them was told last."""

IPVLAN = tuple(
    Kind(name, doc, _IPVLAN, lower=True)
    for name, doc in (
        ("ipvlan", "A link with IP addresses of its own on the lower link."),
        ("ipvtap", "An ipvlan that a program reads and writes."),
    )
)
