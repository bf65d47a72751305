# SPDX-License-Identifier: GPL-2.0-or-later
"""What has to be written down of a change while the kernel is at it, without being in its way.

Python computes in one thread at a time: begun at once it would hold up the first
messages, for which the kernel waits.  So it begins when many are on their way, or all: what
a disk takes then is waited for while the kernel is read again.
"""

from collections.abc import Callable
from typing import Generic, Self, TypeVar

from netgroupd.engine.transaction import Progress
from netgroupd.kernel.netlink.threads import Begun, Crew

T = TypeVar("T")
_MANY = 256


class Aside(Generic[T]):
    """Does one thing aside, in any case once; to be told of the progress, which it passes on."""

    def __init__(self, action: Callable[[], T], progress: Progress | None) -> None:
        self._action = action
        self._told = progress
        self._crew = Crew(1, "aside")
        self._begun: Begun[T] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._begin()
        self._crew.close()

    def progress(self, done: int, total: int) -> None:
        """So many steps of all are on their way."""
        if done >= min(_MANY, total):
            self._begin()
        if self._told:
            self._told(done, total)

    def result(self) -> T:
        """What came of it."""
        return self._begin().result()

    def _begin(self) -> Begun[T]:
        if self._begun is None:
            self._begun = self._crew.begin(self._action)
        return self._begun
