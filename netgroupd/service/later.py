# SPDX-License-Identifier: GPL-2.0-or-later
"""An answer that comes later: what a call returns when a thread does its work."""

from collections.abc import Callable
from typing import Generic, TypeVar

from netgroupd.errors import NetgroupError, short_of

T = TypeVar("T")
F = TypeVar("F")


class Later(Generic[T]):
    """One value or one error, for everybody who asked, whenever they did.

    Lives in the main loop alone, and so needs no lock.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[T], None], Callable[[NetgroupError], None]]] = []
        self._value: list[T] = []
        self._error: NetgroupError | None = None

    def settle(self, value: T) -> None:
        """Answer with ``value``."""
        self._value.append(value)
        for done, _ in self._take():
            done(value)

    def refuse(self, error: NetgroupError) -> None:
        """Answer with ``error``."""
        self._error = error
        for _, failed in self._take():
            failed(error)

    def then(self, done: Callable[[T], None], failed: Callable[[NetgroupError], None]) -> None:
        """Call one of the two, now or when the answer comes."""
        if self._value:
            done(self._value[0])
        elif self._error is not None:
            failed(self._error)
        else:
            self._waiting.append((done, failed))

    def formed(self, form: Callable[[T], F]) -> "Later[F]":
        """The answer in another form, for one of those who asked; it may be refused for that one alone."""
        formed: Later[F] = Later()

        def done(value: T) -> None:
            try:
                other = form(value)
            except NetgroupError as error:
                formed.refuse(error)
            except (OSError, MemoryError) as error:
                formed.refuse(short_of(error))
            else:
                formed.settle(other)

        self.then(done, formed.refuse)
        return formed

    def _take(self) -> list[tuple[Callable[[T], None], Callable[[NetgroupError], None]]]:
        waiting, self._waiting = self._waiting, []
        return waiting
