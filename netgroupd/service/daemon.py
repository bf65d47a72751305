# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: bring back what was interrupted, configure once after boot, then answer.

SIGHUP reloads.  SIGTERM ends the daemon and leaves the network as it is; a
change that runs or is being put back is finished first.  Starting again in the
same boot changes nothing by itself.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from gi.repository import Gio, GLib

from netgroupd import __version__
from netgroupd.engine.deadline import see_to_the_end
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import SYSTEM, configured_mark, within
from netgroupd.engine.session import CONSOLE, Session
from netgroupd.errors import NetgroupError, UsageError, short_of
from netgroupd.plan.fold import fold_names
from netgroupd.service.bus import Bus, sayable
from netgroupd.service.changes import Changes
from netgroupd.service.client import running
from netgroupd.service.drift import Damping, Drift, Recurring
from netgroupd.service.group import Group, path_of
from netgroupd.service.interface import ROOT
from netgroupd.service.job import Job
from netgroupd.service.journal import LOG, fields, log_error, start_logging
from netgroupd.service.methods import Manager
from netgroupd.service.metrics import Metrics
from netgroupd.service.notify import notify, reloading, watchdog_interval_s
from netgroupd.service.picture import Picture
from netgroupd.service.work import later, repeat

_RUNTIME = Path("/run/netgroup")
# What is left until a deadline and the time are read one after the other: no two sums of them are alike.
_SAME_US = 1_000_000
_LOOK_MS = 1000
_LONGEST_END_US = 1_800_000_000  # as long as a start may take, which would have to undo what is cut off


