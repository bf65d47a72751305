# SPDX-License-Identifier: GPL-2.0-or-later
"""How many links are below a link or above it as masters: what must exist before it."""

from collections.abc import Mapping

from netgroupd.model.state import Key, Object

_BELOW = ("link", "master")


class Depths:
    """The depth of each link, found once; ``first`` is believed before ``second``."""

    def __init__(self, first: Mapping[Key, Object], second: Mapping[Key, Object]) -> None:
        self._first = first
        self._second = second
        self._known: dict[str, int] = {}

    def of(self, name: str) -> int:
        """The depth of the link called ``name``; a loop ends where it closes."""
        known = self._known
        if name in known:
            return known[name]
        below = self._below(name)
        if all(map(known.__contains__, below)):  # as it is when what is below was asked about before
            known[name] = max(map(known.__getitem__, below)) + 1 if below else 0
            return known[name]
        path = [name]
        known[name] = 0
        while path:
            below = self._below(path[-1])
            missing = [lower for lower in below if lower not in known]
            if missing:
                known[missing[0]] = 0
                path.append(missing[0])
                continue
            known[path.pop()] = max((known[lower] + 1 for lower in below), default=0)
        return known[name]

    def _below(self, name: str) -> list[str]:
        link = self._first.get((name,)) or self._second.get((name,))
        if link is None:
            return []
        attrs = link.attrs
        return [str(attrs[field]) for field in _BELOW if attrs.get(field)]
