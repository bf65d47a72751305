# SPDX-License-Identifier: GPL-2.0-or-later
"""files and kernel -> the kernel as the files say, or as it was before.

The one place where what is decided (``config``, ``plan``) meets what is touched
(``kernel``, the journal, the generations).  An engine is bound to one network
namespace; of what it keeps in memory between two calls nothing depends but how long the next takes.
"""

import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from netgroupd.config import Desired
from netgroupd.config.sources import ROOT, Trust
from netgroupd.engine import clock, configuration
from netgroupd.engine.in_part import converge_in_part
from netgroupd.engine.kept.lost import add_lost
from netgroupd.engine.kept.replaced import Naming, Replaced
from netgroupd.engine.kept.routes_beside import placed
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.kept.taken_over import without_refused, without_theirs
from netgroupd.engine.kept.theirs import settings_of_others
from netgroupd.engine.key_files import without_keys
from netgroupd.engine.namespaces import refuse_missing
from netgroupd.engine.observe import Connection, Links, Mine, look
from netgroupd.engine.paths import SYSTEM, Paths
from netgroupd.engine.questions import Questions
from netgroupd.engine.record.aside import Aside
from netgroupd.engine.record.disk import told
from netgroupd.engine.record.generations import APPLIED, REPAIRED, UNCONFIRMED, UNTOUCHED, Borrowed, Content
from netgroupd.engine.record.journal import Entry
from netgroupd.engine.refusals import doubts_added
from netgroupd.engine.repair import only
from netgroupd.engine.report import Generation, Pending, Result
from netgroupd.engine.session import CONSOLE, Session
from netgroupd.engine.transaction import Progress, concluded, converge, plan_now
from netgroupd.engine.undescribed import refuse_vain
from netgroupd.errors import KernelError, Problem, UsageError, VerifyError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.thread_turns import prompt_turns
from netgroupd.model.state import Key, State
from netgroupd.plan import present
from netgroupd.plan.affected import felt
from netgroupd.plan.named import named_in
from netgroupd.plan.step import Plan
from netgroupd.plan.tc.optional import keys_of

_TRIES = 4  # to give back what the kernel refuses in part
_TOO_MUCH = "what this takes the place of is too much to be kept, so that no rollback gives it back once it is done"


class _Request(NamedTuple):
    """What was asked of one change."""

    shown: Plan | None = None
    confirm_s: float | None = None
    allow: frozenset[str] = frozenset()
    progress: Progress | None = None
    refused: tuple[Key, ...] = ()  # rules that are left out already
    result: str = APPLIED
    warnings: tuple[str, ...] = ()  # of what was found before
    doubts: tuple[Problem, ...] = ()  # of the files, where they are what is asked for
    back_to: int | None = None  # the generation that is gone back to, and behind which nothing counts any more
    in_part: bool = False  # whether some of it is better than nothing
    goal: State | None = None  # of one that goes back: what to reach beside what is kept
    borrowed: Borrowed = ()  # of one that goes back: what others had made then

    @property
    def repairs(self) -> bool:
        """Whether it brings a part of what is in effect back, and nobody asked for anything new."""
        return self.result == REPAIRED


