# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of links, by the name that ``ip link add type`` takes."""

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.bond import BOND
from netgroupd.model.kinds.bridge import BRIDGE
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.kinds.macsec import MACSEC
from netgroupd.model.kinds.macvlan import IPVLAN, IPVLANS, MACVLAN
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.kinds.team import TEAM
from netgroupd.model.kinds.tun import TUN
from netgroupd.model.kinds.tunnel import TUNNELS
from netgroupd.model.kinds.vlan import VLAN
from netgroupd.model.kinds.vxlan import BAREUDP, GENEVE, VXLAN
from netgroupd.model.kinds.wireguard import WIREGUARD
from netgroupd.model.value import LINK, number, word

_FIXED = Change.RECREATE

_SIMPLE = (
    Kind("dummy", "A link that drops what it is sent."),
    Kind("ifb", "Where ingress traffic is redirected to be shaped."),
    Kind("nlmon", "A tap of netlink messages."),
)

_VRF = Kind(
    "vrf",
    "A routing domain with a table of its own.",
    table((Attr("table", number(32, 1), "Its routing table.", 1, _FIXED),)),
    required=frozenset({"table"}),
    master=True,
)

_HSR = Kind(
    "hsr",
    "A ring without a single point of failure, HSR or PRP.",
    table(
        (
            Attr("slave1", LINK, "The first link of the ring.", 1, _FIXED),
            Attr("slave2", LINK, "The second link of the ring.", 2, _FIXED),
            Attr("interlink", LINK, "The link to another ring.", 8, _FIXED, silent=True),
            Attr("supervision", number(8), "The last byte of the supervision address.", change=_FIXED),
            Attr("version", number(8, 0, 1), "The version of HSR.", 6, _FIXED, silent=True),
            Attr("proto", word(8, {"hsr": 0, "prp": 1}), "Which of the two protocols.", 7, _FIXED),
        )
    ),
    required=frozenset({"slave1", "slave2"}),
)

_NETDEVSIM = Kind(
    "netdevsim",
    "A simulated network card, for tests.",
    table((Attr("id", number(32, 0, 0xFFFF), "The id of the card.", change=_FIXED),)),
    required=frozenset({"id"}),
)

RING_PORTS = ("slave1", "slave2", "interlink")
"""What names the links that a ring takes all packets of."""

AS_MADE_IF_EXTERNAL = frozenset({"geneve", "xfrm"})
"""Kinds of which the kernel changes nothing in one that is external."""

TAKERS = {**dict.fromkeys(("macvlan", "macvtap"), "macvlan"), **dict.fromkeys(IPVLANS, "ipvlan"), "macsec": "macsec"}
"""Kinds that take all that comes in by their lower link, each with the sort that only others of may be beside it."""

WITHOUT_OWN_MAC = IPVLANS | {"hsr"}
"""Kinds of links that have the MAC of the one below, always."""

KINDS = {
    kind.name: kind
    for kind in (
        *_SIMPLE,
        *PAIRS.values(),
        VLAN,
        BRIDGE,
        BOND,
        TEAM,
        *MACVLAN,
        *IPVLAN,
        VXLAN,
        GENEVE,
        BAREUDP,
        *TUNNELS,
        WIREGUARD,
        _VRF,
        TUN,
        MACSEC,
        _HSR,
        _NETDEVSIM,
    )
}
