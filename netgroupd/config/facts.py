# SPDX-License-Identifier: GPL-2.0-or-later
"""What a template may know of the host: its name, memory and network hardware.

Gathered by whoever starts the rendering and handed to the worker as values;
the worker itself can read nothing.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

_SYSFS = Path("/sys")


class Hardware(NamedTuple):
    """One network device that is not made by configuration."""

    name: str
    driver: str
    mac: str


class Facts(NamedTuple):
    """``host`` in a template."""

    name: str = "localhost"
    memory: int = 0  # bytes
    links: tuple[Hardware, ...] = ()


Gather: TypeAlias = Callable[[], Facts]
"""Looking takes longer than reading a file does, so it waits until a template wants to know."""


def gather(sysfs: Path = _SYSFS) -> Facts:
    """Look at this host, in time that does not grow with its virtual interfaces."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Facts(os.uname().nodename, memory, _hardware(sysfs))


def _hardware(sysfs: Path) -> tuple[Hardware, ...]:
    # By bus and not by /sys/class/net, which has an entry for every VLAN and bridge too.
    found = {}
    for device in _devices(f"{sysfs}/bus"):
        driver = device.parents[1] / "driver"
        try:
            mac = (device / "address").read_text().strip()
        except OSError:  # unplugged meanwhile
            continue
        found[device.name] = Hardware(device.name, driver.resolve().name if driver.exists() else "", mac)
    return tuple(sorted(found.values(), key=_natural))


def _devices(buses: str) -> Iterator[Path]:
    """What the pattern */devices/*/net/* finds; there are some hundred devices, for which ``Path.glob`` takes long."""
    for bus in _inside(buses):
        for device in _inside(f"{bus}/devices"):
            yield from map(Path, _inside(f"{device}/net"))


def _inside(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.path for entry in entries]
    except OSError:  # most devices are no network's
        return []


def _natural(link: Hardware) -> tuple[str, int, str]:
    """Put swp2 before swp10."""
    stem = link.name.rstrip("0123456789")
    return stem, int(link.name[len(stem) :] or 0), link.name
