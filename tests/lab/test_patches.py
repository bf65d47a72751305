# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree holds what the series says, and only what changed was written."""

from pathlib import Path

import pytest

from netgroupd.errors import LabError
from netgroupd.lab.patches import Patch, apply_series, read_series

LINES = "".join(f"line {number}\n" for number in range(1, 31))
CHANGE_LINE_2 = b"""\
From 1 Mon Sep 17 00:00:00 2001
Subject: [PATCH] core: change a line

---
 a.c | 2 +-

--- a/a.c
+++ b/a.c
@@ -1,4 +1,4 @@
 line 1
-line 2
+changed
 line 3
 line 4
"""
NEW_FILE = b"""\
--- /dev/null
+++ b/new/b.c
@@ -0,0 +1 @@
+fresh
"""
BROKEN = b"""\
--- a/a.c
+++ b/a.c
@@ -1,4 +1,4 @@
 line 1
-line 2
+first hunk
 line 3
 line 4
@@ -20,3 +20,3 @@
 line 20
-not in the file
+second hunk
 line 22
"""


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """Return a pristine tree and a copy of it."""
    for name in ("stock", "patched"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.c").write_text(LINES)
        (tmp_path / name / "other.c").write_text("other\n")
    return tmp_path / "stock", tmp_path / "patched"


def _series(*contents: bytes) -> list[Patch]:
    return [Patch(Path(f"000{number}.patch"), content) for number, content in enumerate(contents, 1)]


def test_series_is_applied_in_order(trees: tuple[Path, Path]) -> None:
    stock, patched = trees
    assert apply_series(_series(CHANGE_LINE_2, NEW_FILE), stock, patched) == 2
    assert (patched / "a.c").read_text() == LINES.replace("line 2\n", "changed\n", 1)
    assert (patched / "new/b.c").read_text() == "fresh\n"
    assert (stock / "a.c").read_text() == LINES


def test_second_time_writes_nothing(trees: tuple[Path, Path]) -> None:
    apply_series(_series(CHANGE_LINE_2), *trees)
    assert apply_series(_series(CHANGE_LINE_2), *trees) == 0


def test_patch_taken_out_of_the_series_is_undone(trees: tuple[Path, Path]) -> None:
    apply_series(_series(CHANGE_LINE_2, NEW_FILE), *trees)
    assert apply_series([], *trees) == 2
    assert (trees[1] / "a.c").read_text() == LINES
    assert not (trees[1] / "new/b.c").exists()


def test_broken_patch_is_named_with_its_hunk_and_changes_nothing(trees: tuple[Path, Path]) -> None:
    with pytest.raises(LabError) as caught:
        apply_series(_series(NEW_FILE, BROKEN), *trees)
    assert "0002.patch does not apply" in str(caught.value)
    assert "a.c: Hunk #2 FAILED at 20." in str(caught.value)
    assert "Hunk #1" not in str(caught.value)
    assert not (trees[1] / "new/b.c").exists()
    assert (trees[1] / "a.c").read_text() == LINES


def test_patch_that_is_in_already_is_refused(trees: tuple[Path, Path]) -> None:
    with pytest.raises(LabError, match=r"a\.c: Hunk #1 FAILED"):
        apply_series(_series(CHANGE_LINE_2, CHANGE_LINE_2), *trees)


def test_interrupted_copy_is_made_good_by_the_next(trees: tuple[Path, Path]) -> None:
    apply_series(_series(CHANGE_LINE_2), *trees)
    (trees[1] / "a.c").write_text("half wri")
    apply_series(_series(CHANGE_LINE_2), *trees)
    assert (trees[1] / "a.c").read_text() == LINES.replace("line 2\n", "changed\n", 1)


def test_series_file_may_have_comments_and_options(tmp_path: Path) -> None:
    (tmp_path / "0001.patch").write_bytes(CHANGE_LINE_2)
    (tmp_path / "series").write_text("# the first\n\n0001.patch -p1  # why\n")
    assert [patch.path.name for patch in read_series(tmp_path / "series")] == ["0001.patch"]


def test_absent_series_is_an_empty_one(tmp_path: Path) -> None:
    assert read_series(tmp_path / "series") == ()


def test_series_that_lists_a_missing_patch_says_which(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("0001.patch\n")
    with pytest.raises(LabError, match=r"lists 0001\.patch, which is not there"):
        read_series(tmp_path / "series")
