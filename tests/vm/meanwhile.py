# SPDX-License-Identifier: GPL-2.0-or-later
"""What others do while a test does something else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeatedly(action: Callable[[], object]) -> Iterator[None]:
    """Do ``action`` over and over by a thread of its own, for as long as this lasts."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            action()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
