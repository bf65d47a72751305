# SPDX-License-Identifier: GPL-2.0-or-later
"""One group of the applied configuration as an object on the bus."""

from typing import Any

from netgroupd.service.bus import signal
from netgroupd.service.interface import GROUP, interface
from netgroupd.service.picture import Members


def path_of(name: str) -> str:
    """Where group ``name`` is: what a path cannot hold is written as _ and two hex digits."""
    safe = "".join(c if c.isascii() and c.isalnum() else "".join(f"_{b:02x}" for b in c.encode()) for c in name)
    return f"/org/netgroup1/group/{safe}"


class Group:
    """A group's number, members and drift."""

    INTERFACE = interface(GROUP)
    PropertiesChanged = signal()
    caller = 0

    def __init__(self, members: Members) -> None:
        self.Name = members.name
        self.take(members)

    def right(self, method: str, arguments: tuple[object, ...]) -> None:
        """There is nothing to call."""

    def take(self, members: Members) -> None:
        """Become what ``members`` says, and signal what is new."""
        new: dict[str, Any] = {
            "Id": members.id,
            "Ranges": list(members.ranges),
            "Count": members.size,
            "Within": list(members.within),
            "DriftPolicy": members.policy,
            "Drift": len(members.drifted),
        }
        changed = {name: value for name, value in new.items() if getattr(self, name, None) != value}
        for name, value in new.items():
            setattr(self, name, value)
        if changed:
            self.PropertiesChanged(GROUP, changed, [])
