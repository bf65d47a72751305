# SPDX-License-Identifier: GPL-2.0-or-later
"""What to ask the kernel for: no more than what is owned or wanted.

On a kernel that filters dumps by group only the owned links come, and those that
are wanted by name; on any other all links come in one dump, for that is what it
costs.  Classes that can only be found by looking at every entry are left out
unless they are or were configured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from netgroupd.engine.generations import Content
from netgroupd.kernel.batch import Refused
from netgroupd.kernel.features import Features
from netgroupd.kernel.names import Names
from netgroupd.kernel.request import Away, Selection
from netgroupd.kernel.usual import Sample, Usual
from netgroupd.kernel.ways import Route
from netgroupd.model import CLASSES
from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED, kind_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.hooks import Hook, hooks_of
from netgroupd.plan.link import Owned
from netgroupd.plan.step import AnyStep

_MARKED = frozenset({"address", "route", "rule", "neighbour", "nexthop"})
_LISTS = frozenset({"fdb", "bridge_vlan", "vni"})


class Connection(Protocol):
    """What the engine needs of a kernel; the real one and the fake both are that."""

    features: Features
    names: Names

    def dump(self, selection: Selection) -> State:
        """What there is of the selected objects."""

    def add_away(self, state: State, away: Away, selection: Selection) -> None:
        """Add to ``state`` what is selected of links that live in other network namespaces."""

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        """Do the steps; what was refused."""

    def read_names(self) -> None:
        """Note the name of every link there is."""

    def usual(self, links: Mapping[Key, Object]) -> Usual:
        """What links of the kinds of ``links`` have by themselves."""

    def samples(self, links: Mapping[Key, Object]) -> dict[str, Sample]:
        """What a link takes, for the kinds of ``links``."""

    def changed_settings(self, links: Mapping[Key, Object]) -> list[Object]:
        """The kernel settings, also of ``links``, that somebody has changed."""

    def way_to(self, address: str) -> Route | None:
        """What a packet to ``address`` follows."""

    def close(self) -> None:
        """End the conversation."""


class Mine(NamedTuple):
    """What netgroupd has to look after: ids of groups; classes, hooks and links in other namespaces, as configured."""

    groups: frozenset[int] = frozenset()
    classes: frozenset[str] = frozenset()
    hooks: frozenset[Hook] = frozenset()
    away: Away = frozenset()

    @property
    def owned(self) -> Owned:
        """For the comparison."""
        return Owned(self.groups)

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
        )


def look_at_links(kernel: Connection, mine: Mine) -> State:
    """The owned links; on a kernel that cannot filter, all of them."""
    if not kernel.features.dump_group:
        return kernel.dump(Selection(everything=True))
    return kernel.dump(Selection(groups=mine.groups | {GROUP_BASE}, group_mask=GROUP_MASK))


def foreign_names(kernel: Connection, links: State, mine: Mine) -> frozenset[str]:
    """The names of links that are there and are not made by netgroupd."""
    if kernel.features.dump_group:
        kernel.read_names()
    ours: dict[Value, bool] = {}  # by group, of which there are few
    made = set()
    for (name, *_), link in links.of("link").items():
        group = link.attrs.get("group")
        if (owned := ours.get(group)) is None:
            owned = ours[group] = mine.owned.has(link)
        if owned and link.attrs.get("kind"):
            made.add(name)
    return frozenset(dict(kernel.names).keys() - made)


def look(kernel: Connection, wanted: State, mine: Mine, links: State | None = None) -> State:
    """Everything that matters for bringing about ``wanted``; ``links`` if they were read just now, with all names."""
    actual = links or look_at_links(kernel, mine)
    if kernel.features.dump_group:
        if not links:
            kernel.read_names()
        _add_named(kernel, wanted, actual)
    present = {cls for cls in wanted.classes if wanted.classes[cls]}
    if keys := key_files(wanted):
        # The kernel tells keys, not files: it takes the files to see which it is.
        read = kernel.dump(Selection(links=frozenset(keys), key_files=keys))
        actual.classes["link"] = {**actual.of("link"), **read.of("link")}
    classes = (_MARKED | mine.classes | present) & CLASSES.keys() - {"link"}
    selection = Selection(
        classes=frozenset(classes),
        links=_listed(wanted, actual, mine) if classes & _LISTS else frozenset(),
        settings=frozenset(str(key[0]) for key in wanted.of("sysctl")),
        hooks=mine.hooks | hooks_of(wanted),
    )
    actual.classes.update(kernel.dump(selection).classes)
    away = mine.away | away_of(wanted)
    if away:
        with_links = selection._replace(classes=selection.classes | {"link"}, key_files=keys)
        kernel.add_away(actual, away, with_links)
    _add_unowned(kernel, wanted, actual, away)
    actual.groups = wanted.groups
    return actual


def _add_named(kernel: Connection, wanted: State, actual: State) -> None:
    """Bring the links that are spoken of and are in no group of ours."""
    known = {name for name, _ in kernel.names} - {link.name for link in actual.of("link").values()}
    if missing := known.intersection(referred(wanted)):
        found = kernel.dump(Selection(links=frozenset(missing)))
        actual.classes["link"] = {**actual.of("link"), **found.of("link")}


def away_of(wanted: State) -> Away:
    """The links that shall live in other network namespaces."""
    links = wanted.of("link").values()
    return frozenset((str(netns), link.name) for link in links if (netns := link.attrs.get("netns")))


def _add_unowned(kernel: Connection, wanted: State, actual: State, away: Away) -> None:
    """Bring what is wanted and there, but not marked as netgroupd's: to be taken over, not made."""
    missing = {cls: wanted.of(cls).keys() - actual.of(cls).keys() for cls in _MARKED}
    classes = frozenset(cls for cls, keys in missing.items() if keys)
    if not classes:
        return
    every = Selection(classes=classes, everything=True)
    everything = kernel.dump(every)
    if away:
        kernel.add_away(everything, away, every)
    for cls in classes:
        for key in missing[cls] & everything.of(cls).keys():
            obj = everything.of(cls)[key]
            actual.add(obj._replace(attrs={**obj.attrs, UNOWNED: True}))


def key_files(wanted: State) -> dict[str, tuple[str, ...]]:
    """The files that the keys of each WireGuard link are in."""
    return {link.name: tuple(_files(link.attrs)) for link in wanted.of("link").values() if kind_of(link) == "wireguard"}


def _files(attrs: Attrs) -> Iterator[str]:
    if path := attrs.get("private_key_file"):
        yield str(path)
    peers = attrs.get("peers")
    for peer in peers if isinstance(peers, tuple) else ():
        if isinstance(peer, Mapping) and peer.get("preshared_key_file"):
            yield str(peer["preshared_key_file"])


def referred(wanted: State) -> Iterator[str]:
    """The names of all links that ``wanted`` speaks of."""
    for link in wanted.of("link").values():
        yield link.name
        for field in ("link", "master"):
            if link.attrs.get(field):
                yield str(link.attrs[field])
    for obj in wanted:
        if obj.cls != "link":
            yield from hangs_on(obj)


def _listed(wanted: State, actual: State, mine: Mine) -> frozenset[str]:
    """The links whose VLANs and forwarding entries matter."""
    owned = (link.name for link in actual.of("link").values() if mine.owned.has(link))
    return frozenset((*owned, *(str(key[0]) for cls in _LISTS for key in wanted.of(cls))))
