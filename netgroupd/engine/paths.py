# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the engine reads and keeps things."""

import os
from pathlib import Path
from typing import NamedTuple

from netgroupd.config.render import shipped_templates
from netgroupd.config.sources import DIRECTORIES, ROOT, Trust
from netgroupd.kernel.netns import cookie_of, name_of

_SPACES = "netns"


class Paths(NamedTuple):
    """Directories and files; everything that is kept for a network namespace is below ``state``.

    Not ``installed`` is what may be meant for another host.
    """

    config: tuple[Path, ...] = DIRECTORIES
    state: Path = Path("/var/lib/netgroup")
    group_names: Path = Path("/etc/iproute2/group")
    installed: bool = True

    def of(self, netns: str | None) -> "Paths":
        """The paths of one network namespace: what was applied there is kept apart, and once however it is named."""
        return self._replace(state=within(self.state, netns))


def within(root: Path, netns: str | None) -> Path:
    """The directory below ``root`` of one network namespace, however it is named; ``root`` itself of the host's own."""
    return root if netns is None else root / _SPACES / name_of(netns)


def configured_mark(runtime: Path, netns: str | None) -> Path:
    """The file in ``runtime`` that is there once a network namespace was configured, and not when it is made anew."""
    return runtime / ("configured" if netns is None else f"configured-{cookie_of(netns):x}")


def states(root: Path) -> tuple[Path, ...]:
    """The directories below ``root`` that something is kept in: the host's own and those of network namespaces."""
    return (root, *sorted((root / _SPACES).glob("*")))


SYSTEM = Paths()


def shipped() -> Path:
    """Where everything lies that comes with netgroupd and is no program: templates, the kernel's patches."""
    return shipped_templates().parent


def trust_of_caller() -> Trust:
    """Whose files are believed: root's, and for anybody else, who can change nothing, also their own."""
    return ROOT if os.geteuid() == 0 else Trust.of_user(os.getuid(), os.getgid())
