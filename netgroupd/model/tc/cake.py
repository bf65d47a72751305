# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of cake, under ``tc``'s names, and what follows from one where another is not said.

The rate that it finds out by itself (``autorate-ingress``) has no name here: it would differ from any that is said.
"""

from netgroupd.model.attr import Attr
from netgroupd.model.state import Attrs
from netgroupd.model.tc.units import RATE, SIZE, TIME
from netgroupd.model.value import U32, flag, number, word

_FLAG = flag(32)
_DIFFSERV = word(32, {"diffserv3": 0, "diffserv4": 1, "diffserv8": 2, "besteffort": 3, "precedence": 4})
_FLOWMODE = word(
    32,
    {
        "flowblind": 0,
        "srchost": 1,
        "dsthost": 2,
        "hosts": 3,
        "flows": 4,
        "dual-srchost": 5,
        "dual-dsthost": 6,
        "triple-isolate": 7,
    },
)
_ATM = word(32, {"noatm": 0, "atm": 1, "ptm": 2})
_ACKS = word(32, {"off": 0, "on": 1, "aggressive": 2})
_TARGETS_OF_RTT = 20

OPTIONS = (
    Attr("bandwidth", RATE, "The rate that it shapes to, 0 for any.", 2),
    Attr("diffserv", _DIFFSERV, "Which priorities it tells apart.", 3),
    Attr("atm", _ATM, "How the link takes packets: in cells of ATM, by PTM, or neither.", 4),
    Attr("flowmode", _FLOWMODE, "Between whom it shares.", 5),
    Attr(
        "overhead",
        number(32, -64, 256),
        "Bytes that the link adds to each packet of IP; null is to count what the kernel counts.",
        6,
        nullable=True,
    ),
    Attr("rtt", TIME, "How far away most of the other ends are.", 7),
    Attr("target", TIME, "Acceptable delay, a twentieth of `rtt` if only that is said.", 8),
    Attr("memlimit", SIZE, "Bytes of memory, 0 for as much as the rate takes.", 10),
    Attr("nat", _FLAG, "Look through NAT.", 11),
    Attr("wash", _FLAG, "Clear the DSCP of what it lets through.", 13),
    Attr("mpu", number(32, 0, 256), "The fewest bytes that a packet takes on the link.", 14),
    Attr("ingress", _FLAG, "Count what is dropped as well, for what has come in already.", 15),
    Attr("ack_filter", _ACKS, "Drop acknowledgements that later ones make needless.", 16),
    Attr("split_gso", _FLAG, "Take large packets apart.", 17),
    Attr("fwmark", U32, "Which bits of the mark of a packet say its priority.", 18),
)


def whole(attrs: Attrs) -> Attrs:
    """The options, with the delay that goes with a distance: tc says it beside that, too."""
    rtt = attrs.get("rtt")
    if not isinstance(rtt, int) or "target" in attrs:
        return attrs
    return {**attrs, "target": max(rtt // _TARGETS_OF_RTT, 1)}
