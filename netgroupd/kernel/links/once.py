# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of which little counts -> what they say, taken apart once for all that say the same."""

import struct
from collections.abc import Callable, Iterable
from sys import byteorder

from netgroupd.kernel.links.layout import pieces


class Once:
    """Takes messages apart, but those that are as one before at the ``places`` that count: these say the same."""

    def __init__(
        self,
        parts: Callable[[memoryview], tuple[bytes, ...]],
        places: Callable[[memoryview], tuple[int, Iterable[tuple[int, int]]]],
    ) -> None:
        self._parts = parts
        self._places = places
        self._shapes: dict[int, tuple[int, struct.Struct]] = {}  # by length: where the index is, and what counts
        self._known: dict[tuple[int, tuple[bytes, ...]], tuple[bytes, ...]] = {}

    def read(self, _kind: int, payload: memoryview) -> tuple[int, tuple[bytes, ...]]:
        """The index of a link, and what is told of it."""
        size = len(payload)
        if (shape := self._shapes.get(size)) is None:
            at, places = self._places(payload)
            shape = self._shapes[size] = (at, pieces(places))
        at, counts = shape
        said = size, counts.unpack_from(payload)
        if (parts := self._known.get(said)) is None:
            parts = self._known[said] = self._parts(payload)
        return int.from_bytes(payload[at : at + 4], byteorder), parts