class Daemon:
    """The parts, and what each has to hear of the others."""

    def __init__(self, engine: Callable[[Session], Engine], runtime: Path, *, on_bus: bool = True) -> None:
        self._engine = engine
        self._on_bus = on_bus
        self._configured_mark = configured_mark(runtime, engine(CONSOLE).netns)  # there once the files were applied
        self._loop = GLib.MainLoop()
        self._metrics = Metrics(runtime / "metrics.prom")
        self._trouble = ""
        self._unrepaired = ""  # which no change that an operator asks for has anything to do with
        self._unseen = ""  # why it is not known what differs
        self._doubt = ""  # of what was configured at boot, until an operator says more
        self._groups: dict[str, Group] = {}
        self._changes = Changes(self._engine, self, runtime / "state")
        self._manager = Manager(self._engine, self._changes)
        address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SYSTEM, None)
        self._bus = Bus(address)
        self._drift = Drift(engine(CONSOLE), lambda: self._changes.running is not None, self._see, self._lose_sight)
        self._damping = Damping()
        self._drift_told = ""
        self._changes_from_outside = Recurring(_tell_drift)
        self._stopping = False

    def run(self) -> int:
        """Serve until SIGTERM."""
        for number, act in ((signal.SIGTERM, self.stop), (signal.SIGINT, self.stop), (signal.SIGHUP, self._hangup)):
            GLib.unix_signal_add(GLib.PRIORITY_HIGH, number, act)
        interval_s = watchdog_interval_s()
        if interval_s:
            repeat(int(interval_s * 1000), lambda: notify(WATCHDOG=1))
        self._configured_mark.parent.mkdir(parents=True, exist_ok=True)
        self._bus.publish(ROOT, self._manager)
        if self._on_bus:
            self._bus.start()
        notify(STATUS="looking for an interrupted change")
        self._changes.recover(self._configure)
        self._loop.run()
        self._bus.stop()
        return 0

    def job_started(self, job: Job) -> None:
        """Publish the job and say that it runs."""
        self._bus.publish(job.path, job)
        self._manager.JobNew(job.path)

    def job_runs(self, job: Job) -> None:
        """Say that it runs, though another may just have ended."""
        self._manager.change(State="changing")
        notify(STATUS=f"{job.Kind} {job.number} is running")

    def job_ended(self, job: Job) -> None:
        """Account for the job and take a new picture."""
        done = job.State == "done"
        if done:
            self._unseen = ""  # for who makes a change reads what is kept
        if done and job.Kind != "repair":
            self._doubt = str(job.trouble or "")
            with suppress(OSError):  # without the mark the next start only looks again
                self._configured_mark.write_text(self._doubt, encoding="utf-8", errors="backslashreplace")
        self._manager.JobEnded(job.path, job.State)
        kind, result = job.Kind, job.outcome_name
        self._metrics.add("netgroup_changes_total", kind=kind, result=result)
        self._metrics.add("netgroup_change_seconds_total", job.took_s, kind=kind)
        if result != "ok":
            self._metrics.add("netgroup_errors_total", error=result)
        self._manager.change(LastResult=result)
        mistyped = job.Kind == "rollback" and job.Error == UsageError.dbus_name  # a number that is not kept
        trouble = "" if done else _failure(job)
        if job.Kind == "repair" or not trouble:
            self._unrepaired = trouble
        self._tell(self._trouble if mistyped or job.Kind == "repair" else trouble)
        self._drift.renew()

    def job_forgotten(self, job: Job) -> None:
        """Take the job off the bus."""
        self._bus.withdraw(job.path)

    def waits(self) -> None:
        """Leave, where this comes out only after the daemon was to stop."""
        if self._stopping:
            self._loop.quit()

    def confirmed(self, generation: int) -> None:
        """Show what counts from now on, before who confirmed it is answered."""
        self._doubt = ""
        self._manager.change(Generation=generation)
        self.wait_ended("")

    def still_waits(self, seconds_left: float) -> None:
        """Show when the wait ends, as the clock tells now."""
        self._manager.change(ConfirmBy=self._due(seconds_left))

    def _due(self, seconds_left: float) -> int:
        by, shown = int((time.time() + seconds_left) * 1e6), self._manager.ConfirmBy
        return shown if abs(by - shown) < _SAME_US else by

    def wait_ended(self, sentence: str) -> None:
        """Show that nothing waits any more."""
        if sentence:
            self._metrics.add("netgroup_changes_total", kind="expiry", result="ok")
        self._manager.change(LastResult=sayable(sentence) or self._manager.LastResult)
        self._tell("")
        self._drift.renew()

    def _configure(self, trouble: str) -> None:
        if self._stopping:
            return
        if not self._configured_mark.exists():
            job = self._changes.configure()
            job.outcome.then(lambda _: self._ready(trouble, configured=True), lambda error: self._ready(str(error)))
        elif self._configured_mark.stat().st_size:  # another start has had something to say, which may still be so
            self._changes.doubt(lambda doubt: self._ready(trouble, doubt))
        else:
            self._ready(trouble)

    def _ready(self, trouble: str, doubt: str = "", *, configured: bool = False) -> None:
        self._doubt = self._doubt or doubt
        self._tell(trouble)
        notify(READY=1)
        LOG.info("netgroupd %s is ready", __version__)
        self._drift.start(configured=configured)

    def _tell(self, trouble: str) -> None:
        """Say where things stand, to systemd and on the bus."""
        self._trouble = trouble
        if self._changes.running is not None:
            return
        trouble = trouble or self._unrepaired or self._unseen or self._doubt
        try:
            pending = self._engine(CONSOLE).pending()
        except NetgroupError as error:
            pending, trouble = None, trouble or str(error)
        if pending and pending.seconds_left:
            self._changes.notice_wait()
        state = "unconfirmed" if pending else "failed" if trouble else "idle"
        by = self._due(pending.seconds_left) if pending else 0
        generation = self._in_effect()
        self._manager.change(Generation=generation, State=state, ConfirmBy=by, Trouble=sayable(trouble))
        self._metrics.set("netgroup_generation", generation)
        self._metrics.set("netgroup_failed", state == "failed")
        self._metrics.write()
        waits = f"generation {pending.generation} waits to be confirmed" if pending else ""
        notify(STATUS=trouble or waits or f"generation {generation}, {self._manager.Drift} differences")

    def _in_effect(self) -> int:
        """The number of the generation that counts, which no picture may have seen yet."""
        try:
            kept = self._engine(CONSOLE).in_effect()
        except NetgroupError:
            return self._manager.Generation
        return kept.number if kept else 0

    def _see(self, picture: Picture) -> None:
        """Show a new picture of what is owned, and do about drift what the configuration says."""
        self._unrepaired = self._unrepaired if picture.broken else ""
        self._unseen = ""
        self._show_groups(picture)
        self._show(picture)
        if picture.vanished:
            names = " ".join(fold_names(picture.vanished))
            LOG.warning("not there any more, and configured when it comes again: %s", names)
        # Of what differed before and differs still there is no news.
        if _changes_in(picture.lines) - _changes_in(self._drift_told):
            self._changes_from_outside.come((picture.lines, picture.drifted))
        self._drift_told = picture.lines
        if picture.broken:
            self._repair(picture.broken)

    def _lose_sight(self, trouble: str) -> None:
        self._unseen = trouble
        self._tell(self._trouble)

    def _repair(self, links: frozenset[str]) -> None:
        wait_s = self._damping.wait_s(time.monotonic())
        if wait_s:
            later(int(wait_s * 1000) + 1, self._drift.renew)
            return
        self._metrics.add("netgroup_repairs_total", len(links))
        self._changes.repair(links)

    def _show_groups(self, picture: Picture) -> None:
        for name in self._groups.keys() - picture.groups.keys():
            self._bus.withdraw(path_of(name))
            del self._groups[name]
        for name, members in picture.groups.items():
            if name in self._groups:
                self._groups[name].take(members)
            else:
                self._groups[name] = Group(members)
                self._bus.publish(path_of(name), self._groups[name])

    def _show(self, picture: Picture) -> None:
        self._manager.change(
            Groups=sorted(map(path_of, self._groups)),
            Counts=picture.counts,
            Features=list(picture.features),
            Drift=picture.drifted,
            Online=picture.online,
            Awaited=list(picture.awaited),
        )
        self._metrics.set("netgroup_drift_objects", picture.drifted)
        for name, count in picture.counts.items():
            self._metrics.set("netgroup_objects", count, **{"class": name})
        self._tell(self._trouble)

    def _hangup(self) -> bool:
        reloading()
        job = self._changes.reload()
        job.outcome.then(lambda _: notify(READY=1), lambda _: notify(READY=1))
        return True

    def stop(self) -> bool:
        """End when nothing is being changed any more; say whether to be asked again, as a GLib source wants it."""
        notify(STOPPING=1)
        if not self._stopping:
            self._stopping = True
            if self._asks_for_time():
                GLib.timeout_add(_LOOK_MS, self._asks_for_time)
            self._end()
        return bool(self._loop.is_running())

    def _asks_for_time(self) -> bool:
        """Ask systemd for the time that a change takes, once one has begun; say whether to look again."""
        begun = False
        with suppress(NetgroupError):
            begun = self._engine(CONSOLE).has_begun()
        if begun:
            notify(EXTEND_TIMEOUT_USEC=_LONGEST_END_US)
        return bool(self._loop.is_running()) and not begun

    def _end(self) -> None:
        running = self._changes.running
        if self._changes.waits_for:  # whoever comes next does what is left
            self._loop.quit()
        elif running is not None:
            running.outcome.then(lambda _: self._end(), lambda _: self._end())
        else:
            self._changes.finish(self._leave)

    def _leave(self) -> None:
        if self._changes.running is not None:  # it was asked for in the last moment
            self._end()
            return
        if self._manager.State == "unconfirmed":
            LOG.warning("a change waits to be confirmed; netgroup-deadline.service puts it back when its time is up")
        self._loop.quit()


