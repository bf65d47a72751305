# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated network cards are made and taken away by files in sysfs."""

from pathlib import Path

from netgroupd.kernel.netns import entered

_BUS = Path("/sys/bus/netdevsim")


def create(netns: str | None, number: int) -> None:
    """Plug in a card.

    Raises:
        OSError: The kernel refuses.
    """
    with entered(netns):
        (_BUS / "new_device").write_text(f"{number} 1", encoding="ascii")


def delete(number: int) -> None:
    """Pull the card out.

    Raises:
        OSError: There is no such card.
    """
    (_BUS / "del_device").write_text(str(number), encoding="ascii")