class Engine(Questions):
    """What netgroupd can do with one network namespace."""

    def __init__(
        self,
        paths: Paths = SYSTEM,
        *,
        netns: str | None = None,
        session: Session = CONSOLE,
        trust: Trust = ROOT,
        connect: Callable[[str | None], Connection] = Kernels,
    ) -> None:
        super().__init__(paths, netns=netns, trust=trust, connect=connect)
        self.session = session

    def apply(
        self,
        plan: Plan | None = None,
        *,
        confirm_s: float | None = None,
        allow: frozenset[str] = frozenset(),
        progress: Progress | None = None,
        in_part: bool = False,
    ) -> Result:
        """Make the kernel what the configuration asks for, or leave it as it was.

        A ``plan`` that was shown is applied only if it is still the right one.
        ``allow`` names links whose cutting is meant.  ``progress`` is told how many
        steps are done, of how many.  ``in_part``: what the kernel refuses is left out, and
        told by the ``trouble`` of the result.

        Raises:
            ConfigError, GuardError, BusyError, UsageError: Nothing was touched.
            JournalError, KernelError, VerifyError: It went wrong, and what was there is there still or again.
        """
        # At boot nobody asks a second time, and who ends what was cut off may still be at it.
        with self._changing(wait=in_part) as warnings, self._kernel() as kernel:
            mine = self._mine()
            desired, links = self._read(kernel, mine)
            keyless = () if in_part else without_keys(desired.state)
            doubts = configuration.doubts(desired, self.paths.config, keyless)
            request = _Request(plan, confirm_s, allow, progress, warnings=warnings, doubts=doubts, in_part=in_part)
            with doubts_added(desired.problems), configuration.lines_added(desired):
                return self._change(kernel, desired, mine, links, request)

    def _change(
        self,
        kernel: Connection,
        desired: Desired,
        mine: Mine,
        links: Links | None,
        request: _Request,
    ) -> Result:
        """snapshot → guard → journal → run → verify → commit, or put the snapshot back."""
        started = clock.since_boot()
        goal = desired.state if request.goal is None else request.goal
        refuse_missing(goal)
        plan, actual = plan_now(kernel, goal, mine, links)
        if not (request.in_part or request.repairs):  # which may be told of a part alone
            refuse_vain(kernel, felt(plan), goal, actual, request.doubts)
        plan = plan._replace(warnings=(*request.warnings, *plan.warnings), doubts=request.doubts)
        if request.shown is not None and request.shown.steps != plan.steps:
            raise UsageError("the host has changed since the plan was shown; look at the new plan first")
        applied, again = self._in_effect_again(desired)
        if not plan.steps and again:
            if request.warnings:
                self._journal.close()
            self._write_names(applied)
            return Result(plan)
        borrowed = mine.borrowing(desired.state, actual, kernel.names, again=request.borrowed)
        content = configuration.content_of(desired)._replace(borrowed=borrowed)
        self._refuse_cuts(kernel, plan, goal, actual, request.allow, accepted=request.repairs, again=again)
        shaking = felt(plan)
        add_lost(kernel, shaking, actual, self._applied_if_known, mine)
        plan = plan._replace(others=plan.others + settings_of_others(kernel, shaking))
        naming = None if mine.names_all(content) else Naming(desired.state, named_in(mine.named), mine.hooks)
        replaced = UNTOUCHED if request.repairs else Replaced.by(shaking, actual, kernel.usual, naming)
        begun, plan = self._opened(content, plan, replaced)
        accepted = self._accepted(begun.number, again, request)
        before = placed(kernel, Snapshot.of(plan, actual))
        entry = Entry(begun, self._generations.current, accepted, clock.boot_id(), request.confirm_s is not None)
        mine = mine.joined(content)
        self._begin(entry, before)
        try:
            telling = partial(self._tell, begun.number, content, plan, request.back_to)
            with prompt_turns(), Aside(telling, request.progress) as aside:
                if request.in_part:
                    reached, trouble = converge_in_part(kernel, plan, goal, mine, aside.progress)
                else:
                    reached, trouble = converge(kernel, plan, goal, mine, aside.progress), None
                plan = concluded(kernel, plan, mine, reached.waiting)
                content = aside.result()
            if refused := (*request.refused, *keys_of((each.step for each in reached.refused), goal)):
                self._generations.amend(begun.number, content._replace(refused=refused))
            took_s = clock.since_boot() - started
            pending = self._commit(entry, before, content, took_s, request)
        except BaseException as error:  # whatever it is, what was there must not stay half changed
            self._undo(kernel, entry, before, mine, error, plan.watched)
            raise
        refusals = tuple(each.refusal for each in reached.refused)
        return Result(plan, begun.number, took_s, pending, refusals, trouble, request.back_to)

    def _opened(self, content: Content, plan: Plan, replaced: Replaced) -> tuple[Generation, Plan]:
        """Keep the next generation, and say where that is not all that going back needs."""
        begun = self._generations.open(content, clock.now(), replaced)
        if not self._generations.keeps(begun.number, replaced):
            plan = plan._replace(warnings=(*plan.warnings, _TOO_MUCH))
        return begun, plan

    def _begin(self, entry: Entry, before: Snapshot) -> None:
        """Write the journal; where it may be there and not on disk, nobody shall undo what was never begun."""
        try:
            self._journal.write(entry, before)
        except BaseException:
            self._journal.forget(entry)
            raise

    def _tell(self, number: int, content: Content, plan: Plan, back_to: int | None) -> Content:
        """Keep the plan of a generation in words, the last line of which is what the history shows."""
        back = "" if back_to is None else f"; back to generation {back_to}"
        told = content._replace(plan=present.text(plan) + back)
        self._generations.amend(number, told)
        return told

    def _commit(
        self, entry: Entry, before: Snapshot, content: Content, took_s: float, request: _Request
    ) -> Pending | None:
        if request.confirm_s is None:
            result, accepted = request.result, entry.accepted
            self._generations.finish(entry.generation, result, took_s, current=entry.number, accepted=accepted)
            self._journal.forget(entry)  # if it stays, who finds it knows that all of this is done
            self._write_names(content)
            return None
        self._generations.finish(entry.generation, UNCONFIRMED, took_s, current=entry.previous)
        self._journal.write(entry._replace(deadline=clock.since_boot() + request.confirm_s), before)
        return Pending(entry.number, request.confirm_s)

    def _accepted(self, begun: int, again: bool, request: _Request) -> int:
        """Which generation is accepted once the one that is ``begun`` is kept.

        Files are an operator's word, and so is going back; to have what is in effect ``again`` says nothing new.
        """
        accepted = self._generations.accepted
        if request.back_to is not None:
            return min(accepted, request.back_to)
        return accepted if again or request.repairs else begun

    def rollback(
        self,
        generation: int | None = None,
        *,
        confirm_s: float | None = None,
        allow: frozenset[str] = frozenset(),
        progress: Progress | None = None,
    ) -> Result:
        """Apply an earlier generation (0: nothing at all), or undo the change that waits or was interrupted.

        Without a number it is else the one before the current.  What it does not mention and
        later ones have changed is given back too, where it is still as they made it.

        Raises:
            UsageError: There is no such generation.
            GuardError, BusyError, JournalError, KernelError, VerifyError: As ``apply``.
        """
        said: tuple[str, ...] = ()
        if generation is None:
            generation, said = self._end_interrupted()
        undone = self._roll_back_pending() if generation is None else None
        result = undone or self._go_back(generation, _Request(None, confirm_s, allow, progress))
        warnings = (*said, *result.plan.warnings, *self._still_asked())
        return result._replace(plan=result.plan._replace(warnings=warnings))

    def _go_back(self, generation: int | None, request: _Request) -> Result:
        with self._changing(wait=request.in_part) as warnings, self._kernel() as kernel:
            if generation is None:
                generation = self._one_before()
            content = self._generations.content(generation)
            desired = configuration.bring_back(content)
            mine = self._mine()
            request = request._replace(warnings=warnings, back_to=generation, borrowed=content.borrowed)
            replaced = self._generations.replaced_since(generation)
            if not replaced.was:
                return self._change(kernel, desired, mine, None, request)
            actual = look(kernel, replaced.asked(desired.state), mine)
            whole = mine.joined(content)._replace(borrowed=mine.borrowed)  # by what is in effect alone
            goal: State | None = replaced.given_back(desired.state, actual, whole.owned(kernel.names), whole.hooks)
            tries = count(1)
            while goal:
                try:
                    return self._change(kernel, desired, mine, None, request._replace(goal=goal))
                except (KernelError, VerifyError) as error:
                    if self._journal.read():  # what was there is not back
                        raise
                    less = without_refused(goal, desired.state, error) if next(tries) < _TRIES else None
                    goal = less or without_theirs(goal)
                    what = "others had" if goal and not less else "later generations changed beside this one"
                    more = f"{'some of ' if less else ''}what {what} could not be given back: {error}"
                    request = request._replace(warnings=(*request.warnings, more))
            return self._change(kernel, desired, mine, None, request)

    def _one_before(self) -> int:
        if not self._generations.current:
            raise UsageError("nothing was applied yet")
        return self._generations.before(self._generations.current)

    def apply_again(self, *, progress: Progress | None = None) -> Result:
        """Bring back what is in effect, whatever the files say, as far as the kernel lets it come back.

        Raises:
            ConfigError, GuardError, BusyError, JournalError: As ``apply``.
        """
        return self._go_back(self._generations.current, _Request(progress=progress, in_part=True))

    def apart(self, state: Path) -> "Engine":
        """This engine, with what is in effect and all that is written down from here on in another directory.

        Raises:
            JournalError: There cannot be one either.
        """
        with told("write", state):
            shutil.rmtree(state, ignore_errors=True)
            state.mkdir(parents=True, mode=0o700)
        paths = self.paths._replace(state=state)
        apart = Engine(paths, netns=self.netns, session=self.session, trust=self._trust, connect=self._connect)
        if kept := self.in_effect_if_known():
            apart._generations.adopt(kept, self._generations.content(kept.number))
        return apart

    def repair(self, links: frozenset[str], progress: Progress | None = None) -> Result:
        """Bring ``links``, and what belongs to them, back to what was applied; leave the rest as it is.

        Raises:
            BusyError, GuardError, JournalError, KernelError, VerifyError: As ``apply``.
        """
        with self._changing() as warnings, self._kernel() as kernel:
            mine = self._mine()
            content = self._generations.content(self._generations.current)
            applied = configuration.in_effect(content)
            goal = only(applied, look(kernel, applied, mine), links)
            # What is kept is the whole: `goal` has what others made as if it were described.
            request = _Request(
                progress=progress, refused=content.refused, result=REPAIRED, warnings=warnings, goal=goal
            )
            return self._change(kernel, configuration.bring_back(content), mine, None, request)
