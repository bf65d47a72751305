# SPDX-License-Identifier: GPL-2.0-or-later
"""A change in progress as an object on the bus: how far it is, and how it ended."""

import time

from netgroupd.errors import KernelError, NetgroupError, notes_of
from netgroupd.service.bus import sayable, signal
from netgroupd.service.interface import JOB, interface
from netgroupd.service.later import Later


class Job:
    """One Apply, Reload or Rollback; ``done`` of ``total`` messages are sent.

    The worker's thread only writes ``done`` and ``total``; ``tell`` runs in the
    main loop and sends what changed.
    """

    INTERFACE = interface(JOB)
    PropertiesChanged = signal()
    caller = 0

    def __init__(self, number: int, kind: str) -> None:
        self.number = number
        self.path = f"/org/netgroup1/job/{number}"
        self.outcome: Later[str] = Later()
        self.Kind = kind
        self.State = "queued"
        self.Done = 0
        self.Total = 0
        self.Result = ""
        self.Error = ""
        self.Refusals: list[tuple[str, int, str, str]] = []
        self.Started = 0
        self.notes: tuple[str, ...] = ()
        self.trouble: NetgroupError | None = None  # of one that is done, though not as it was asked for
        self._told = (0, 0)
        self._began_s = time.monotonic()

    @property
    def outcome_name(self) -> str:
        """How it ended in a word: "ok" or the name of the error."""
        if self.trouble is not None:
            return self.trouble.dbus_name
        return "ok" if self.State == "done" else self.Error

    @property
    def took_s(self) -> float:
        """How long it has been running, by the clock that does not jump."""
        return time.monotonic() - self._began_s

    def right(self, method: str, arguments: tuple[object, ...]) -> None:
        """Everybody may wait."""

    def Wait(self) -> Later[str]:
        """The result, when there is one."""
        return self.outcome

    def progress(self, done: int, total: int) -> None:
        """Note how far the work is; any thread may call it."""
        self.Done, self.Total = done, total

    def tell(self) -> None:
        """Signal progress that was not told yet."""
        if (self.Done, self.Total) != self._told:
            self._told = (self.Done, self.Total)
            self._changed("Done", "Total")

    def started(self) -> None:
        """The worker has begun."""
        self.State = "running"
        self.Started = time.time_ns() // 1000
        self._began_s = time.monotonic()
        self._changed("State", "Started")

    def succeeded(self, result: str) -> None:
        """The work is done and ``result`` is its outcome as JSON; who waits is answered by who calls this."""
        self.State, self.Result = "done", result
        self._changed("State", "Done", "Total", "Result")

    def failed(self, error: NetgroupError) -> None:
        """The work ended in ``error``."""
        self.State, self.Result, self.Error = "failed", sayable(str(error)), error.dbus_name
        self.notes = notes_of(error)
        if isinstance(error, KernelError):
            self.Refusals = [
                (sayable(each.what), each.errno, sayable(each.sentence), sayable(each.origin))
                for each in error.refusals
            ]
        self._changed("State", "Done", "Total", "Result", "Error", "Refusals")

    def _changed(self, *names: str) -> None:
        self.PropertiesChanged(JOB, {name: getattr(self, name) for name in names}, [])
