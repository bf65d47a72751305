# SPDX-License-Identifier: GPL-2.0-or-later
"""What a template cannot have of other files, and how that is told."""

import os
from pathlib import Path

import pytest

from netgroupd.config import render_files
from netgroupd.config.facts import Facts
from netgroupd.config.sources import Trust

TRUST = Trust.of_user(os.getuid(), os.getgid())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


def told(place: Path, template: str) -> str:
    """The problem of a template."""
    (place / "10-a.mako").write_text(template)
    (problem,) = render_files([place], facts=Facts, trust=TRUST)[1]
    return str(problem._replace(file=Path(problem.file).name))


def test_file_in_a_directory_that_others_can_write_is_not_included(place: Path) -> None:
    (place / "vars").mkdir()
    (place / "vars/site.yaml").write_text("[a]")
    (place / "vars").chmod(0o777)
    assert told(place, "a: ${variables('vars/site.yaml')}") == (
        f"10-a.mako:1:4: the directory {place}/vars can be written by everybody (mode 0777); its files could be "
        "exchanged; give it to root and take the right to write from others"
    )


@pytest.mark.parametrize("value", ["!!bool x", '!!int ""', "!!timestamp x"])
def test_value_that_is_not_what_its_tag_says_is_told_of_its_file(place: Path, value: str) -> None:
    (place / "vars").mkdir()
    (place / "vars/site.yaml").write_text(f"a: {value}\n")
    want = "site.yaml:1:1: the variables file is not YAML: a value is not what its tag says; included from "
    assert told(place, "a: 1\nb: ${variables('vars/site.yaml')}").startswith(want)


def test_name_is_not_like_another_by_its_ending_alone(place: Path) -> None:
    (place / "12-hash.mako").touch()
    want = "10-a.mako:2:1: there is no file 'nosuch.mako' to include; looked in /"
    assert told(place, 'a: 1\n<%include file="nosuch.mako"/>').startswith(want)


def test_name_that_is_too_long_is_told_where_it_is_included(place: Path) -> None:
    name = f"{'x' * 300}.yaml"
    want = f"10-a.mako:2:1: there is no file '{name}' to include; looked in /"
    assert told(place, f'a: 1\n<%include file="{name}"/>').startswith(want)


def test_name_like_a_wrong_one_is_not_looked_for_in_all_of_a_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1500):
        (place / f"{number}").mkdir()
    looked, scandir = list[object](), os.scandir

    def counted(directory: str) -> object:
        looked.append(directory)
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", counted)
    assert "there is no file" in told(place, '<%include file="gone.yaml"/>')
    assert len(looked) <= 1100  # and some of netgroupd's own
