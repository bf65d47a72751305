# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel on which a change is refused, cut off, or met by somebody else's, at the step that it is told."""

import os
from collections.abc import Callable, Mapping, Sequence

from netgroupd.errors import ConfigError, KernelError
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.model.state import Key, Object
from netgroupd.plan.step import AnyStep
from tests.vm.stumbling import Stumbling

KILLED = 9


class Host(Stumbling):
    """A kernel that does not tell which settings somebody has changed: there are thousands, which takes seconds."""

    killing = False  # whether the step that is refused is the end of who asks for it
    met_at = -1  # before which step somebody else does something
    meets: Callable[[], object]

    def changed_settings(self, links: Mapping[Key, Object]) -> list[Object]:
        return []

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        if 0 <= self.met_at < len(steps):
            at, self.met_at = self.met_at, -1
            refused = super().apply(steps[:at], progress)
            self.meets()
            return refused + super().apply(steps[at:], progress)
        self.met_at -= len(steps)
        at = self.stumbles_at
        refused = super().apply(steps, progress)
        if self.killing and 0 <= at < len(steps):
            os._exit(KILLED)
        if refused:  # to put things back is refused nothing
            self.stumbles_at = -1
        return refused


def stumbling(at: int, netns: str | None, *, killing: bool = False) -> Host:
    kernel = Host(netns)
    kernel.stumbles_at = at
    kernel.killing = killing
    return kernel


def apart(change: Callable[[], object]) -> int:
    """Do it in a process of its own; how that came to its end."""
    child = os.fork()
    if not child:
        try:
            change()
        except (ConfigError, KernelError):
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
