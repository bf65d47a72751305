# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls by other threads, or by the caller's where the system lets none be started: slower, and done all the same.

A container or a unit may have so many tasks and no more, and what undoes a change must not need another one.
Python's own pools would do; they bring modules along that take a sixteenth of the time that a small command does.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Begun(Generic[T]):
    """A call that is made once."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._ended = Event()
        self._given: list[T] = []
        self._error: BaseException | None = None

    def make(self) -> None:
        """Make the call."""
        try:
            self._given.append(self._call())
        except BaseException as error:
            self._error = error
        self._ended.set()

    def wait(self) -> None:
        """Wait for its end, whatever that is."""
        self._ended.wait()

    def result(self) -> T:
        """What it gives, or raises."""
        self.wait()
        if self._error:
            raise self._error
        return self._given[0]


class Crew:
    """Threads that make calls in the order in which these come."""

    def __init__(self, most: int, name: str) -> None:
        """``most``: there are never more threads."""
        self._most = most
        self._name = name
        self._calls: SimpleQueue[Begun[object] | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def begin(self, call: Callable[[], T]) -> Begun[T]:
        """Have ``call`` made."""
        begun = Begun(call)
        if len(self._threads) < self._most:
            self._start()
        if self._threads:
            self._calls.put(begun)  # type: ignore[arg-type]  # its result is for the caller alone
        else:
            begun.make()
        return begun

    def _start(self) -> None:
        thread = Thread(target=self._work, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # what Python says where no thread can be started
            return
        self._threads.append(thread)

    def _work(self) -> None:
        while begun := self._calls.get():
            begun.make()

    def close(self) -> None:
        """Wait for all calls."""
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()
