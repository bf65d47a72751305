# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls by other threads, or by the caller's where the system lets no more be started: slower, and done all the same.

A container or a unit may have so many tasks and no more, and what undoes a change must not need another one.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


def begun(pool: ThreadPoolExecutor, call: Callable[[], T]) -> Future[T]:
    """Have ``call`` made once, by a thread of ``pool`` if that has or gets one."""
    future: Future[T] = Future()
    turn = Lock()

    def run() -> None:
        # The pool keeps what it got even when it could start no thread for it.
        if turn.acquire(blocking=False):
            try:
                future.set_result(call())
            except BaseException as error:  # whoever asks for the result gets it
                future.set_exception(error)

    try:
        pool.submit(run)
    except RuntimeError:  # what Python says where no thread can be started
        run()
    return future
