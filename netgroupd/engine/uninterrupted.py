# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that is asked to end while it makes a change: it undoes the change first, and that comes to its end.

Ctrl-C asks for it, as do a terminal that goes, timeout(1), and systemd that stops the unit which runs the command.
Who sees nothing happen asks again.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], object] | signal.Handlers
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Run the block so that whoever asks for the end interrupts it, but for what is ignored, as with nohup(1)."""
    with _handled(signal.SIG_DFL, signal.default_int_handler):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Run the block, which is a part of an interruptible one, without that."""
    with _handled(signal.default_int_handler, signal.SIG_IGN):
        yield


@contextmanager
def interrupted_after() -> Iterator[None]:
    """Run the block, which is a part of an interruptible one, to its end; interrupt then, if somebody asked for it."""
    asked: list[int] = []
    with _handled(signal.default_int_handler, lambda number, _: asked.append(number)):
        yield
    if asked:
        raise KeyboardInterrupt


@contextmanager
def _handled(before: _Handler, inside: _Handler) -> Iterator[None]:
    first = threading.current_thread() is threading.main_thread()  # only the first thread is ever told of a signal
    changed = [number for number in _ASKING if first and signal.getsignal(number) is before]
    for number in changed:
        signal.signal(number, inside)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, before)
