# SPDX-License-Identifier: GPL-2.0-or-later
"""What to ask the kernel for: no more than what is owned or wanted.

On a kernel that filters dumps by group only the owned links come, and those that
are wanted by name; on any other all links come in one dump, for that is what it
costs.  Classes that can only be found by looking at every entry are left out
unless they are or were configured.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import cache
from operator import itemgetter
from typing import NamedTuple, Protocol

from netgroupd.engine.record.generations import Borrowed, Content
from netgroupd.engine.spoken import Spoken, spoken_of
from netgroupd.kernel.features import Features
from netgroupd.kernel.layer3.ways import Route
from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.links.seen import Seen
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Away, Selection
from netgroupd.kernel.usual import Sample, Usual
from netgroupd.model import CLASSES
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.default_vlan import DEFAULT, Defaults
from netgroupd.plan.named import named_in
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import AnyStep
from netgroupd.plan.tc.hooks import Hook
from netgroupd.plan.tc.taken import taken
from netgroupd.plan.theirs import Going, Theirs

_MARKED = frozenset({"address", "route", "rule", "neighbour", "nexthop"})
_NAME = itemgetter(0)  # of a key
_BELOW = ("link", "master")
_MANY_TO_ONE = 4  # with more that are new a look at the others is no great part of the work
# Of these it says so too, but they are looked for where they are configured only.
_HELD = _MARKED | {"mdb"}
_LISTS = frozenset({"fdb", "mdb", "bridge_vlan", "mst", "vni"})
_ASKED = frozenset({"filter", "chain"})  # a template, whoever made it, keeps rules that do not fit it from its chain
# Whose a link is, where it stands, whether routes go by it, and which VLAN it gives to its ports by itself.
_STRUCTURE = frozenset({"kind", "group", "link", "peer", "master", "netns", "up", DEFAULT})


class Connection(Protocol):
    """What the engine needs of a kernel; the real one and the fake both are that."""

    features: Features
    names: Names

    def remember(self, seen: Seen) -> None:
        """Read no link again that is as ``seen`` knows it, and let that know for the next time."""

    def dump(self, selection: Selection) -> State:
        """What there is of the selected objects."""

    def add_away(self, state: State, away: Away, selection: Selection) -> None:
        """Add to ``state`` what is selected of links that live in other network namespaces."""

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        """Do the steps; what was refused."""

    def has_link(self, name: str) -> bool:
        """Whether there is a link of that name."""

    def expect(self, names: Set[str]) -> Mapping[str, bool]:
        """Hear about which names it will be asked, and say of those which there are of which it is known."""

    def usual(self, links: Mapping[Key, Object]) -> Usual:
        """What links of the kinds of ``links`` have by themselves."""

    def told_queues(self, actual: State) -> list[Object]:
        """The queues and classes of ``actual`` of which less need be said, with that alone."""

    def samples(self, links: Mapping[Key, Object]) -> dict[str, Sample]:
        """What a link takes, for the kinds of ``links``."""

    def changed_settings(self, links: Mapping[Key, Object]) -> list[Object]:
        """The kernel settings, and what drivers of ``links`` are told, that somebody has changed."""

    def settings_of(self, names: Collection[str]) -> list[Object]:
        """The kernel settings of the links of these names that no new link has, and what their drivers are told."""

    def rules_to(self, names: Set[str]) -> list[Object]:
        """The rules of traffic control that lead packets to the links of these names."""

    def unknown_settings(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of ``paths`` that are no kernel settings, each with the name that may be meant."""

    def elsewhere(self) -> frozenset[str]:
        """The links of which a part is in another network namespace."""

    def card_of(self, name: str) -> str:
        """The card that a link is a virtual function of; "" for none."""

    def theirs(self, names: Iterable[str], going: Going) -> Theirs:
        """What others have on the links of these names and lose, and their groups with nexthops that go."""

    def without_carrier(self, sources: Set[str]) -> frozenset[str]:
        """Those of some IPv6 addresses that no route can send from until their link has a carrier."""

    def dark(self, names: Iterable[str]) -> frozenset[str]:
        """Those of some links that are up and have no carrier, with all that follows from that."""

    def carrier_losses(self, names: Iterable[str]) -> dict[str, int]:
        """How often links have lost their carrier."""

    def way_to(self, address: str, source: str = "", vrf: str = "", mark: int = 0) -> Route | None:
        """What a packet to ``address`` follows, from ``source`` if there is such, in a VRF or by a link, and marked."""

    def routes_around(self, address: str, table: int) -> list[Object]:
        """The routes of a table, whoever has made them, to networks that hold an address."""

    def port_behind(self, bridge: str, mac: str, vlan: int) -> str:
        """The port that a bridge has learned a MAC behind, in a VLAN of its own or 0; "" for none."""

    def links_with(self, address: str) -> frozenset[str]:
        """The links that have an address."""

    def close(self) -> None:
        """End the conversation."""


