# SPDX-License-Identifier: GPL-2.0-or-later
"""The families of addresses: as ``ip`` calls them, and by the numbers that the kernel has for them."""

INET, INET6, MPLS = 2, 10, 28
BRIDGE = 7  # of what bridges have, by whatever addresses
OF_IP = {"inet": INET, "inet6": INET6}
FAMILIES = {**OF_IP, "mpls": MPLS}
FAMILY_NAMES = {number: name for name, number in FAMILIES.items()}
BY_SIZE = {4: INET, 16: INET6}
"""The family of an address of so many bytes."""
