# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold the garbage collector while a million values come into being.

It would walk all of them again and again; there are no cycles among them to find.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Run the block without collections."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
