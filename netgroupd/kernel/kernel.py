# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of one network namespace: ``dump`` what is there, ``apply`` steps.  Decides nothing."""

import errno
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Self

from netgroupd.kernel import carrier, grace
from netgroupd.kernel.features import Features, features
from netgroupd.kernel.layer2 import learned
from netgroupd.kernel.layer3 import addresses, sources
from netgroupd.kernel.layer3.routes_beside import beside
from netgroupd.kernel.layer3.rules_beside import Standing, deletes_rule
from netgroupd.kernel.layer3.secondaries import Secondaries
from netgroupd.kernel.layer3.sources import without_carrier
from netgroupd.kernel.layer3.ways import Route, way_to
from netgroupd.kernel.links import codec as links
from netgroupd.kernel.links.seen import Seen
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink.batch import Batch, Refused, ends
from netgroupd.kernel.netlink.delivery import Denied, Lanes
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.request import Codec, Context, Selection
from netgroupd.kernel.netlink.socket import Counters, Socket
from netgroupd.kernel.netlink.thread_turns import prompt_turns
from netgroupd.kernel.registry import CLASSES, codec
from netgroupd.kernel.settings import sysctls
from netgroupd.kernel.tc.filters.in_turn import Masks, in_turn
from netgroupd.kernel.usual import Sample, Usual, usual_attrs
from netgroupd.model.owner import PROTO
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.plan.compare import differing, same
from netgroupd.plan.step import AnyStep, GroupStep, Op, RangeStep, Step, classes_ahead, cls_of
from netgroupd.plan.tc.hooks import hooks_of
from netgroupd.plan.tc.order import LAST, level_of
from netgroupd.plan.theirs import Going, Theirs

# The kernel works off a compound message on all CPUs by itself.
_LANES = 8
_KEY = attrgetter("key")
_FEW = 64  # fewer messages are not worth a thread


