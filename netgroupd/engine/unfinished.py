# SPDX-License-Identifier: GPL-2.0-or-later
"""A change that is in the journal -> kept, or what was there before it.

It was interrupted, or waits to be confirmed; apart from the engine, which makes
the changes, since this is what ends them whoever comes next: the start of the
daemon, an administrator's word, or the next change.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netgroupd.engine import clock, configuration
from netgroupd.engine.files import Files
from netgroupd.engine.group_names import write_names
from netgroupd.engine.kept.giving_back import joined
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.kept.theirs import give_back
from netgroupd.engine.observe import Connection, Mine
from netgroupd.engine.paths import states
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.record.generations import APPLIED, CUT_OFF, FAILED, INTERRUPTED, ROLLED_BACK, Content, Generations
from netgroupd.engine.record.journal import ANOTHER_LIFE, Entry
from netgroupd.engine.record.lock import A_MOMENT_S, AS_LONG_AS_IT_TAKES, holder, locked
from netgroupd.engine.report import Pending, Result
from netgroupd.engine.transaction import plan_now
from netgroupd.engine.uninterrupted import uninterrupted
from netgroupd.errors import (
    BusyError,
    JournalError,
    KernelError,
    NetgroupError,
    UsageError,
    VerifyError,
    short_of,
)

_NAMES_S = 5.0
_IS_UNDONE = "interrupted, and what was there before is back"
_IS_BACK = "what was there before is back, but that could not be written down"


class Unfinished(Files):
    """How a change that was begun comes to its end."""

    @property
    def _lock(self) -> Path:
        """The file that is held while something is changed."""
        return self.paths.state / "lock"

    @contextmanager
    def _changing(self, *, wait: bool = False) -> Iterator[tuple[str, ...]]:
        """Hold the lock, with no change before this one left unfinished; yields what could not be put back.

        What the kernel refuses to take back it may refuse for ever: whoever asks for
        something else then must get it.
        """
        with locked(self._lock, wait_s=AS_LONG_AS_IT_TAKES if wait else A_MOMENT_S):
            warnings: tuple[str, ...] = ()
            if entry := self._journal.read():
                if entry.deadline and entry.seconds_left:
                    raise BusyError(f"generation {entry.number} waits to be confirmed or rolled back")
                try:
                    self._resolve(entry)
                except (KernelError, VerifyError) as error:
                    warnings = (f"what was there before generation {entry.number} could not be put back: {error}",)
                    # Until the change is under way the journal tells what is to be looked after.
                    self._generations.finish(entry.generation, FAILED, current=entry.previous)
            yield warnings

    def pending(self) -> Pending | None:
        """The change that waits to be confirmed."""
        entry = self._journal.read()
        return Pending(entry.number, entry.seconds_left) if entry and entry.deadline else None

    def has_begun(self) -> bool:
        """Whether a change is under way, waits, or was cut off."""
        return self._journal.read() is not None

    def changed_by(self) -> str:
        """Which process is at a change just now, in words; "" if none is."""
        return holder(self._lock)

    def outwait(self) -> None:
        """Let the change that another process makes just now come to its end."""
        with suppress(JournalError), locked(self._lock, wait_s=AS_LONG_AS_IT_TAKES):
            pass

    def confirm(self) -> int:
        """Keep the change that waits; return its generation.

        Raises:
            UsageError: None waits.
        """
        with locked(self._lock):
            entry = self._journal.read()
            if entry is None or not entry.deadline:
                last = next(iter(self._generations.all()), None)
                late = f"; generation {last.number} was {ROLLED_BACK}" if last and last.result == ROLLED_BACK else ""
                raise UsageError(f"no change waits to be confirmed{late}")
            if not entry.seconds_left:
                raise UsageError(self._resolve(entry))
            self._keep(entry)
            return entry.number

    def expire(self) -> str | None:
        """Undo the change that waits if its time is over, and say so."""
        entry = self._journal.read()
        if entry is None or not entry.deadline or entry.seconds_left:
            return None
        return self.recover()

    def recover(self) -> str | None:
        """Bring an interrupted change to its end, old or new, and say which; after who does that already."""
        if self._journal.read() is None:
            return None
        with locked(self._lock, wait_s=AS_LONG_AS_IT_TAKES):
            entry = self._journal.read()
            if entry is None or (entry.deadline and entry.seconds_left):
                return None
            said = self._resolve(entry)
        return "; ".join((said, *self._still_asked())) if entry.is_of_this_boot else said

    def forget_attempt(self) -> None:
        """Let nobody undo once more a change that was undone, of which only that could not be written down."""
        with suppress(JournalError):
            entry = self._journal.read()
            if entry and entry.is_of_this_boot and not entry.to_confirm:
                self._journal.close()

    def _end_interrupted(self) -> tuple[int | None, tuple[str, ...]]:
        """End a change that does not wait any more; return which generation is back, if one is, and what is to be said.

        Of one that had waited when the host restarted there is nothing left to undo.
        """
        with locked(self._lock):
            entry = self._journal.read()
            if entry is None or (entry.deadline and entry.is_of_this_boot):
                return None, ()
            said = ""
            with suppress(KernelError, VerifyError):  # who goes back tries again, and tells
                said = self._resolve(entry, undone=ROLLED_BACK)
            is_back = self._generations.current == entry.previous
            return (entry.previous if is_back else None), ((said,) if said else ())

    def _roll_back_pending(self) -> Result | None:
        with locked(self._lock):
            entry = self._journal.read()
            if entry is None or not entry.deadline:
                return None
            started = clock.since_boot()
            with self._kernel() as kernel:
                mine = self._mine()
                plan = put_back(kernel, self._journal.before(), mine)
            self._close_put_back(entry, ROLLED_BACK)
        return Result(plan, entry.previous, clock.since_boot() - started)

    def _resolve(self, entry: Entry, *, undone: str = CUT_OFF) -> str:
        """End the change that ``entry`` tells of: new where all of it is done, or else old, and ``undone``."""
        number = entry.number
        if not entry.is_of_this_boot:
            end = "its network namespace" if entry.boot == ANOTHER_LIFE else "the host's restart"
            if self._generations.has_ended(number):
                said = f"generation {number} had ended before {end}"
            else:
                said = f"generation {number} ended with {end}"
                result = ROLLED_BACK if entry.to_confirm else INTERRUPTED
                self._generations.finish(entry.generation, result, current=entry.previous)
            self._journal.close()
            return f"{said}; generation {self._generations.current} is in effect"
        if self._generations.current == number:  # all but the end of the journal was written down
            self._keep(entry)
            return f"generation {number} had ended, and is kept"
        with self._kernel() as kernel:
            mine = self._mine()
            before = self._journal.before()
            if not entry.to_confirm and self._is_done(kernel, number, mine):
                lost = give_back(kernel, before.passing, mine)
                self._keep(entry)
                return "; ".join((f"generation {number} was interrupted when all was done, and is kept", *lost))
            with uninterrupted():
                lost = put_back(kernel, before, mine).warnings
                self._close_put_back(entry, ROLLED_BACK if entry.to_confirm else undone)
        why = "was not confirmed in time" if entry.deadline else "was interrupted"
        return "; ".join((f"generation {number} {why}, and is rolled back to generation {entry.previous}", *lost))

    def _is_done(self, kernel: Connection, number: int, mine: Mine) -> bool:
        try:
            goal = configuration.in_effect(self._generations.content(number))
            # One that goes back changes more than its text mentions.
            goal = joined(goal, self._generations.replaced(number).made)
            return not plan_now(kernel, goal, mine)[0].steps
        except NetgroupError:
            return False

    def _keep(self, entry: Entry) -> None:
        content = self._generations.content(entry.number)
        self._generations.amend(entry.number, content)
        self._generations.finish(entry.generation, APPLIED, current=entry.number, accepted=entry.accepted)
        self._journal.close()
        self._write_names(content)

    def _write_names(self, content: Content) -> None:
        """A comfort for users of ip: where /etc cannot be written, what was applied counts.

        So it does where a process of another namespace was stopped while it wrote.
        """
        with suppress(JournalError, BusyError), locked(self._root / "names.lock", wait_s=_NAMES_S):
            write_names(self.paths.group_names, self._names_everywhere(content))

    def _names_everywhere(self, content: Content) -> dict[str, int]:
        """The groups of ``content`` and of what is in effect in other namespaces, for ip's table is one for all."""
        names: dict[str, int] = {}
        for directory in states(self._root):
            kept = Generations(directory)
            with suppress(JournalError, UsageError):  # another namespace's records are not this one's trouble
                groups = content.groups if directory == self.paths.state else kept.content(kept.current).groups
                names = {**groups, **names}
        return names

    def _undo(
        self,
        kernel: Connection,
        entry: Entry,
        before: Snapshot,
        mine: Mine,
        cause: BaseException,
        watched: tuple[str, ...],
    ) -> None:
        """Put back what was there ``before`` the change; if that fails, the journal stays for the next attempt."""
        trouble = "what was there before could not be put back either"
        try:
            with uninterrupted():
                warnings = put_back(kernel, before, mine).warnings
                trouble = _IS_BACK
                self._close(entry, _result_after(cause))
            ended = (_IS_UNDONE,) if isinstance(cause, KeyboardInterrupt) else ()
            if told := (*ended, *warnings, *watched):
                cause.add_note("\n".join(told))
        except (NetgroupError, OSError, MemoryError) as error:
            cause.add_note(f"{trouble}: {error if isinstance(error, NetgroupError) else short_of(error)}")

    def _still_asked(self) -> tuple[str, ...]:
        """What is to be said of the files where they ask for what has just been undone; nothing if they are wrong."""
        with suppress(NetgroupError, OSError):
            if error := self.decided_against():
                return (str(error),)
        return ()

    def _close(self, entry: Entry, result: str) -> None:
        """The generation before ``entry`` is in effect again."""
        try:
            self._generations.finish(entry.generation, result, current=entry.previous)
        except JournalError:
            # What is undone must not be confirmed any more, nor undone once more where nothing speaks against it.
            if entry.to_confirm or result == INTERRUPTED:
                self._journal.forget(entry)
            raise
        self._journal.close()

    def _close_put_back(self, entry: Entry, result: str) -> None:
        """The same, of one that is put back already.

        Raises:
            JournalError: All that is left is to write it down, on which the history alone depends.
        """
        try:
            self._close(entry, result)
        except JournalError as error:
            error.add_note(_IS_BACK)
            raise


def _result_after(cause: BaseException) -> str:
    """How a change ended that is undone; that a disk was full says nothing against it."""
    return INTERRUPTED if isinstance(cause, (OSError, JournalError)) else FAILED
