# SPDX-License-Identifier: GPL-2.0-or-later
"""The links that are there without being described: what a configuration asks about them, and is told.

Besides the texts this is all that an expansion depends on, so it is noted.
"""

from collections.abc import Container, Mapping, Set


class Known:
    """Names of links in one of several places, but for ``ours``, which are there because they were described.

    ``asked`` is every name that was looked for, and whether it is one.
    """

    def __init__(self, *places: Container[str], ours: Set[str] = frozenset()) -> None:
        self._places = places
        self._ours = ours
        self.asked: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        word = str(name)
        found = self.asked.get(word)
        if found is None:
            found = self.asked[word] = self._is_there(word)
        return found

    def _is_there(self, name: str) -> bool:
        if name in self._ours:
            return False
        for place in self._places:  # a loop, for every VLAN that is made asks
            if name in place:
                return True
        return name == "lo"  # which every network namespace has

    def still(self, asked: Mapping[str, bool]) -> bool:
        """Whether all that was ``asked`` would be answered the same."""
        if any(map(asked.__getitem__, asked.keys() & self._ours)):
            return False
        return all(self._is_there(name) is asked[name] for name in asked.keys() - self._ours)
