# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal: what a change needs to be undone, on disk before the change begins.

One file, there only while a change runs or waits to be confirmed.  Written whole
and synced; what cannot be written stops the change before it begins.  Its first line
tells of the change, with a checksum; behind it is what was there before, compressed,
which may be as much as a host has and which only putting it back needs.
"""

import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from netgroupd.engine import clock
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.record.disk import from_bytes, remove, senseless, sensible, to_bytes, told, write_atomically
from netgroupd.engine.report import Generation
from netgroupd.errors import JournalError
from netgroupd.kernel.netns import cookie_of

_VERSION = 5
_BEFORE_5 = b"\x1f\x8b"  # all of it was compressed
_LONGEST = 1 << 16  # of the first line
ANOTHER_LIFE = ""  # in place of a boot: the namespace is another one than the change was made in


class Entry(NamedTuple):
    """A change: which generation it makes, of which, and which is ``accepted`` once it is kept.

    ``to_confirm``: it is not kept unless somebody says so.  ``deadline`` is 0 while
    it runs; then, in seconds since the boot ``boot``, when it is undone unless
    confirmed.
    """

    generation: Generation
    previous: int
    accepted: int
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
    """The journal of one network namespace, and of one life of it: what is made anew has nothing left to undo."""

    def __init__(self, directory: Path, netns: str | None = None) -> None:
        self._path = directory / "journal"
        self._netns = netns

    def write(self, entry: Entry, before: Snapshot) -> None:
        """Keep ``entry``, and what was there ``before``, in the place of what was kept.

        Raises:
            JournalError: It is not on disk.
        """
        head = to_bytes({**entry._asdict(), "version": _VERSION, "life": self._life()})
        content = b"%08x %b\n%b" % (zlib.crc32(head), head, to_bytes(before.to_json(), packed=True))
        write_atomically(self._path, content)

    def read(self) -> Entry | None:
        """The change that has not come to its end; takes no longer where much was there before.

        Raises:
            JournalError: The journal cannot be read or trusted.
        """
        content = self._read(_LONGEST)
        if content is None:
            return None
        line = content.partition(b"\n")[0]
        if line.startswith(_BEFORE_5):
            raise self._is_of_another_version()
        checksum, _, head = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(head):
            raise senseless(self._path, "its first line is not what was written")
        plain = from_bytes(self._path, head)
        with sensible(self._path):
            if plain.pop("version") != _VERSION:
                raise self._is_of_another_version()
            life = plain.pop("life", 0)
            entry = Entry(Generation(*plain.pop("generation")), **plain)
        return entry._replace(boot=ANOTHER_LIFE) if life and life != self._life() else entry

    def before(self) -> Snapshot:
        """What was there before the change.

        Raises:
            JournalError: The journal cannot be read or trusted.
        """
        content = self._read() or b""
        plain = from_bytes(self._path, content.partition(b"\n")[2], packed=True)
        with sensible(self._path):
            return Snapshot.from_json(plain)

    def _read(self, most: int = -1) -> bytes | None:
        with told("read", self._path):
            try:
                with self._path.open("rb") as file:
                    return file.read(most)
            except FileNotFoundError:
                return None

    def _life(self) -> int:
        with told("read", self._path):
            return cookie_of(self._netns)

    def _is_of_another_version(self) -> JournalError:
        told = "is of another version, which alone can put back what was there before its change"
        return JournalError(f"{self._path} {told}; move it away to go on from what is there now")

    def close(self) -> None:
        """The change has come to its end, of which the generations tell: after a loss of power this may be back."""
        remove(self._path)

    def forget(self, entry: Entry) -> None:
        """Close it where it is about ``entry``, as far as the disk lets that happen."""
        with suppress(JournalError):
            there = self.read()
            if there and there.number == entry.number:
                self.close()
