# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes, one after another: what is asked, what runs, what waits to be confirmed.

A second Apply or Rollback is refused while a change runs.  A reload waits for
its turn, and all reloads that wait are one.  The deadline of an unconfirmed
change is kept on disk by the engine; here only a timer waits for it.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from gi.repository import GLib

from netgroupd.engine.boot import configure
from netgroupd.engine.engine import Engine
from netgroupd.engine.login import believed
from netgroupd.engine.session import CONSOLE, Session
from netgroupd.errors import BusyError, NetgroupError, Problem
from netgroupd.service.answers import Answers, encode, ended, result_answer
from netgroupd.service.details import Answer, Options
from netgroupd.service.job import Job
from netgroupd.service.journal import LOG, fields, log_error, log_problem
from netgroupd.service.later import Later
from netgroupd.service.notify import long_silence
from netgroupd.service.work import Worker, in_main_loop, later, regardless, repeat

_TELL_MS = 200
_AGAIN_MS = 5_000
# GLib's timers stand still while the host sleeps, and a deadline does not; and who shows when it ends goes by a clock
# that may be set.
_LONGEST_MS = 5_000
_KEEP_S = 60
_Work = Callable[[Job], Answer]


class Audience(Protocol):
    """Who is told of the jobs: the bus, systemd, the metrics."""

    def job_started(self, job: Job) -> None:
        """A job was accepted."""

    def job_runs(self, job: Job) -> None:
        """Its turn has come."""

    def job_ended(self, job: Job) -> None:
        """A job is done or has failed."""

    def job_forgotten(self, job: Job) -> None:
        """Nobody needs the job any more."""

    def waits(self) -> None:
        """The change of somebody else is to end before anything is done here."""

    def confirmed(self, generation: int) -> None:
        """The change that waited is kept."""

    def still_waits(self, seconds_left: float) -> None:
        """A change waits to be confirmed; told every few seconds, for the clock may be set meanwhile."""

    def wait_ended(self, sentence: str) -> None:
        """The change that waited was undone, as ``sentence`` says, or ended in another way."""