class Mine(NamedTuple):
    """What netgroupd has to look after: ids of groups; classes, hooks and links in other namespaces, as configured.

    ``found`` are links of others that a configuration relied on: they are netgroupd's since, and it has not made them.
    ``borrowed`` are those that it describes and says no kind of, each with its index, which stays when it gets another
    name: they are not netgroupd's to delete.
    ``entered`` are groups that it names and no configuration before it; ``named`` it has links and ports, as text.
    What is wanted may be what ``was`` there before a change.
    """

    groups: frozenset[int] = frozenset()
    classes: frozenset[str] = frozenset()
    hooks: frozenset[Hook] = frozenset()
    away: Away = frozenset()
    found: frozenset[str] = frozenset()
    borrowed: frozenset[tuple[str, int]] = frozenset()
    entered: frozenset[int] = frozenset()
    named: tuple[str, ...] = ()
    was: bool = False

    def owned(self, names: Names) -> Owned:
        """For the comparison, where links have these names."""
        renamed = (names.by_index.get(index) for _, index in self.borrowed)
        borrowed = filter(None, (*(name for name, _ in self.borrowed), *renamed))
        return Owned(self.groups, frozenset(borrowed), self.entered, self.named, self.was)

    def covers(self, group: Value) -> bool:
        """Whether the links of a group are."""
        return Owned(self.groups).covers(group)

    @property
    def vlans_apart(self) -> bool:
        """Whether a configuration says of VLANs what ranges of them do not tell."""
        return named_in(self.named).vlans_apart

    @property
    def spaces(self) -> frozenset[str]:
        """The other network namespaces that links live in."""
        return frozenset(netns for netns, _ in self.away)

    def joined(self, content: Content) -> "Mine":
        """With what a generation looks after."""
        return Mine(
            self.groups | frozenset(content.groups.values()),
            self.classes | frozenset(content.classes),
            self.hooks | frozenset(content.hooks),
            self.away | frozenset(content.away),
            self.found | frozenset(content.known),
            self.borrowed | frozenset(content.borrowed),
            self.entered,
            self.named if content.named in self.named else (*self.named, content.named),
        )

    def names_all(self, content: Content) -> bool:
        """Whether a generation begins to name nothing."""
        return content.named in self.named and self.hooks.issuperset(content.hooks)

    def borrowing(self, wanted: State, actual: State, names: Names, *, again: Borrowed = ()) -> Borrowed:
        """The links that ``wanted`` says no kind of and that others have made; some may be that ``again``."""
        owned = self.owned(names)
        silent = [key for key, link in wanted.of("link").items() if not link.attrs.get("kind")]
        found = [have for key in silent if (have := actual.of("link").get(key))]
        indexed = [(have, (have.name, 0 if have.attrs.get("netns") else names.index(have.name))) for have in found]
        return tuple(sorted(known for have, known in indexed if not owned.made(have) or known in again))

    def asking(self, wanted: State) -> "Mine":
        """With the groups that are ``wanted``, whoever's links are in them: a plan tells what becomes of those."""
        others = frozenset(group.id for group in wanted.groups.values() if not self.covers(group.id))
        return self._replace(groups=self.groups | others, entered=others) if others else self


class Links(NamedTuple):
    """Links that were looked at, and which of their attributes: None is all of them."""

    state: State
    rows: frozenset[str] | None

    def tell(self, rows: frozenset[str] | None) -> bool:
        """Whether these are enough for who needs ``rows``."""
        return self.rows is None or (rows is not None and rows <= self.rows)


