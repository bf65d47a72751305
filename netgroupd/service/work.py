# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that do the engine's work, so that the main loop always answers.

A worker does one thing after another in the order of asking.  What comes out
is handed to the main loop; nothing else is shared between the threads.
"""

import ctypes
import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TypeAlias, TypeVar

from gi.repository import GLib

from netgroupd.errors import BusyError, NetgroupError, short_of
from netgroupd.service.journal import defect

T = TypeVar("T")
_Task: TypeAlias = Callable[[], None]


class _Calls:
    """Calls for the main loop by way of one source: PyGObject before 3.44.2 keeps a little of each that ever was."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._count = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT, self._count, GLib.IOCondition.IN, self._make)

    def add(self, call: Callable[[], None]) -> None:
        self._waiting.append(call)
        os.eventfd_write(self._count, 1)

    def _make(self, *_: object) -> bool:
        # All that wait, or a flood of calls from the bus, of which each leads to one here, leaves ever more behind.
        regardless(*(self._waiting.popleft() for _ in range(os.eventfd_read(self._count))))
        return True


_calls = cache(_Calls)


def in_main_loop(call: Callable[[], None]) -> None:
    """Have the main loop make ``call``, soon and once."""
    _calls().add(call)


def regardless(*steps: Callable[[], None]) -> None:
    """Take every step, whatever becomes of the others."""
    for step in steps:
        try:
            step()
        except Exception:  # the steps behind it matter to others
            defect()


def later(milliseconds: int, call: Callable[[], None]) -> int:
    """Have the main loop make ``call`` once, after a while; return the timer's number."""
    number: int = GLib.timeout_add(milliseconds, _once, call)
    return number


def repeat(milliseconds: int, call: Callable[[], None]) -> int:
    """Have the main loop make ``call`` again and again; return the timer's number."""

    def again() -> bool:
        call()
        return True

    number: int = GLib.timeout_add(milliseconds, again)
    return number


def _once(call: Callable[[], None]) -> bool:
    call()
    return False


def start_thread(name: str, run: Callable[[], None]) -> None:
    """Have a thread ``run``, as long as this process does.

    Raises:
        OSError: The system lets no more be started.
    """
    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from error


def _give_back() -> None:
    """Let the system have what was needed: glibc would keep a quarter of all memory after an edit of 10,000 links."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


class Worker:
    """One thread with a bounded queue for each who asks; it takes one of each by turns, so that none fills all."""

    def __init__(
        self, name: str, longest: int, around: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """``around`` is entered for whatever is done."""
        self._longest = longest
        self._around = around
        self._waiting: dict[object, deque[_Task]] = {}
        self._served: object = None  # whose is being done, or was last
        self._come = threading.Condition()
        start_thread(name, self._run)

    def _run(self) -> None:
        while True:
            self._next()()
            if not self._waiting:
                _give_back()

    def _next(self) -> _Task:
        with self._come:
            self._come.wait_for(lambda: self._waiting)
            if self._served in self._waiting:  # behind all who came meanwhile
                self._waiting[self._served] = self._waiting.pop(self._served)
            self._served = next(iter(self._waiting))
            tasks = self._waiting[self._served]
            task = tasks.popleft()
            if not tasks:
                del self._waiting[self._served]
            return task

    def _put(self, task: _Task, who: object) -> None:
        with self._come:
            tasks = self._waiting.setdefault(who, deque())
            if len(tasks) == self._longest:
                raise BusyError(f"{self._longest} requests wait already; try again later")
            tasks.append(task)
            self._come.notify()

    def submit(
        self,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[NetgroupError], None],
        who: object = None,
    ) -> None:
        """Do ``work`` in turn, then call one of the two in the main loop; what one asks for stays in its order.

        Raises:
            BusyError: Too many requests of ``who`` wait already.
        """

        def task() -> None:
            try:
                with self._around():
                    result = work()
            except NetgroupError as error:
                kept = _without_way(error)
                in_main_loop(lambda: failed(kept))
            except (OSError, MemoryError) as error:
                short = short_of(error)
                in_main_loop(lambda: failed(short))
            except Exception:  # the thread must live on, and the caller gets an answer
                found = defect()
                in_main_loop(lambda: failed(found))
            else:
                in_main_loop(lambda: done(result))

        self._put(task, who)


def _without_way(error: NetgroupError) -> NetgroupError:
    """An error that does not keep what was read and planned on its way, which is much, until the next collection."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