class Changes:
    """The worker that changes things, and who may use it."""

    def __init__(self, engine: Callable[[Session], Engine], audience: Audience, spare: Path) -> None:
        """``spare`` is for the records of a boot where the disk takes none."""
        self._engine = engine
        self._audience = audience
        self._spare = spare
        self._worker = Worker("changes", 8, long_silence)
        self._numbers = itertools.count(1)
        self._deadline = 0
        self._tried = ""  # why it is tried again, which is told once
        self.running: Job | None = None
        self.waits_for = ""  # whose change is to end before anything is done here: it may be stopped, and take days
        self._waiting: dict[str, tuple[Job, _Work]] = {}  # those that will run next, one of each kind
        self._confirming: Later[str] | None = None

    def apply(self, options: Options) -> Job:
        """Apply the configuration.

        Raises:
            BusyError: A change runs already.
        """
        answers = self._answers(options)
        return self._begin("apply", lambda job: answers.apply(options, job.progress))

    def rollback(self, options: Options) -> Job:
        """Go back to an earlier generation.

        Raises:
            BusyError: A change runs already.
        """
        answers = self._answers(options)
        return self._begin("rollback", lambda job: answers.rollback(options, job.progress))

    def repair(self, links: frozenset[str]) -> Job:
        """Bring links back to what was applied.

        Raises:
            BusyError: A change runs already.
        """
        answers = self._answers({})
        return self._begin("repair", lambda job: answers.repair(links, job.progress))

    def reload(self) -> Job:
        """Apply the configuration as it is now, after what runs."""
        return self._in_turn("reload", self._reload_work)

    def configure(self) -> Job:
        """Bring up the network just after boot; ``trouble`` of the job says what the files ask for in vain."""
        return self._in_turn("start", self._configure_work)

    def doubt(self, then: Callable[[str], None]) -> None:
        """Call ``then`` with what is to be said if the files ask for what was rejected."""
        engine = self._engine(CONSOLE)
        self._worker.submit(
            engine.decided_against, lambda error: then(str(error or "")), lambda error: then(str(error))
        )

    def confirm(self) -> Later[str]:
        """Keep what waits to be confirmed; however many ask at once, the worker is asked once."""
        if self._confirming is not None:
            return self._confirming
        answered: Later[str] = Later()
        late: list[str] = []

        def work() -> Answer:
            engine = self._engine(CONSOLE)
            if said := engine.expire():  # which is told as if nobody had come
                LOG.warning("%s", said)
                late.append(said)
            return Answers(engine).confirm()

        def kept(answer: Answer) -> None:
            self._confirming = None
            self._arm(0)
            LOG.info("generation %s is confirmed", answer["generation"], extra=fields(**answer))
            self._audience.confirmed(answer["generation"])
            answered.settle(encode(answer))

        def refused(error: NetgroupError) -> None:
            self._confirming = None
            if late:
                self._arm(0)
                self._audience.wait_ended("; ".join(late))
            answered.refuse(error)

        self._confirming = answered
        self._worker.submit(work, kept, refused)
        return answered

    def finish(self, then: Callable[[], None]) -> None:
        """Call ``then`` when what is no job is done too: a confirmation, or what was not confirmed being put back."""
        self._worker.submit(lambda: None, lambda _: then(), lambda _: then())

    def recover(self, then: Callable[[str], None]) -> None:
        """End what an earlier daemon left: an interrupted change, a deadline; then call ``then`` with what failed."""

        def done(_sentences: tuple[str, ...]) -> None:
            self.watch_deadline()
            then("")

        def failed(error: NetgroupError) -> None:
            self._try_again(error)
            then(str(error))

        self._worker.submit(self._end_what_is_left, done, failed)

    def _end_what_is_left(self) -> tuple[str, ...]:
        """What is to be said of it, which the log says already."""
        engine = self._engine(CONSOLE)
        who = engine.changed_by() if engine.has_begun() else ""
        with self._waiting_for(who):
            sentences = tuple(filter(None, (engine.recover(), engine.expire())))
        if who and not sentences:
            kept = engine.in_effect()
            LOG.warning("the change of %s has ended; generation %s is in effect", who, kept.number if kept else 0)
        for sentence in sentences:
            LOG.warning("%s", sentence)
        return sentences

    @contextmanager
    def _waiting_for(self, who: str) -> Iterator[None]:
        self.waits_for = who
        if who:
            LOG.warning("waiting for the change of %s to end", who)
            in_main_loop(self._audience.waits)
        try:
            yield
        finally:
            self.waits_for = ""

    def watch_deadline(self) -> None:
        """Set the timer for the change that waits on disk, if there is one."""
        try:
            pending = self._engine(CONSOLE).pending()
        except NetgroupError as error:  # whoever waits for a job must not wait for the disk
            self._try_again(error)
            return
        if pending:
            self._audience.still_waits(pending.seconds_left)
        self._arm(max(1, int(pending.seconds_left * 1000)) if pending else 0)

    def notice_wait(self) -> None:
        """Set the timer for a change that another process has left waiting, of whose end there may be no news."""
        if not self._deadline:
            self.watch_deadline()

    def _answers(self, options: Options) -> Answers:
        return Answers(self._engine(believed(str(options.get("session", "")))))

    def _reload_work(self, job: Job) -> Answer:
        return self._answers({}).apply({}, job.progress)

    def _configure_work(self, job: Job) -> Answer:
        engine = self._engine(CONSOLE)
        if who := engine.changed_by():
            with self._waiting_for(who):
                engine.outwait()
        result = configure(engine, self._spare, job.progress)
        job.trouble = result.trouble
        return result_answer(result)

    def _job(self, kind: str) -> Job:
        job = Job(next(self._numbers), kind)
        self._audience.job_started(job)
        return job

    def _begin(self, kind: str, work: _Work) -> Job:
        if self.running is not None:
            raise BusyError(f"{self.running.Kind} {self.running.number} is running; wait for it, then ask again")
        job = self._job(kind)
        self._run(job, work)
        return job

    def _in_turn(self, kind: str, work: _Work) -> Job:
        """Begin now or after what runs; all of one kind that wait are one."""
        if kind in self._waiting:
            return self._waiting[kind][0]
        job = self._job(kind)
        if self.running is None:
            self._run(job, work)
        else:
            self._waiting[kind] = job, work
        return job

    def _run(self, job: Job, work: _Work) -> None:
        self.running = job
        regardless(job.started, lambda: self._audience.job_runs(job))
        timer = repeat(_TELL_MS, job.tell)

        def end(state: Callable[[], None], answer: Callable[[], None]) -> None:
            GLib.source_remove(timer)
            self.running = None
            told = (state, self.watch_deadline, lambda: self._audience.job_ended(job))
            # Who asked is answered last: what they do about it may be the next change.
            regardless(*told, self._run_what_waits, answer)
            later(_KEEP_S * 1000, lambda: self._audience.job_forgotten(job))

        def done(answer: Answer) -> None:
            if job.trouble is not None:
                log_error(job.trouble, job=job.number)
            for problem in answer["problems"]:
                log_problem(Problem(**problem), job=job.number)
            for warning in answer["warnings"]:
                LOG.warning("%s", warning, extra=fields(job=job.number))
            LOG.info("%s: %s", job.Kind, ended(answer), extra=fields(job=job.number, generation=answer["generation"]))
            result = encode(answer)
            end(lambda: job.succeeded(result), lambda: job.outcome.settle(result))

        def failed(error: NetgroupError) -> None:
            log_error(error, job.Kind, job=job.number)
            end(lambda: job.failed(error), lambda: job.outcome.refuse(error))

        self._worker.submit(lambda: work(job), done, failed)

    def _run_what_waits(self) -> None:
        if self._waiting:
            self._run(*self._waiting.pop(next(iter(self._waiting))))

    def _arm(self, milliseconds: int) -> None:
        if self._deadline:
            GLib.source_remove(self._deadline)
            self._deadline = 0
        if milliseconds:
            due = self._expire if milliseconds <= _LONGEST_MS else self._wait_on
            self._deadline = later(min(milliseconds, _LONGEST_MS), due)

    def _wait_on(self) -> None:
        self._deadline = 0
        self.watch_deadline()
        if not self._deadline:  # somebody else has ended the wait, and there is no news of that
            self._expire()

    def _expire(self) -> None:
        self._deadline = 0

        def done(sentences: tuple[str, ...]) -> None:
            self._tried = ""
            self._audience.wait_ended("; ".join(sentences))
            self.watch_deadline()

        self._worker.submit(self._end_what_is_left, done, self._try_again)

    def _try_again(self, error: NetgroupError) -> None:
        """Ask the disk later whether a change waits: it must not be kept because nobody looked."""
        if str(error) != self._tried:
            log_error(error)
        self._tried = str(error)
        self._arm(0)
        self._deadline = later(_AGAIN_MS, self._wait_on)
