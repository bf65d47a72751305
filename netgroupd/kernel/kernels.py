# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of one network namespace, and of the links of its configuration that live in others.

Each of those namespaces has a connection of its own, opened when something there
is looked for.  Names are unique in a configuration, so a link is known by its
name alone, whichever namespace it is in.
"""

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from netgroupd.errors import AccessError
from netgroupd.kernel.beyond import lower_of, number_of
from netgroupd.kernel.features import Features
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink.batch import Refused, ends
from netgroupd.kernel.netlink.request import Away, Selection
from netgroupd.kernel.netns import HERE, is_there, open_netns
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.link import WITH_LINK
from netgroupd.model.owner import PROTO_AWAY, across
from netgroupd.model.state import Attrs, Object, State
from netgroupd.plan.compare import group_of, kind_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.step import AnyStep, GroupStep, Op, RangeStep, Step, cls_of
from netgroupd.plan.theirs import Going, Theirs

_HOME = ""
_Numbers: TypeAlias = tuple[dict[int | None, str], Iterator[tuple[int | None, str]]]
"""Which namespaces have which numbers in one, and those that are still to be asked for."""
# Refers to links of the new namespace, or is not heeded when the link is made.
_AFTER = frozenset({"master", "alias", "altnames", "carrier", "protodown"})


class Kernels(Kernel):
    """A conversation with the kernel in one namespace, and with others for the links that are away."""

    def __init__(self, netns: str | None = None, *, assume: Features | None = None) -> None:
        """Open the first.

        Raises:
            UsageError: There is no such namespace.
        """
        super().__init__(netns, assume=assume)
        self._netns = netns or HERE
        self._others: dict[str, Kernel] = {}
        self._some_away = False
        self._places: dict[str, str] = {}  # of the links that are away

    def close(self) -> None:
        """Give everything back."""
        for kernel in self._others.values():
            os.close(kernel.names.fd)
            kernel.close()
        if self.names.fd >= 0:
            os.close(self.names.fd)
        super().close()

    def add_away(self, state: State, away: Away, selection: Selection) -> None:
        """Add to ``state`` what is selected of the links that are ``away``, and the links there below others here."""
        self._some_away = True
        if "link" in selection.classes:
            names: dict[str, set[str]] = defaultdict(set)
            for netns, name in away:
                names[netns].add(name)
            for netns in filter(is_there, sorted(names)):
                self._add_links(state, netns, selection._replace(links=frozenset(names[netns])))
            self._add_lower(state)
        for netns in self._others:
            self._add_rest(state, netns, selection)

    def _at(self, netns: str) -> Kernel:
        """The connection to one of the namespaces.

        Raises:
            UsageError, AccessError: It is not there, or may not be entered.
        """
        if netns == _HOME:
            return self
        if netns not in self._others:
            if self.names.fd < 0:
                self.names.fd = open_netns(self._netns)
            descriptor = open_netns(netns)
            try:
                kernel = _connected(netns, self.features)
            except BaseException:
                os.close(descriptor)
                raise
            kernel.names.fd = descriptor
            self._others[netns] = kernel
        return self._others[netns]

    def _add_links(self, state: State, netns: str, selection: Selection) -> None:
        kernel = self._at(netns)
        kernel.read_names()  # the number of a link that is made there must be free
        wanted = Selection(links=selection.links, key_files=selection.key_files)
        found = kernel.dump(wanted).of("link")
        for name in selection.links:
            if self._places.get(name) == netns:
                del self._places[name]
        for key, link in found.items():
            if group_of(link) or key not in state.of("link"):  # or else it is another one, of somebody else's
                state.add(link.having({"group": across(group_of(link)), "netns": netns}))
                self._places[link.name] = netns

    def _add_lower(self, state: State) -> None:
        """Name the lower links, and the ends of cables, that are in another namespace than their link."""
        numbers: dict[str, _Numbers] = {}
        for link in list(state.of("link").values()):
            row = _row_of_lower(link)
            if row and not link.attrs.get(row) and (lower := self._lower(link.name, numbers)):
                state.add(link.having({row: lower}))

    def _lower(self, name: str, numbers: dict[str, _Numbers]) -> str:
        place = self._place(name)
        here = self._at(place)
        number, index = lower_of(here._context, here.names.index(name)) or (-1, 0)
        if not index:
            return ""
        known, more = numbers.setdefault(place, ({}, self._numbered(place)))
        while number not in known and (found := next(more, None)):  # each is asked for once, for all links
            known[found[0]] = found[1]
        with suppress(UnknownLinkError, KeyError):
            netns = known[number]
            lower = self._at(netns).names.name(index)
            return lower if self._place(lower) == netns else ""
        return ""

    def _numbered(self, place: str) -> Iterator[tuple[int | None, str]]:
        """The numbers of the other namespaces in one, as far as it knows them."""
        here = self._at(place)
        for netns, there in ((_HOME, self), *self._others.items()):
            if there is not here:
                yield number_of(here._context, there.names.fd), netns

    def _add_rest(self, state: State, netns: str, selection: Selection) -> None:
        links = frozenset(name for name, place in self._places.items() if place == netns)
        settings = frozenset(path for path in selection.settings if links.intersection(path.split("/")))
        classes = selection.classes & WITH_LINK
        if not links or not classes:
            return
        # Those of other links are not there, and would be asked for one by one.
        here = selection._replace(
            classes=classes,
            links=links,
            settings=settings,
            bridges=selection.bridges & links,
            cards=selection.cards & links,
            tokens=selection.tokens & links,
        )
        for obj in self._at(netns).dump(here):
            if links.issuperset(hangs_on(obj)):
                state.add(obj)

    def settings_of(self, names: Collection[str]) -> list[Object]:
        """The kernel settings of links that no new link has, and what their drivers are told."""
        places = self._by_place(names)
        found = super().settings_of(places.pop(_HOME, ()))
        for netns, there in places.items():
            found += self._others[netns].settings_of(there)
        return found

    def theirs(self, names: Iterable[str], going: Going) -> Theirs:
        """What others have on links; elsewhere their routes and nexthops are not to be given back, but to be told."""
        places = self._by_place(names)
        found = super().theirs(places.pop(_HOME, ()), going)
        elsewhere = going._replace(ids=frozenset(), deleted=frozenset())
        for netns, there in places.items():
            found = found.beside(self._others[netns].theirs(there, elsewhere))
        return found

    def _by_place(self, names: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name in names:
            found[self._place(name)].append(name)
        return found

    def _place(self, name: object) -> str:
        return self._places.get(str(name), _HOME)

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        """Do the steps in order, each where its link is; what the kernel refused, with its reasons."""
        if not self._some_away:
            return super().apply(steps, progress)
        refused: list[Refused] = []
        for netns, part in _runs(self._placed(steps)):
            kernel = self._at(netns)
            found = super().apply(part, progress) if kernel is self else kernel.apply(part, progress)
            refused += (each for each in found if not _went_along(each))
            if ends(refused):
                break
        return tuple(refused)

    def _placed(self, steps: Sequence[AnyStep]) -> Iterator[tuple[str, AnyStep]]:
        """The steps, cut where that takes it, each with the namespace that is to be told."""
        ends = {
            step.object.name: _netns(step.object.attrs)
            for step in steps
            if isinstance(step, Step) and step.object.cls == "link" and step.op is not Op.DELETE
        }
        left: list[tuple[str, AnyStep]] = []
        for step in steps:
            if isinstance(step, Step) and step.op is Op.CREATE and step.object.cls == "link":
                first, *rest = self._created(step, ends)
                left += rest
                yield first
                continue
            yield from left
            left = []
            if isinstance(step, GroupStep):
                yield from self._split(step)
            elif isinstance(step, Step) and step.object.cls == "link":
                yield from self._of_link(step)
            else:
                about = step.steps[0].object if isinstance(step, RangeStep) else step.object
                lives_with = hangs_on(about) if about.cls in WITH_LINK else ()
                yield self._place(lives_with[0] if lives_with else ""), step
        yield from left

    def _created(self, step: Step, ends: dict[str, str]) -> Iterator[tuple[str, AnyStep]]:
        """A link is made where its lower link is, and comes into being where it is to live."""
        name, attrs, place = step.object.name, step.attrs, _netns(step.object.attrs)
        source = self._place(attrs["link"]) if attrs.get("link") else place
        self._send(source, name, place)
        if kind_of(step.object) in PAIRS and (peer := str(attrs.get("peer") or "")):
            self._send(source, peer, ends.get(peer, place))
        late = attrs.keys() & _AFTER if source != place else ()
        first = {row: value for row, value in attrs.items() if row not in late} if late else attrs
        yield source, _marked(step._replace(attrs=first), place)
        if not late:
            return
        after = {row: value for row, value in attrs.items() if row in late}
        yield place, Step(Op.CHANGE, step.after, step.after, after, step.why)

    def _send(self, source: str, name: str, place: str) -> None:
        self._at(source).names.elsewhere[name] = self._at(place).names
        self._places[name] = place

    def _of_link(self, step: Step) -> Iterator[tuple[str, AnyStep]]:
        name, place = step.object.name, self._place(step.object.name)
        if step.op is Op.DELETE and kind_of(step.object) in PAIRS:
            peer = str(step.object.attrs.get("peer"))
            self._at(self._place(peer)).names.forget(peer)
        if "netns" in step.attrs:
            destination = _netns(step.attrs)
            if destination != place:
                self._send(place, name, destination)
                yield place, step._replace(attrs={"netns": step.attrs["netns"]})
                yield destination, _marked(step._replace(attrs={"group": group_of(step.object)}), destination)
            attrs = {row: value for row, value in step.attrs.items() if row != "netns"}
            step, place = step._replace(attrs=attrs), destination
        if step.attrs or step.op is Op.DELETE:
            yield place, _marked(step, place)

    def _split(self, whole: GroupStep) -> Iterator[tuple[str, AnyStep]]:
        """A group has members in several namespaces, and a message reaches those of one."""
        parts: dict[str, list[Step]] = defaultdict(list)
        for step in whole.steps:
            parts[self._place(step.object.name) if cls_of(whole) == "link" else _HOME].append(step)
        for netns, members in parts.items():
            yield netns, whole._replace(group=across(whole.group) if netns else whole.group, steps=tuple(members))


def _connected(netns: str, features: Features) -> Kernel:
    try:
        return Kernel(netns, assume=features, proto=PROTO_AWAY)
    except PermissionError as error:
        hint = "netgroupd needs CAP_SYS_ADMIN for that, and of systemd RestrictNamespaces=net"
        raise AccessError(f"the network namespace {netns!r} cannot be entered; {hint}") from error


def _marked(step: Step, place: str) -> Step:
    """What is told of a link's group, as it is to be in a namespace."""
    if not place or "group" not in step.attrs:
        return step
    return step._replace(attrs={**step.attrs, "group": across(int(str(step.attrs["group"])))})


def _netns(attrs: Attrs) -> str:
    return str(attrs.get("netns") or _HOME)


def _row_of_lower(link: Object) -> str:
    kind = KINDS.get(kind_of(link))
    if kind is None:
        return ""
    return "peer" if kind.name in PAIRS else "link" if kind.lower else ""


def _runs(placed: Iterator[tuple[str, AnyStep]]) -> Iterator[tuple[str, list[AnyStep]]]:
    """Steps that follow each other in one namespace; the end of a group apart, for another may have taken it along."""
    netns, run = _HOME, list[AnyStep]()
    for place, step in placed:
        alone = isinstance(step, GroupStep) and step.op is Op.DELETE
        if run and (alone or place != netns):
            yield netns, run
            run = []
        netns = place
        run.append(step)
        if alone:
            yield netns, run
            run = []
    if run:
        yield netns, run


def _went_along(refused: Refused) -> bool:
    """Whether what was to be deleted went with something in another namespace."""
    step = refused.step
    return step.op is Op.DELETE and cls_of(step) == "link" and refused.refusal.errno == errno.ENODEV