def _failure(job: Job) -> str:
    """How a job failed, in one line."""
    first, _, more = job.Result.partition("\n")
    told = first + (" …" if more else "")
    return "; ".join((f"{job.Kind} failed{'' if job.notes else ', nothing was changed'}: {told}", *job.notes))


def _changes_in(lines: str) -> set[str]:
    """The lines of a plan but for the last, which counts them."""
    return set(lines.splitlines()[:-1])


def _tell_drift(drift: tuple[str, int], again: int) -> None:
    lines, count = drift
    what = f"changed from outside{f' again, {again:,} times' if again else ''}"
    LOG.warning("%s:\n%s", what, lines, extra=fields(drift=count))


def _finish(engine: Engine) -> int:
    # systemd starts this also on the way from one daemon to the next, which takes over.
    if said := see_to_the_end(engine, lambda: engine.netns is None and running()):
        LOG.warning("%s", said)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the daemon; what ``netgroupd`` starts."""
    parser = argparse.ArgumentParser(prog="netgroupd", description="Keep this host's network as /etc/netgroup says.")
    parser.add_argument("--version", action="version", version=f"netgroupd {__version__}")
    parser.add_argument("--netns", metavar="NAME", help="configure this network namespace instead of the host's")
    parser.add_argument("--finish", action="store_true", help="see a change that waits to its end, instead of running")
    parsed = parser.parse_args(arguments)
    start_logging()
    # What was done in this boot was done in one network namespace, and the name on the bus stands for the host's own.
    netns, runtime = parsed.netns, within(_RUNTIME, parsed.netns)
    try:
        if parsed.finish:
            return _finish(Engine(SYSTEM, netns=netns))
        return Daemon(lambda of: Engine(SYSTEM, netns=netns, session=of), runtime, on_bus=netns is None).run()
    except NetgroupError as error:
        log_error(error)
        return error.exit_code
    except OSError as error:  # not root, for instance
        log_error(short_of(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
