# SPDX-License-Identifier: GPL-2.0-or-later
"""What comes to its end though somebody presses Ctrl-C: who sees nothing happen presses it again."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Run the block without interrupts, which only the first thread is ever told of."""
    first = threading.current_thread() is threading.main_thread()
    if not first or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
