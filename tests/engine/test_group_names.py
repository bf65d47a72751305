# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of groups that are written for ip, beside those of others."""

import os
from pathlib import Path

import pytest

from netgroupd.engine.group_names import write_names


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "group"
    path.write_text("0\tdefault\n")
    write_names(path, {"lab": 77})
    return path


def test_lines_of_others_before_and_behind_ours_stay(table: Path) -> None:
    table.write_text(f"{table.read_text()}9\tmine\n")
    write_names(table, {})
    assert table.read_text() == "0\tdefault\n9\tmine\n"


@pytest.mark.parametrize("end", ["\f", "\v", "\x1c", "\x85", "\u2028", "\r"], ids=ascii)
def test_lines_of_others_stay_whole_where_other_letters_end_lines_elsewhere(table: Path, end: str) -> None:
    theirs = f"9\tmine # once{end}10\tyours{end}\n".encode()
    table.write_bytes(table.read_bytes() + theirs)
    write_names(table, {"guests": 78})
    assert theirs in table.read_bytes()
    write_names(table, {})
    assert table.read_bytes() == b"0\tdefault\n" + theirs


@pytest.mark.parametrize("again", [False, True], ids=["no_end", "another_beginning"])
def test_lines_of_others_stay_where_the_end_of_ours_is_lost(table: Path, again: bool) -> None:
    *begun, end = table.read_text().splitlines()
    table.write_text("\n".join([*begun, "9\tmine", *([begun[1], "78\tguests", end] if again else []), "10\tyours"]))
    write_names(table, {"guests": 78})
    lines = table.read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "0\tdefault",
        "77\tlab",
        "9\tmine",
        "10\tyours",
        "78\tguests",
    ]
    write_names(table, {})
    assert table.read_text() == "0\tdefault\n77\tlab\n9\tmine\n10\tyours\n"


def test_everybody_who_could_read_the_table_can_read_it_still(table: Path) -> None:
    table.chmod(0o664)
    link = table.with_name("link")
    link.symlink_to(table.name)
    before = os.umask(0o077)
    try:
        write_names(link, {"guests": 78})
        write_names(table.with_name("new"), {"guests": 78})
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert "guests" in table.read_text()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (table, table.with_name("new"))}
    assert modes == {"group": 0o664, "new": 0o644}
