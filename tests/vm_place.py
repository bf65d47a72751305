# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a test runs: on the host, or in a guest with one kernel, with or without systemd."""

import os
from typing import NamedTuple

import pytest


class Place(NamedTuple):
    """What a guest must be for a test; sorted, the cheap boots come first."""

    systemd: bool
    kernel: str
    cpus: int  # with one, a guest can be a process, and is quick without KVM


PLACE = pytest.StashKey[Place]()
# Set in the guest: the kernel that it runs.
GUEST_KERNEL = os.environ.get("NETGROUPD_TEST_KERNEL")
