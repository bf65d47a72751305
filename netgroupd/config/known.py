# SPDX-License-Identifier: GPL-2.0-or-later
"""The links that are there without being described: what a configuration asks about them, and is told.

Besides the texts this is all that an expansion depends on, so it is noted.
"""

from collections.abc import Callable, Container, Mapping, Set

_MOST_ASKED = 64  # a hint to the first of very many mistakes will do


class Known:
    """Names of links in one of several places, but for ``ours``, which are there because they were described.

    ``asked`` is every name that was looked for, and whether it is one.  ``owner`` tells the name of
    the link that has a name beside that, "" where none has.  ``expect`` hears which will be looked for, and answers
    for those of which it is known already.
    """

    def __init__(
        self,
        *places: Container[str],
        ours: Set[str] = frozenset(),
        owner: Callable[[str], str] = lambda _: "",
        expect: Callable[[Set[str]], Mapping[str, bool]] = lambda _: {},
    ) -> None:
        self._places = places
        self._ours = ours
        self._owner = owner
        self._expect = expect
        self._owners: dict[str, str] = {}
        self.asked: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        word = str(name)
        found = self.asked.get(word)
        if found is None:
            found = self.asked[word] = self._is_there(word)
        return found

    def expect(self, names: Set[str]) -> None:
        """Hear which names will be looked for, so that those of very many are not found one by one."""
        self.asked.update(self._expect(names - self._ours - self.asked.keys()))

    def _is_there(self, name: str) -> bool:
        if name in self._ours:
            return False
        for place in self._places:  # a loop, for every VLAN that is made asks
            if name in place:
                return True
        return name == "lo"  # which every network namespace has

    def meant(self, name: str) -> str:
        """Say what there is of a missing ``name``, or whose further name it is; of a VLAN, of its lower link."""
        for word in filter(None, (name, name.rpartition(".")[0])):
            if word in self._ours:
                return f"{word!r} was made for a file, and goes, as no file describes it any more"
            if word not in self._owners and len(self._owners) < _MOST_ASKED:
                self._owners[word] = self._owner(word)
            if owner := self._owners.get(word):
                return f"{word!r} is another name of {owner!r}, and no file can name a link by that"
        return ""

    def still(self, asked: Mapping[str, bool]) -> bool:
        """Whether all that was ``asked`` would be answered the same."""
        if any(map(asked.__getitem__, asked.keys() & self._ours)):
            return False
        return all(self._is_there(name) is asked[name] for name in asked.keys() - self._ours)
