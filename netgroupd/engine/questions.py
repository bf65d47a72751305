# SPDX-License-Identifier: GPL-2.0-or-later
"""What an engine is asked without changing anything."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from netgroupd.config import Desired
from netgroupd.engine import configuration
from netgroupd.engine.guard.cuts import asked_of, refuse_cuts, ways_of, with_underlays
from netgroupd.engine.guard.detour import Detours
from netgroupd.engine.key_files import without_keys
from netgroupd.engine.namespaces import refuse_missing
from netgroupd.engine.observe import Connection, Mine, look, without_others
from netgroupd.engine.record.generations import Content
from netgroupd.engine.record.journal import Entry
from netgroupd.engine.report import Estimate, Status
from netgroupd.engine.session import CONSOLE
from netgroupd.engine.shown import ALONE
from netgroupd.engine.transaction import plan_now
from netgroupd.engine.undescribed import refuse_vain
from netgroupd.engine.unfinished import Unfinished
from netgroupd.errors import ConfigError, GuardError, NetgroupError, UsageError
from netgroupd.kernel.layer3.ways import Route
from netgroupd.kernel.monitor import Monitor
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.netns import is_there
from netgroupd.model import CLASSES
from netgroupd.model.nexthop import links_of
from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import State
from netgroupd.plan import present
from netgroupd.plan.step import Plan


class Standing(NamedTuple):
    """What was applied, the steps back to it, and how often the links of its nexthops have lost their carrier."""

    status: Status
    applied: State
    plan: Plan
    losses: Mapping[str, int]


class Questions(Unfinished):
    """The engine of one network namespace, as far as it only looks."""

    session = CONSOLE

    def actual(self) -> State:
        """What the kernel has of what is owned or wanted; of what was applied, while the files are wrong."""
        return self._look()[0]

    def looked_after(self, what: str = "", name: str = "") -> State:
        """The same without the other links, of which some kernels tell too; of a link or VRF alone, if one is named."""
        if name and what in ALONE:
            with self._kernel() as kernel:
                if found := ALONE[what](kernel, name, self._mine(), self._applied_if_known()):
                    return found
        return without_others(*self._look())

    def _look(self) -> tuple[State, State, Mine]:
        with self._kernel() as kernel:
            mine = self._mine()
            try:
                desired, links = self._read(kernel, mine)
            except ConfigError:
                applied = self.applied()
                return look(kernel, applied, mine), applied, mine
            return look(kernel, desired.state, mine, links), desired.state, mine

    def diff(self) -> Plan:
        """The steps from what the kernel has to what the configuration asks for."""
        with self._kernel() as kernel:
            mine = self._mine()
            desired, links = self._read(kernel, mine)
            doubts = configuration.doubts(desired, self.paths.config, without_keys(desired.state))
            with configuration.lines_added(desired):
                refuse_missing(desired.state)
                plan, actual = plan_now(kernel, desired.state, mine, links)
                refuse_vain(kernel, plan, desired.state, actual, doubts)
            plan = self._with_cuts(kernel, plan, desired, actual) if plan.steps else plan
            return plan._replace(doubts=doubts)

    def _with_cuts(self, kernel: Connection, plan: Plan, desired: Desired, actual: State) -> Plan:
        """The plan, with a warning of each cut that apply would refuse."""
        try:
            self._refuse_cuts(kernel, plan, desired.state, actual, again=self._in_effect_again(desired)[1])
        except GuardError as error:
            told = (f"apply refuses this: {line}" for line in str(error).splitlines())
            return plan._replace(warnings=(*plan.warnings, *told))
        return plan

    def _in_effect_again(self, desired: Desired) -> tuple[Content, bool]:
        """What is in effect, and whether the files of ``desired`` are those."""
        applied = self._generations.content_if_kept(self._generations.current)
        return applied, applied.files == configuration.files_of(desired)

    def _refuse_cuts(
        self,
        kernel: Connection,
        plan: Plan,
        goal: State,
        actual: State,
        allow: frozenset[str] = frozenset(),
        *,
        accepted: bool = False,
        again: bool = False,
    ) -> None:
        """Let a plan pass that cuts no way, or one that is to be; how far its goal is in effect, `Detours` tells.

        Raises:
            GuardError: It would cut one.
        """
        ways, there = with_underlays(kernel, ways_of(kernel, self.session), actual, goal)

        def leads(address: str, within: str) -> Route | None:
            return kernel.way_to(address, "", within)

        detours = Detours(goal, leads, kernel.routes_around, accepted=accepted, again=again)
        refuse_cuts(plan, ways, there, detours, asked_of(kernel, goal, there), allow)

    def drift(self) -> Plan:
        """The steps from what the kernel has to what was applied last, whatever the files say now."""
        with self._kernel() as kernel:
            mine = self._mine()
            return plan_now(kernel, self.applied(), mine)[0]

    def watch(self, classes: Iterable[str], *, own: bool = False) -> Monitor:
        """Listen for changes to objects of ``classes``; the caller closes it.

        With ``own`` the kernel tells only of links in netgroupd's own range of groups.
        """
        return Monitor(classes, (GROUP_BASE, GROUP_MASK) if own else None, self.netns)

    def watch_away(self, classes: Iterable[str]) -> list[Monitor]:
        """Listen in the other network namespaces that links of ours live in."""
        return [Monitor(classes, None, netns) for netns in sorted(self._mine().spaces) if is_there(netns)]

    def status(self) -> Status:
        """Where things stand."""
        try:
            return self.standing().status
        except UsageError as error:  # what was applied is lost, or of a version that understood other files
            entry = self._journal.read()
            with self._kernel() as kernel:
                mine = self._mine()
                return self._status(kernel, entry, look(kernel, State(), mine), mine, f"not known: {error}")

    def standing(self) -> Standing:
        """The same with what was applied, and the steps back to it, from one look at the kernel."""
        entry = self._journal.read()  # before the rest: a change that ends meanwhile is still told of
        with self._kernel() as kernel:
            mine = self._mine()
            applied = self.applied()
            losses = kernel.carrier_losses(links_of(applied.of("nexthop").values()))  # what follows from more is news
            plan, actual = plan_now(kernel, applied, mine)
            status = self._status(kernel, entry, actual, mine, present.summary(plan) if plan.steps else "")
        return Standing(status, applied, plan, losses)

    def _status(self, kernel: Connection, entry: Entry | None, actual: State, mine: Mine, differences: str) -> Status:
        features = tuple(name for name, there in kernel.features._asdict().items() if there)
        owned = {cls: len(actual.of(cls)) for cls in CLASSES if cls != "link"}
        unfinished = entry is not None and not entry.deadline
        who = self.changed_by() if unfinished else ""
        changing = unfinished and (bool(who) or self._journal.read() != entry)
        owned["link"] = sum(mine.covers(link.attrs.get("group")) for link in actual.of("link").values())
        return Status(
            self.netns or "",
            self.in_effect(),
            self.pending(),
            unfinished and not changing,
            owned,
            differences,
            features,
            changing,
            who,
        )

    def capture(self) -> str:
        """A configuration for what the namespace has now, with ranges folded."""
        from netgroupd.engine.capture.host import captured  # noqa: PLC0415  # no other question need wait for it

        with self._kernel() as kernel:
            actual = kernel.dump(Selection(classes=frozenset(CLASSES), everything=True))
            if away := self._mine().away:
                kernel.add_away(actual, away, Selection(classes=frozenset(CLASSES), everything=True))
            usual = kernel.usual(actual.of("link"))
            elsewhere = kernel.elsewhere()
            for one in (*kernel.changed_settings(actual.of("link")), *kernel.told_queues(actual)):
                actual.add(one)
        content = self._generations.content(self._generations.current)
        return captured(actual, usual, {number: name for name, number in content.groups.items()}, elsewhere)

    def estimate(self) -> Estimate:
        """What the configuration will cost, what of that is to come, and what would cost less."""
        from netgroupd.engine.estimate import estimated  # noqa: PLC0415  # as above

        with self._kernel() as kernel:
            mine = self._mine()
            desired, links = self._read(kernel, mine)
            goal, actual = desired.state, State()
            with suppress(NetgroupError):  # not everybody may see all that there is
                actual = look(kernel, goal, mine, links, briefly=True)
            samples = kernel.samples(goal.of("link"))
        return estimated(goal, actual, samples, os.uname().release)
