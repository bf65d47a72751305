# SPDX-License-Identifier: GPL-2.0-or-later
"""A journal of which a disk kept something else: it is told as such, whatever it is."""

import gzip
import zlib
from pathlib import Path

import pytest

from netgroupd.engine import clock
from netgroupd.engine.engine import Engine
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.paths import Paths
from netgroupd.engine.record.journal import Entry, Journal
from netgroupd.engine.report import Generation
from netgroupd.errors import JournalError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object

BEFORE = Snapshot((Object("link", ("a",), {"kind": "dummy", "mtu": 1500}),), (("link", ("b",)),))
ENTRY = Entry(Generation(3, 7.5, "running", "", 0.0, 120), 2, 3, "boot")


def kept(directory: Path) -> tuple[Entry | None, Snapshot]:
    """All that the journal tells."""
    journal = Journal(directory)
    return journal.read(), journal.before()


@pytest.fixture
def written(tmp_path: Path) -> bytes:
    Journal(tmp_path).write(ENTRY, BEFORE)
    return (tmp_path / "journal").read_bytes()


def test_journal_with_a_bit_turned_is_the_entry_or_told_to_make_no_sense(tmp_path: Path, written: bytes) -> None:
    for place in range(len(written)):
        turned = bytearray(written)
        turned[place] ^= 1 << place % 8
        (tmp_path / "journal").write_bytes(turned)
        try:
            assert kept(tmp_path) == (ENTRY, BEFORE)
        except JournalError as error:
            assert "move it away" in str(error)  # noqa: PT017  # the header has bits that mean nothing


def test_journal_cut_off_anywhere_is_told_to_make_no_sense(tmp_path: Path, written: bytes) -> None:
    for size in range(len(written)):
        (tmp_path / "journal").write_bytes(written[:size])
        with pytest.raises(JournalError, match="move it away"):
            kept(tmp_path)


def test_journal_of_an_older_version_is_told_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(gzip.compress(b'{"version":4}'))
    with pytest.raises(JournalError, match="of another version"):
        Journal(tmp_path).read()


def test_journal_of_a_newer_version_is_told_to_be_one(tmp_path: Path, written: bytes) -> None:
    head, _, before = written.partition(b"\n")
    newer = head.partition(b" ")[2].replace(b'"version":5', b'"version":6')
    (tmp_path / "journal").write_bytes(b"%08x %b\n%b" % (zlib.crc32(newer), newer, before))
    with pytest.raises(JournalError, match="of another version"):
        Journal(tmp_path).read()


def test_journal_that_somebody_removes_while_it_is_read_is_told_to_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="makes no sense"):
        Journal(tmp_path).before()


def test_change_that_waits_is_told_without_what_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon asks for it while others wait for its answers."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/all.yaml").write_text("links: {d0: {kind: dummy}}")
    paths = Paths((tmp_path / "config",), tmp_path / "state", tmp_path / "group")
    kernel = FakeKernel()
    engine = Engine(paths, connect=lambda _netns: kernel)
    engine.apply(confirm_s=60)
    whole = (paths.state / "journal").read_bytes()
    (paths.state / "journal").write_bytes(whole.partition(b"\n")[0] + b"\nof which nothing is read")
    pending = engine.pending()
    assert pending is not None
    assert pending.generation == 1
    monkeypatch.setattr(clock, "boot_id", lambda: "another")
    assert engine.pending() == (1, 0.0)
    assert "ended with the host's restart" in str(engine.recover())
