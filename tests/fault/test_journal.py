# SPDX-License-Identifier: GPL-2.0-or-later
"""A journal of which a disk kept something else: it is told as such, whatever it is."""

from pathlib import Path

import pytest

from netgroupd.engine.journal import Entry, Journal
from netgroupd.engine.report import Generation
from netgroupd.engine.snapshot import Snapshot
from netgroupd.errors import JournalError
from netgroupd.model.state import Object

BEFORE = Snapshot((Object("link", ("a",), {"kind": "dummy", "mtu": 1500}),), (("link", ("b",)),))
ENTRY = Entry(Generation(3, 7.5, "running", "", 0.0, 120), 2, BEFORE, "boot")


@pytest.fixture
def written(tmp_path: Path) -> bytes:
    Journal(tmp_path).write(ENTRY)
    return (tmp_path / "journal").read_bytes()


def test_journal_with_a_bit_turned_is_the_entry_or_told_to_make_no_sense(tmp_path: Path, written: bytes) -> None:
    for place in range(len(written)):
        turned = bytearray(written)
        turned[place] ^= 1 << place % 8
        (tmp_path / "journal").write_bytes(turned)
        try:
            assert Journal(tmp_path).read() == ENTRY
        except JournalError as error:
            assert "move it away" in str(error)  # noqa: PT017  # the header has bits that mean nothing


def test_journal_cut_off_anywhere_is_told_to_make_no_sense(tmp_path: Path, written: bytes) -> None:
    for size in range(len(written)):
        (tmp_path / "journal").write_bytes(written[:size])
        with pytest.raises(JournalError, match="move it away"):
            Journal(tmp_path).read()