def look_at_links(kernel: Connection, mine: Mine, rows: frozenset[str] | None) -> Links:
    """The owned links; on a kernel that cannot filter, all of them."""
    if not kernel.features.dump_group:
        return Links(kernel.dump(Selection(rows=rows, everything=True)), rows)
    owned = Selection(groups=mine.groups | {GROUP_BASE}, group_mask=GROUP_MASK, rows=rows)
    return Links(kernel.dump(owned), rows)


def rows_for(wanted: State) -> frozenset[str]:
    """The attributes of links that show whether anything is to be done for ``wanted``."""
    return spoken_of(wanted).rows | _STRUCTURE


def look(
    kernel: Connection,
    wanted: State,
    mine: Mine,
    links: Links | None = None,
    *,
    rules: Mapping[Key, Object] | None = None,
    briefly: bool = False,
    vlans_apart: bool = False,
) -> State:
    """Everything that matters for bringing about ``wanted``; ``links`` and ``rules`` if they were read just now.

    ``briefly``: no more of links and rules than it takes to see whether anything is to be done at all.
    ``vlans_apart``: what ranges of VLANs do not tell matters also where neither it nor what was before speaks of that.
    """
    spoken = spoken_of(wanted)
    rows = rows_for(wanted) if briefly else None
    if links is None or not links.tell(rows):
        links = look_at_links(kernel, mine, rows)
    actual = links.state
    if kernel.features.dump_group:
        _add_named(kernel, wanted, actual)
    if keys := spoken.key_files:
        # The kernel tells keys, not files: it takes the files to see which it is.
        read = kernel.dump(Selection(links=frozenset(keys), key_files=keys))
        actual.classes["link"] = {**actual.of("link"), **read.of("link")}
    selection = _besides_links(wanted, actual, mine, spoken)
    if rules is not None:
        selection = selection._replace(classes=selection.classes - {"filter"})
    selection = selection._replace(handles=not briefly, vlans_apart=vlans_apart or selection.vlans_apart)
    actual.classes.update(kernel.dump(selection).classes)
    if rules is not None:
        actual.classes["filter"] = {**rules}
    _drop_echoes(actual)
    _add_holders(kernel, wanted, actual, selection)
    if away := mine.away | spoken.away:
        kernel.add_away(actual, away, selection._replace(classes=selection.classes | {"link"}, key_files=keys))
    _add_unowned(kernel, wanted, actual, away)
    _narrow(actual, wanted)
    actual.groups = wanted.groups
    return actual


def _besides_links(wanted: State, actual: State, mine: Mine, spoken: Spoken) -> Selection:
    """What to look at when the links have been looked at."""
    classes = _classes(wanted, actual, mine, spoken)
    return Selection(
        classes=classes,
        links=_listed(wanted, actual, mine) if classes & _LISTS else frozenset(),
        settings=frozenset(str(key[0]) for key in wanted.of("sysctl")),
        hooks=mine.hooks | spoken.hooks,
        entries=wanted.of("fdb").keys(),
        bridges=frozenset(str(bridge) for bridge, _ in wanted.of("vlan_global")),
        ethtool={key: frozenset(obj.attrs) for key, obj in wanted.of("ethtool").items()},
        tokens=frozenset(str(key[0]) for key in wanted.of("token")),
        rules=wanted.of("filter"),
        cards=frozenset(str(key[0]) for cls in ("sriov", "vf") for key in wanted.of(cls)),
        vlans_apart=spoken.vlans_apart or ("bridge_vlan" in classes and mine.vlans_apart),
    )


def _classes(wanted: State, actual: State, mine: Mine, spoken: Spoken) -> frozenset[str]:
    """Those of the objects to look at besides links."""
    found = {*_MARKED, *mine.classes, *spoken.classes}
    if DEFAULT in spoken.rows and Defaults(wanted, actual).changed():
        found.add("bridge_vlan")
    if "sriov" in spoken.classes:
        found.add("vf")  # which go with another number of them, whoever has set them
    if not found.isdisjoint(_ASKED):
        found |= _ASKED  # an atomic chain without rules has one that leads to where they would be
    return frozenset(found & CLASSES.keys() - {"link"})


