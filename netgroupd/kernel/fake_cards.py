# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual functions of a fake kernel that the host itself uses as links, and what others have on links."""

from collections.abc import Iterable, Mapping

from netgroupd.plan.theirs import Theirs


class FakeCards:
    """What a test says of links that are functions of cards."""

    cards: Mapping[str, str] = {}

    def card_of(self, name: str) -> str:
        """The card that a link is a virtual function of; "" for none."""
        return self.cards.get(name, "")

    def theirs(self, names: Iterable[str], ids: Iterable[int], *, emptied: bool = False) -> Theirs:
        """What others have on the links of these names: here they have nothing."""
        return Theirs()
