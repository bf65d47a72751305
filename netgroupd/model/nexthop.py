# SPDX-License-Identifier: GPL-2.0-or-later
"""Nexthop objects, under ``ip nexthop``'s names."""

from collections.abc import Iterable

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.encap import ENCAP
from netgroupd.model.family import OF_IP
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import FLAG, IP, LINK, U32, number, record, several, word

GROUP_TYPES = {"mpath": 0, "resilient": 1}
WAY = frozenset({"group", "via", "dev", "onlink", "blackhole", "encap"})
"""What says together where it leads."""

MEMBER = record({"id": U32, "weight": number(16, 1, 0xFFFF)}, frozenset({"id"}))
_TIMER = number(32, 0, 0xFFFFFFFF // 100, scale=100)  # the kernel counts hundredths

CLASS = Class(
    "nexthop",
    "A nexthop object that routes refer to by its id.",
    (Attr("id", number(32, 1), "Its id."),),
    table(
        (
            Attr("family", word(8, OF_IP), "Whose routes can use it, known from `via`.", change=Change.RECREATE),
            Attr("via", IP, "The gateway.", 6, nullable=True),
            Attr("dev", LINK, "The link to send on.", 5, nullable=True),
            Attr("onlink", FLAG, "Take the gateway to be on this link."),
            Attr("blackhole", FLAG, "Drop what is sent to it.", 4),
            Attr("encap", ENCAP, "The lightweight tunnel to send through.", 8, nullable=True),
            Attr("group", several(MEMBER), "Its members, if it is a group.", 2, nullable=True),
            Attr("group_type", word(16, GROUP_TYPES), "How a group spreads flows.", 3, Change.RECREATE),
            Attr("buckets", number(16, 1), "The buckets of a resilient group.", 1, Change.RECREATE),
            Attr("idle_timer", _TIMER, "Seconds until an idle bucket may move.", 2),
            Attr("unbalanced_timer", _TIMER, "Seconds of imbalance after which buckets move anyway; 0 never.", 3),
            Attr("fdb", FLAG, "It is for forwarding entries of a VXLAN.", 11, Change.RECREATE),
        )
    ),
)


def keeps_its_protocol(have: Attrs) -> bool:
    """Whether the kernel leaves to a nexthop the protocol that it was made with, whatever replaces it."""
    return bool(have.get("group"))


def is_another(have: Attrs, attrs: Attrs) -> bool:
    """Whether ``attrs`` make a group of what is none, or the other way round, which the kernel does not."""
    if not have.get("group"):
        return bool(attrs.get("group"))
    return not attrs.get("group", True) or any(attrs.get(name) for name in ("via", "dev", "blackhole"))


def links_of(objects: Iterable[Object]) -> set[str]:
    """The links of nexthops."""
    return {str(obj.attrs["dev"]) for obj in objects if obj.cls == "nexthop" and obj.attrs.get("dev")}