def add_foundations(kernel: Connection, wanted: State, actual: State) -> bool:
    """Bring all of the links that new ones stand on or are ports of.

    False where there are no few new ones to many, or where others on the same link follow one.
    """
    wants, there = wanted.of("link"), actual.of("link")
    new = [wants[key].attrs for key in wants.keys() - there.keys()]
    if not new or not IPVLANS.isdisjoint([attrs.get("kind") for attrs in new]):
        return False
    if not there or len(new) * _MANY_TO_ONE > len(there):
        return not there  # on what there is not nothing stands
    joined = {attrs.get("master") for attrs in new} - {None}
    if joined and any(link.attrs.get("link") in joined for link in there.values()):
        return False
    below = [there[key] for attrs in new for field in _BELOW if (key := (attrs.get(field),)) in there]
    names = frozenset(link.name for link in below)
    if len(names) > FEW or any(link.attrs.get("netns") for link in below):
        return False
    if names:
        actual.classes["link"] = {**there, **kernel.dump(Selection(links=names)).of("link")}
    return True


def without_others(actual: State, wanted: State, mine: Mine) -> State:
    """``actual`` without links that are neither owned nor wanted: a kernel that cannot filter tells of them too."""
    links, wants = actual.of("link").items(), wanted.of("link")
    return actual.having(
        link={key: link for key, link in links if key in wants or mine.covers(link.attrs.get("group"))}
    )


def read(kernel: Connection, selection: Selection, away: Away) -> State:
    """What is selected, here and where links live that are ``away``."""
    found = kernel.dump(selection)
    if away:
        kernel.add_away(found, away, selection)
    return found


def _add_named(kernel: Connection, wanted: State, actual: State) -> None:
    """Bring the links that are spoken of and are in no group of ours."""
    if missing := spoken_of(wanted).links.difference(map(_NAME, actual.of("link"))):
        found = kernel.dump(Selection(links=missing))
        actual.classes["link"] = {**actual.of("link"), **found.of("link")}


def _add_unowned(kernel: Connection, wanted: State, actual: State, away: Away) -> None:
    """Bring what is where something is wanted, and not marked as netgroupd's: to be taken over or to give way."""
    missing = {cls: frozenset(wanted.of(cls).keys() - actual.of(cls).keys()) for cls in _HELD}
    if held := {cls: keys for cls, keys in missing.items() if keys}:
        for obj in read(kernel, Selection(classes=frozenset(held), held=held), away):
            actual.add(obj)


def _drop_echoes(actual: State) -> None:
    """Leave out what the kernel tells of the egress of a qdisc that has none: the same as of its ingress."""
    lone = {qdisc.name for qdisc in actual.of("qdisc").values() if qdisc.attrs["kind"] == "ingress"}
    for cls in ("filter", "chain") if lone else ():
        found = actual.of(cls).items()
        actual.classes[cls] = {key: obj for key, obj in found if key[1] != "egress" or key[0] not in lone}


def _add_holders(kernel: Connection, wanted: State, actual: State, selection: Selection) -> None:
    """Have rules tell which of them have an action of their own under the index of a shared one that is wanted."""
    actions, wants = actual.of("action"), wanted.of("action")
    of_rules = taken(actions.values())
    if not of_rules:
        return
    actual.classes["action"] = {key: found for key, found in actions.items() if key in wants or key not in of_rules}
    if missing := of_rules & wants.keys():
        rules = kernel.dump(selection._replace(classes=frozenset({"filter"}), taken=missing))
        actual.classes["filter"] = {**rules.of("filter")}
        _drop_echoes(actual)


def _narrow(actual: State, wanted: State) -> None:
    """Leave out the VLANs of which nothing is said: all of a bridge have options, and none of these ever goes."""
    said = wanted.of("vlan_global")
    if found := actual.of("vlan_global"):
        actual.classes["vlan_global"] = {key: obj for key, obj in found.items() if key in said}


def _listed(wanted: State, actual: State, mine: Mine) -> frozenset[str]:
    """The links whose VLANs, forwarding entries and multicast groups may matter: they go with links that are ours."""
    wants, covers = wanted.of("link"), cache(mine.covers)
    owned = (
        link.name
        for key, link in actual.of("link").items()
        if covers(link.attrs.get("group")) or (key in wants and covers(wants[key].attrs.get("group")))
    )
    return frozenset((*owned, *(str(key[0]) for cls in _LISTS for key in wanted.of(cls))))
