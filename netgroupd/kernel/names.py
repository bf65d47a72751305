# SPDX-License-Identifier: GPL-2.0-or-later
"""Which link has which index: what turns names into what the kernel wants, and back.

Filled by dumps of links, so no question per link.  A link to be created gets its
index chosen here, so that the messages behind it in the same batch can refer to
it before the kernel has made it.
"""

from collections.abc import Callable, Iterator, Mapping, Set

# The kernel counts up from 1 for links that do not ask for an index: far above,
# nothing made by another program meanwhile takes one that was chosen here.
_FIRST = 1 << 20
_FAR = 1 << 30  # nobody counts that far: others may choose such an index, up to the last one that there is


class UnknownLinkError(LookupError):
    """No link has that name or index."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no link {self.name!r}"


class Names:
    """The links of one network namespace by name and by index."""

    def __init__(self) -> None:
        self._by_name: dict[str, int] = {}
        self._by_index: dict[int, str] = {}
        self._highest = _FIRST
        self.find: Callable[[str | int], tuple[str, int] | None] = lambda _: None
        """Asks the kernel about one link that no dump has brought."""
        self.whole = False
        """Whether a dump has brought the names of all links there are."""
        self.fd = -1
        """The network namespace, for messages to another one that put a link into it."""
        self.elsewhere: dict[str, Names] = {}
        """In which other namespace a link is to be that a message to this one makes or moves."""

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._by_name.items())

    @property
    def by_index(self) -> dict[int, str]:
        """For reading in bulk only."""
        return self._by_index

    def names(self) -> Set[str]:
        """Those of the links."""
        return self._by_name.keys()

    def knows(self, name: str) -> bool:
        """Whether a dump has brought the link or a step has made it; the kernel is not asked."""
        return name in self._by_name

    def clear(self) -> None:
        """Forget all; indices once chosen are still not chosen again."""
        self._by_name.clear()
        self._by_index.clear()
        self.whole = False

    def note(self, name: str, index: int) -> None:
        """Take what a dump or a notification says."""
        stale = self._by_index.get(index)
        if stale is not None and stale != name and self._by_name.get(stale) == index:
            del self._by_name[stale]
        self._by_name[name] = index
        self._by_index[index] = name
        if self._highest < index < _FAR:
            self._highest = index

    def note_all(self, by_index: Mapping[int, str]) -> None:
        """Take what a dump says of many links."""
        if self._by_index:
            known = self._by_name.get
            for index, name in by_index.items():
                if known(name) != index:
                    self.note(name, index)
            return
        self._by_index.update(by_index)
        self._by_name.update(zip(by_index.values(), by_index, strict=True))
        self._highest = max(self._highest, max(filter(_FAR.__gt__, by_index), default=0))

    def forget(self, name: str) -> None:
        """The link is gone."""
        index = self._by_name.pop(name, None)
        if index is not None and self._by_index.get(index) == name:
            del self._by_index[index]

    def rename(self, old: str, new: str) -> None:
        """The link is the same under another name."""
        index = self.index(old)
        self.forget(old)
        self.note(new, index)

    def reserve(self, name: str) -> int:
        """Choose the index of a link that is about to be made, or moved, by a message to this namespace."""
        if self.whole and not self.elsewhere:  # as of nearly every link that is made
            self._highest = index = self._highest + 1
            self._by_name[name] = index
            self._by_index[index] = name
            return index
        there = self.elsewhere.get(name, self)
        # The kernel looks for it in the namespace that it is told in, and then in that of the link.
        index = max(self._highest, there._highest) + 1
        while self._is_taken(index) or (there is not self and there._is_taken(index)):
            index += 1
        self._highest = index
        there.note(name, index)
        return index

    def _is_taken(self, index: int) -> bool:
        """Whether a link that no dump has brought has ``index``."""
        return not self.whole and self.find(index) is not None

    def index(self, name: str) -> int:
        """The index of the link called ``name``.

        Raises:
            UnknownLinkError: There is no such link.
        """
        if (index := self._by_name.get(name)) is not None:
            return index
        if (found := self.find(name)) is None:
            raise UnknownLinkError(name)
        self.note(*found)
        return found[1]

    def name(self, index: int) -> str:
        """The name of the link with ``index``.

        Raises:
            UnknownLinkError: There is no such link.
        """
        if (name := self._by_index.get(index)) is not None:
            return name
        if (found := self.find(index)) is None:
            raise UnknownLinkError(str(index))
        self.note(*found)
        return found[0]
