# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel charges to a memory cgroup."""

from pathlib import Path


def charged(cgroup: Path, what: str) -> int:
    """What a line of its ``memory.stat`` says.

    The kernel sums up what each CPU has counted for a reader of ``cpu.stat``, and not for each of ``memory.stat``.
    """
    (cgroup / "cpu.stat").read_text(encoding="ascii")
    lines = (cgroup / "memory.stat").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what} "))
