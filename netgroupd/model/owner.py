# SPDX-License-Identifier: GPL-2.0-or-later
"""How netgroupd marks what it owns, on the object itself."""

PROTO = 78
"""Of addresses (IFA_PROTO), routes, rules and neighbours."""

GROUP_BASE = 0x4E47_0000
"""The group of a link that no file puts into another; the ids above it are ours to give."""

GROUP_MASK = 0xFFFF_0000
"""What all group ids of netgroupd's own range have in common."""
