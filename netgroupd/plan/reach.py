# SPDX-License-Identifier: GPL-2.0-or-later
"""(where to begin, what each leads to) -> all that is reached.  Linear."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(begin: Iterable[T], ways: Mapping[T, Iterable[T]]) -> Iterator[tuple[T, T]]:
    """What is reached from ``begin`` beside that, each once, with what has led there."""
    seen = set(begin)
    waiting = list(seen)
    while waiting:
        place = waiting.pop()
        for other in ways.get(place, ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                yield other, place


def closure(begin: Iterable[T], ways: Mapping[T, Iterable[T]]) -> frozenset[T]:
    """``begin`` and what is reached from there."""
    first = frozenset(begin)
    return first.union(other for other, _ in reached(first, ways))
