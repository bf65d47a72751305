# SPDX-License-Identifier: GPL-2.0-or-later
"""Links: the attributes every kind has, under ``ip link``'s names.

A link is keyed by its name.  ``kind`` is empty for hardware.  What a kind adds
is in ``model/kinds/``; what a master adds to its ports is written under
``port`` and held as ``port.NAME``.
"""

from collections.abc import Mapping

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.value import (
    FLAG,
    GROUP,
    LINK,
    MAC,
    NAME,
    U32,
    Value,
    flag,
    number,
    several,
    string,
    word,
)

NETNS = string(
    63, r"(?!\.{1,2}$)[^/\s]+", "the name of a network namespace, as `ip netns` lists it, up to 63 characters"
)

_SEGMENTED = number(32, 0, 8 * 65535)

COMMON = table(
    (
        Attr("kind", NAME, "What `ip link add type` takes.", change=Change.RECREATE),
        Attr("link", LINK, "The lower link.", 5, Change.RECREATE),
        Attr("master", LINK, "The bridge, bond, team or VRF it is a port of.", 10, group=True, nullable=True),
        Attr("group", GROUP, "The group it belongs to.", 27),
        Attr("netns", NETNS, "The network namespace it lives in, as `ip netns` names it.", nullable=True),
        Attr("up", FLAG, "Whether it is administratively up.", group=True),
        Attr("mtu", number(32, 0, 0x7FFFFFFF), "The largest packet in bytes.", 4, group=True),
        Attr("mac", MAC, "The link-layer address; ports of a bond or team have that of theirs.", 1),
        Attr("alias", string(255), "A description.", 20, group=True, nullable=True),
        Attr(
            "altnames",
            several(string(127), ordered=False),
            "Further names, all of them: those go that udev or others have given.",
        ),
        Attr("txqueuelen", U32, "The length of the transmit queue.", 13, group=True),
        Attr("numtxqueues", number(32, 1, 4096), "Transmit queues.", 31, Change.RECREATE),
        Attr("numrxqueues", number(32, 1, 4096), "Receive queues.", 32, Change.RECREATE),
        Attr("gso_max_size", _SEGMENTED, "The largest GSO packet.", 41, group=True),
        Attr("gso_max_segs", number(32, 0, 65535), "The most segments of a GSO packet.", 40, group=True),
        Attr("gro_max_size", _SEGMENTED, "The largest GRO packet.", 58, group=True),
        Attr("gso_ipv4_max_size", _SEGMENTED, "The largest IPv4 GSO packet.", 63, group=True),
        Attr("gro_ipv4_max_size", _SEGMENTED, "The largest IPv4 GRO packet.", 64, group=True),
        Attr("promisc", FLAG, "Receive packets for others too.", group=True),
        Attr("multicast", FLAG, "Whether multicast is possible.", group=True),
        Attr("allmulticast", FLAG, "Receive all multicast.", group=True),
        Attr("arp", FLAG, "Whether it resolves addresses.", group=True),
        Attr("linkmode", word(8, {"default": 0, "dormant": 1}), "Whether it waits for a program to let it run.", 17),
        Attr("carrier", FLAG, "Whether a dummy or similar link has a carrier.", 33, group=True),
        Attr("protodown", FLAG, "Held down by a protocol.", 39, group=True),
        Attr("group_inherit", flag(32), "Links stacked on it join its group (patched kernel).", 99),
        Attr(
            "lightweight",
            FLAG,
            "No sysfs, uevents and sysctls; one queue for a bond or team if it says no more (patched kernel).",
            change=Change.RECREATE,
        ),
        Attr("l2only", FLAG, "No IPv4 and IPv6 at all (patched kernel).", change=Change.RECREATE),
    )
)

CLASS = Class("link", "A network interface.", (Attr("name", NAME, "Its name, up to 15 characters."),), COMMON)

SET_ALONG = {"gso_ipv4_max_size": "gso_max_size", "gro_ipv4_max_size": "gro_max_size"}
"""What the kernel sets together with another, by itself."""

SAID_AFTERWARDS = frozenset({"alias", "carrier", "protodown"})
"""What the kernel forgets of a link that it makes, so that it is said once more."""

_SAID_TO_BRIDGES = SAID_AFTERWARDS | {"mtu"}
USUAL_MTU = 1500


def said_afterwards(kind: Value, attrs: Mapping[str, Value]) -> frozenset[str]:
    """What is said to a new link of that kind in a second message.

    A bridge that is made with an MTU takes that of each smaller port that joins it, such as a guest's; what it is told
    while it has another it keeps.
    """
    return _SAID_TO_BRIDGES if kind == "bridge" and attrs.get("mtu", USUAL_MTU) != USUAL_MTU else SAID_AFTERWARDS


WITH_LINK = frozenset(
    ("address", "neighbour", "fdb", "mdb", "bridge_vlan", "vlan_global", "mst", "vni", "ethtool", "sriov", "vf")
) | {"sysctl", "token"}
"""Classes of objects that are in the network namespace that their link lives in."""
