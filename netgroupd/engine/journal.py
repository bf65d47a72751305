# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal: what a change needs to be undone, on disk before the change begins.

One file, there only while a change runs or waits to be confirmed.  Written whole
and synced; what cannot be written stops the change before it begins.
"""

from pathlib import Path
from typing import NamedTuple

from netgroupd.engine import clock
from netgroupd.engine.disk import read_json, remove, write_json
from netgroupd.engine.report import Generation
from netgroupd.engine.snapshot import Snapshot
from netgroupd.errors import JournalError

_VERSION = 4


class Entry(NamedTuple):
    """A change: which generation it makes, of which, and what was there before.

    ``to_confirm``: it is not kept unless somebody says so.  ``deadline`` is 0 while
    it runs; then, in seconds since the boot ``boot``, when it is undone unless
    confirmed.
    """

    generation: Generation
    previous: int
    before: Snapshot
    boot: str
    to_confirm: bool = False
    deadline: float = 0.0

    @property
    def number(self) -> int:
        """The number of the generation."""
        return self.generation.number

    @property
    def is_of_this_boot(self) -> bool:
        """Whether what it did can still be there."""
        return self.boot == clock.boot_id()

    @property
    def seconds_left(self) -> float:
        """How long it still waits; 0 after its deadline or a restart of the host."""
        if not self.is_of_this_boot:
            return 0.0
        return max(0.0, self.deadline - clock.since_boot())


class Journal:
    """The journal of one network namespace."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "journal"

    def write(self, entry: Entry) -> None:
        """Keep ``entry``, in the place of what was kept.

        Raises:
            JournalError: It is not on disk.
        """
        plain = {**entry._asdict(), "version": _VERSION, "before": entry.before.to_json()}
        write_json(self._path, plain, packed=True)

    def read(self) -> Entry | None:
        """The change that has not come to its end.

        Raises:
            JournalError: The journal cannot be read or trusted.
        """
        plain = read_json(self._path, packed=True)
        if plain is None:
            return None
        if not isinstance(plain, dict) or plain.pop("version", None) != _VERSION:
            raise JournalError(f"{self._path} is of another version; move it away to go on without it")
        try:
            before = Snapshot.from_json(plain.pop("before"))
            return Entry(Generation(*plain.pop("generation")), **plain, before=before)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise JournalError(f"{self._path} makes no sense: {error}; move it away to go on without it") from error

    def close(self) -> None:
        """The change has come to its end, of which the generations tell: after a loss of power this may be back."""
        remove(self._path)
