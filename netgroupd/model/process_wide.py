# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of the whole process that some blocks want, in whichever threads: there while any of these runs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class ProcessWide(Generic[T]):
    """One of them; with the last of the blocks that run at once it is what it was before the first."""

    def __init__(self, change: Callable[[], T], put_back: Callable[[T], None]) -> None:
        """``change`` returns what was there, which ``put_back`` takes."""
        self._change = change
        self._put_back = put_back
        self._lock = threading.Lock()
        self._running = 0
        self._before: list[T] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Run the block with it."""
        with self._lock:
            if not self._running:
                self._before = [self._change()]
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._put_back(self._before.pop())
