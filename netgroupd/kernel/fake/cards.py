# SPDX-License-Identifier: GPL-2.0-or-later
"""What a fake kernel tells of its links: cards, carriers, what bridges learn, what others have there."""

from collections.abc import Collection, Iterable, Mapping, Set

from netgroupd.kernel.links.seen import Seen
from netgroupd.kernel.usual import Sample, Usual
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.theirs import Going, Theirs


class FakeCards:
    """What a test says of links that are functions of cards."""

    cards: Mapping[str, str] = {}

    def card_of(self, name: str) -> str:
        """The card that a link is a virtual function of; "" for none."""
        return self.cards.get(name, "")

    def without_carrier(self, sources: Set[str]) -> frozenset[str]:
        """Every link has a carrier here."""
        return frozenset()

    def dark(self, names: Iterable[str]) -> frozenset[str]:
        """No link is without one."""
        return frozenset()

    def carrier_losses(self, names: Iterable[str]) -> dict[str, int]:
        """None ever has."""
        return dict.fromkeys(names, 0)

    def port_behind(self, bridge: str, mac: str, vlan: int) -> str:
        """No bridge has learned anything here."""
        return ""

    def settings_of(self, names: Collection[str]) -> list[Object]:
        """Nobody has changed any here."""
        return []

    def rules_to(self, names: Set[str]) -> list[Object]:
        """Nobody else has any rules here."""
        return []

    def theirs(self, names: Iterable[str], going: Going) -> Theirs:
        """What others have on the links of these names: here they have nothing."""
        return Theirs()

    def expect(self, _names: Set[str]) -> Mapping[str, bool]:
        """No name takes long to find here."""
        return {}

    def remember(self, seen: Seen) -> None:
        """Nor does any link."""

    def routes_around(self, address: str, table: int) -> list[Object]:
        """Nobody else has any routes here."""
        return []

    def usual(self, links: Mapping[Key, Object]) -> Usual:
        """Links have nothing here that nobody gave them."""
        return {}

    def told_queues(self, actual: State) -> list[Object]:
        """Nor have queues."""
        return []

    def samples(self, links: Mapping[Key, Object]) -> dict[str, Sample]:
        """Nothing takes anything here."""
        return {}
