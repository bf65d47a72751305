# SPDX-License-Identifier: GPL-2.0-or-later
"""How netgroupd marks what it owns, on the object itself."""

PROTO = 78
"""Of addresses (IFA_PROTO), routes, rules, neighbours and multicast groups of ports."""

BY_OPERATORS = frozenset({0, 3, 4, 16})
"""The protocols RTPROT_UNSPEC, _BOOT, _STATIC and _DHCP: nobody watches what becomes of what has one."""

BY_KERNEL = 2
"""The protocol RTPROT_KERNEL, also of what programs have made in its place."""

BY_ROUTERS = 9
"""The protocol RTPROT_RA, of routes that came with the advertisement of a router."""

GROUP_BASE = 0x4E47_0000
"""The group of a link that no file puts into another; the ids above it are ours to give."""

GROUP_MASK = 0xFFFF_0000
"""What all group ids of netgroupd's own range have in common."""

LISTED = frozenset({"fdb", "bridge_vlan", "vni", "mdb"})
"""Of these nothing says whose they are: of a link of which a file lists some it says all, and of any other nothing.

Multicast groups of ports do say it, and so it is only those of a bridge itself.
"""

PROTO_AWAY = 79
"""Of what is on links that live in another network namespace than that of their configuration.

What is configured there must not take them for its own, which it would remove.
"""

_NEIGHBOUR = 0x0001_0000


def across(group: int) -> int:
    """The id that a group has for links in another namespace, and the other way round.

    Those of netgroupd's own range are in the range beside it there.
    """
    return group ^ _NEIGHBOUR if group & GROUP_MASK & ~_NEIGHBOUR == GROUP_BASE & ~_NEIGHBOUR else group
