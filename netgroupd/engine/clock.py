# SPDX-License-Identifier: GPL-2.0-or-later
"""The two clocks of the engine: one that nobody can set, for deadlines, and one for people."""

import time
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def since_boot() -> float:
    """Seconds since the boot, those of sleep included; no clock change moves it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """What tells this boot from all others."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def now() -> float:
    """Seconds since 1970, for people."""
    return time.time()