class Kernel:
    """A conversation with the kernel in ``netns``, or in the caller's namespace."""

    def __init__(self, netns: str | None = None, *, assume: Features | None = None, proto: int = PROTO) -> None:
        """Open it; ``assume`` is for a kernel that shall be treated as an older one, ``proto`` marks what is ours.

        Raises:
            UsageError: There is no such namespace.
        """
        self._socket = Socket(netns)
        self._asking = Socket(netns)  # in the middle of a dump, too
        self._asking.counters = self._socket.counters
        self.features = features() if assume is None else assume
        self.names = Names()
        self._generic = Generic(netns, self._socket.counters)
        self._lanes = Lanes(netns, self._socket.counters, 1 if self.features.tc_batch else _LANES)
        self._secondaries = Secondaries(self._socket, proto, self._lanes.settle)
        self._context = Context(
            self._socket,
            self.names,
            self.features,
            netns,
            self._generic,
            proto,
            spare=self._secondaries.spare,
            came=self._secondaries.came,
        )
        self._asked = 0  # about single names
        self.names.find = self._find

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the sockets back."""
        self._lanes.close()
        self._asking.close()
        self._socket.close()
        self._generic.close()

    def _find(self, wanted: str | int) -> tuple[str, int] | None:
        """Look for a link, which what is on its way may bring."""
        self._lanes.settle()
        return links.find(self._asking, wanted)

    def remember(self, seen: Seen) -> None:
        """Read no link again that is as ``seen`` knows it, and let that know for the next time."""
        self._context = self._context._replace(seen=seen)

    @property
    def counters(self) -> Counters:
        """Messages, system calls and bytes so far."""
        return self._socket.counters

    def dump(self, selection: Selection) -> State:
        """What the kernel holds of the selected objects.

        Raises:
            KernelError: A dump was refused or never came whole.
        """
        state = State()
        for cls in CLASSES:
            if cls in selection.classes:
                found = list(codec(cls).dump(self._context, selection))
                state.classes[cls] = dict(zip(map(_KEY, found), found, strict=True))
        return state

    def read_names(self) -> None:
        """Note the name of every link there is."""
        links.read_names(self._context)

    def has_link(self, name: str) -> bool:
        """Whether there is a link of that name."""
        known = self.names.knows(name)
        if known or self.names.whole:
            return known
        self._asked += 1
        if self._asked > links.FEW:
            self.read_names()
        elif found := self.names.find(name):
            self.names.note(*found)
        return self.names.knows(name)

    def expect(self, names: Set[str]) -> Mapping[str, bool]:
        """Which there are: read all names at once where it will be asked about more than a few, or else leave it."""
        if self._asked + len(names) > links.FEW and not self.names.whole:
            self.read_names()
        there = names & self.names.names()
        return {**dict.fromkeys(names, False), **dict.fromkeys(there, True)} if self.names.whole else {}

    def _another(self) -> "Kernel":
        """A conversation in whichever namespace the caller is by then, for what is made there to be looked at."""
        return Kernel(assume=self.features)

    def usual(self, links: Mapping[Key, Object]) -> Usual:
        """What links of the kinds of ``links`` have by themselves."""
        return usual_attrs(links, self._another)

    def told_queues(self, actual: State) -> list[Object]:
        """The queues and classes of ``actual`` of which less need be said, with that alone."""
        from netgroupd.kernel.usual_queues import told_queues  # noqa: PLC0415  # only a capture needs it

        return told_queues(actual, self._another)

    def samples(self, links: Mapping[Key, Object]) -> dict[str, Sample]:
        """What a link takes, for the kinds of ``links``."""
        from netgroupd.kernel.footprint import samples_of  # noqa: PLC0415  # only an estimate needs it

        return samples_of(links.values(), self._another)

    def changed_settings(self, links: Mapping[Key, Object]) -> list[Object]:
        """The kernel settings, and what drivers of ``links`` are told, that somebody has changed."""
        from netgroupd.kernel.settings.ethtool_changed import changed_features  # noqa: PLC0415  # only a capture needs it
        from netgroupd.kernel.settings.sysctls_changed import changed  # noqa: PLC0415  # as above

        def connect() -> tuple["Kernel", Context]:
            kernel = self._another()
            return kernel, kernel._context

        settings = changed(self._context, links, self._another)
        return [*settings, *changed_features(self._context, links, connect)]

    def settings_of(self, names: Collection[str]) -> list[Object]:
        """The kernel settings of the links of these names that no new link has, and what their drivers are told."""
        from netgroupd.kernel.settings import ethtool_changed, sysctls_changed  # noqa: PLC0415  # only for deleted links

        told = ethtool_changed.of_links(self._context, names)
        return [*sysctls_changed.of_links(self._context, names), *told]

    def rules_to(self, names: Set[str]) -> list[Object]:
        """The rules of traffic control that lead packets to the links of these names."""
        from netgroupd.kernel.tc.leading import rules_to  # noqa: PLC0415  # only a plan that deletes links needs it

        return rules_to(self._context, names)

    def unknown_settings(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of ``paths`` that are no kernel settings, each with the name that may be meant."""
        return sysctls.unknown(self._context, paths)

    def elsewhere(self) -> frozenset[str]:
        """The links of which a part is in another network namespace."""
        from netgroupd.kernel.elsewhere import elsewhere  # noqa: PLC0415  # only a capture needs it

        return elsewhere(self._context)

    def card_of(self, name: str) -> str:
        """The card that a link is a virtual function of; "" for none."""
        from netgroupd.kernel.vf import card_of  # noqa: PLC0415  # only a plan that takes functions away needs it

        return card_of(self._context, name)

    def theirs(self, names: Iterable[str], going: Going) -> Theirs:
        """What others have on the links of these names and lose, and their groups with nexthops that go."""
        from netgroupd.kernel.theirs import theirs  # noqa: PLC0415  # only a plan that takes links down needs it

        return theirs(self._context, names, going)

    def without_carrier(self, sources: Set[str]) -> frozenset[str]:
        """Those of some IPv6 addresses that no route can send from until their link has a carrier."""
        return without_carrier(self._context, sources)

    def dark(self, names: Iterable[str]) -> frozenset[str]:
        """Those of some links that are up and have no carrier, with all that follows from that."""
        return frozenset(name for name, found in self._carriers(names) if found.dark)

    def carrier_losses(self, names: Iterable[str]) -> dict[str, int]:
        """How often links have lost their carrier."""
        return {name: found.losses for name, found in self._carriers(names)}

    def _carriers(self, names: Iterable[str]) -> Iterator[tuple[str, carrier.Carrier]]:
        for name in names:
            if found := carrier.carrier_of(self._asking, name):
                yield name, found

    def way_to(self, address: str, source: str = "", vrf: str = "", mark: int = 0) -> Route | None:
        """What a packet to ``address`` would follow, from ``source`` if there is such; None if there is no way."""
        return way_to(self._context, address, source, vrf, mark)

    def routes_around(self, address: str, table: int) -> list[Object]:
        """The routes of a table, whoever has made them, to networks that hold an address."""
        from netgroupd.kernel.layer3.routes_around import routes_around  # noqa: PLC0415  # seldom a route in use goes

        return routes_around(self._context, address, table)

    def port_behind(self, bridge: str, mac: str, vlan: int) -> str:
        """The port that a bridge has learned a MAC behind, in a VLAN of its own or 0; "" for none."""
        return learned.port_behind(self._context, bridge, mac, vlan)

    def links_with(self, address: str) -> frozenset[str]:
        """The links that have an address."""
        return addresses.links_with(self._context, address)

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        """Do the steps in order; what the kernel refused, with its reasons.

        After a refusal the rest of the same batch has still run, and nothing
        behind it unless the step is optional.  ``progress`` hears how many steps each batch was.
        """
        refused: tuple[Refused, ...] = ()
        about = classes_ahead(steps)
        rules, routes, nexthops = (steps if cls in about else () for cls in ("rule", "route", "nexthop"))
        standing = Standing(codec("rule").dump(self._context, Selection())) if any(map(deletes_rule, rules)) else None
        self._context = self._context._replace(beside=beside(self._socket, routes), standing=standing)
        pauses = dict.fromkeys(grace.taken_up(steps), grace.passed)
        pauses.update(dict.fromkeys(carrier.needed(nexthops), partial(carrier.settled, nexthops, self.dark)))
        pauses.update(dict.fromkeys(sources.needed(routes), partial(sources.settled, self._socket, routes)))
        start = 0
        for stop in (*sorted(place for place in pauses if place), len(steps)):
            if pause := pauses.get(start):
                pause()
            refused += tuple(self._refused(self._run(steps[start:stop], progress), steps))
            if ends(refused):
                break
            start = stop
        return refused

    def _run(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None) -> list[Denied]:
        batch = Batch(self._socket, self._lanes, progress, compounds=self.features.tc_batch)
        try:
            with prompt_turns():
                self._give(batch, steps)
        finally:
            self._lanes.arrived()  # after an interrupt, too, nothing is on its way any more
            self._secondaries.done()
        return batch.denied

    def _give(self, batch: Batch, steps: Sequence[AnyStep]) -> None:
        place = self._fill(batch, steps, Masks())
        batch.flush()
        for some in in_turn(steps[place:]) if place < len(steps) else ():
            self._fill(batch, some)
            batch.flush()

    def _fill(self, batch: Batch, steps: Sequence[AnyStep], masks: Masks | None = None) -> int:
        """Give the steps to the batch; up to which one, where a preference gets one more than its one of ``masks``."""
        place = alone = 0
        level = LAST
        asking = False  # about the number of each link that comes
        while place < len(steps) and not batch.ended:
            step = steps[place]
            cls = cls_of(step)
            form = codec(cls)
            if cls == "filter":
                before, level = level, level_of(step)
                if before < level:
                    batch.flush()  # what follows must not overtake this, nor come where this was refused
                    continue
            if form.run and place >= alone:
                run = form.run(steps, place, self.names, *batch.run)
                if masks and not masks.stay(run):
                    return place
                alone = place + run.taken
                if run.taken >= _FEW:
                    batch.abreast(steps[place:alone], run.messages)
                    place = alone
                    continue
            if not (asking or self.names.whole) and _brings_link(step):
                asking = _bring_few(steps[place:])
                if not asking:
                    batch.flush()
                    self.read_names()  # their numbers must be free
            place += 1
            self._add(batch, step, form)
        return len(steps)

    def _add(self, batch: Batch, step: AnyStep, form: Codec) -> None:
        try:
            batch.add(step, list(form.encode(step, self._context)))
        except UnknownLinkError as error:
            batch.flush()
            batch.deny(step, errno.ENODEV, str(error))
        except OSError as error:  # of a file that the message refers to, or there is more than fits into one
            batch.flush()
            why = f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
            batch.deny(step, error.errno or 0, why)

    def _refused(self, denied: list[Denied], steps: Sequence[AnyStep]) -> Iterator[Refused]:
        if not denied:
            return
        from netgroupd.kernel.refused import refused  # noqa: PLC0415  # only a refusal needs it
        from netgroupd.plan.nets import said_in  # noqa: PLC0415  # as above

        order = {id(step): place for place, step in enumerate(steps)}
        said = said_in(steps)
        # Packets that went side by side are answered in no order.
        for one in sorted(denied, key=lambda one: order[id(one.step)]):
            step = self._first_undone(one.step) if isinstance(one.step, RangeStep) else one.step
            yield refused(step, one, said, self._member_undone(step) if isinstance(step, GroupStep) else None)

    def _first_undone(self, step: RangeStep) -> Step:
        """Which one of a range was refused: the kernel goes no further, so it is the first that is not as told."""
        about, cls = step.steps[0].object, cls_of(step)
        names = frozenset({about.name})
        wanted = Selection(frozenset({cls}), names, bridges=names, cards=names, hooks=hooks_of(State((about,))))
        found = self.dump(wanted).of(cls)
        return next((one for one in step.steps if not _is_done(one, found.get(one.object.key))), step.steps[0])

    def _member_undone(self, step: GroupStep) -> Step | None:
        """Which member of a group was refused, as above; None if that cannot be told."""
        if step.op is not Op.CHANGE or cls_of(step) != "link":
            return None
        found = self.dump(Selection(links=frozenset(one.object.name for one in step.steps))).of("link")
        undone = [one for one in step.steps if not _has(found.get(one.object.key), one.attrs)]
        return undone[0] if len(undone) < len(step.steps) or len(undone) == 1 else None


def _brings_link(step: AnyStep) -> bool:
    """Whether a step makes a link, or moves one into another network namespace."""
    return isinstance(step, Step) and step.object.cls == "link" and (step.op is Op.CREATE or "netns" in step.attrs)


def _bring_few(steps: Sequence[AnyStep]) -> bool:
    """Whether asking about the number of each link that comes costs less than reading all names."""
    return next(islice(filter(_brings_link, steps), links.FEW, None), None) is None


def _is_done(step: Step, have: Object | None) -> bool:
    if step.after is None or have is None:
        return step.after is have
    return not differing(step.after, have)


def _has(have: Object | None, attrs: Attrs) -> bool:
    return have is not None and all(same(name, value, have.attrs.get(name)) for name, value in attrs.items())
