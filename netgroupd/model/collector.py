# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold the garbage collector while a million values come into being.

It would walk all of them again and again; there are no cycles among them to find.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Holders:
    """How many blocks run without collections, in whichever threads, and whether there are collections without them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.usual = True


_holders = _Holders()


@contextmanager
def uncollected() -> Iterator[None]:
    """Run the block without collections; with the last of those that run at once they are back."""
    with _holders.lock:
        if not _holders.count:
            _holders.usual = gc.isenabled()
            gc.disable()
        _holders.count += 1
    try:
        yield
    finally:
        with _holders.lock:
            _holders.count -= 1
            if not _holders.count and _holders.usual:
                gc.enable()
