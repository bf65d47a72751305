# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the state: who may read them, what is left of one that could not be written, and what cannot be believed."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from netgroupd.engine.record.disk import (
    Lasting,
    read_json,
    remove,
    settle,
    to_bytes,
    told,
    write_atomically,
    write_json,
)
from netgroupd.errors import JournalError

WHOLE = to_bytes({"numbers": [*range(1000)]}, packed=True)


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_file_is_for_whom_it_is_said_to_be_whatever_was_left_there(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "state" / "file"
    write_atomically(path, b"first")
    assert path.stat().st_mode & 0o777 == 0o600
    left = tmp_path / "state" / "file.new"
    left.write_text("by one that was killed")
    left.chmod(0o666)
    write_atomically(path, b"then", mode=mode)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"then", mode)


def test_nobody_may_read_a_file_before_it_is_said_who_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(os, "fchmod", lambda file, _mode: seen.append(os.fstat(file).st_mode & 0o777))
    write_atomically(tmp_path / "file", b"keys", mode=0o644)
    assert seen == [0o600]


@pytest.mark.parametrize(("lasting", "synced"), [(Lasting.NOT_YET, 0), (Lasting.WHOLE, 1), (Lasting.FOR_GOOD, 2)])
def test_file_and_its_name_are_synced_as_far_as_they_are_to_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: Lasting, synced: int
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(os, "fsync", seen.append)
    write_json(tmp_path / "file", {"some": "thing"}, lasting)
    assert len(seen) == synced


def test_what_could_not_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    write_atomically(path, b"first")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match=f"cannot write {path}: No space left on device$"):
        write_atomically(path, b"then")
    assert path.read_bytes() == b"first"
    assert [*tmp_path.iterdir()] == [path]


def test_what_is_not_there_need_not_be_settled_or_removed(tmp_path: Path) -> None:
    settle(tmp_path / "file")
    remove(tmp_path / "file")
    assert read_json(tmp_path / "file") is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(WHOLE[:-20], id="cut_off"),
        pytest.param(WHOLE[:20] + bytes(20) + WHOLE[40:], id="written_over"),
        pytest.param(b"\0" * 64, id="zeros"),
        pytest.param(gzip.compress(b"null"), id="nothing"),
        pytest.param(gzip.compress(b"[" * 100_000), id="too_deep"),
        pytest.param(b"{not json", id="no_json"),
    ],
)
def test_file_that_holds_something_else_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=f"^{path} makes no sense: .+; move it away to go on without it$"):
        read_json(path)


@pytest.mark.parametrize(("number", "hint"), [(errno.EROFS, "; once it is writable, .+"), (errno.EACCES, "")])
def test_file_system_that_is_read_only_may_only_be_so_for_this_process(number: int, hint: str) -> None:
    with pytest.raises(JournalError, match=f"^cannot write a: {os.strerror(number)}{hint}$"), told("write", Path("a")):
        raise OSError(number, os.strerror(number))
