# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that ifupdown2 reads for one: those that are sourced, and those that are told of."""

from pathlib import Path

import pytest
import yaml

from tests.config.importing import Import, importing_in


@pytest.fixture
def importing(tmp_path: Path) -> Import:
    return importing_in(tmp_path)


def test_sourced_files_are_followed_and_read_once(importing: Import) -> None:
    got = importing(
        "source interfaces.d/*\nsource interfaces.d/1\n",
        **{f"interfaces.d/{number}": f"auto swp{number}\niface swp{number}\n mtu 1400\n" for number in (1, 2)},
    )
    assert got.text == "links:\n  swp[1-2]: {up: true, mtu: 1400}\n"


def test_every_word_of_a_source_line_is_followed(importing: Import) -> None:
    got = importing("source nothing.d/* more.d/*\n", **{"more.d/1": "auto x\niface x\n"})
    assert got.text == "links:\n  x: {up: true}\n"


def test_missing_sourced_file_is_told_and_the_others_are_taken(importing: Import) -> None:
    got = importing("source nowhere more\nauto x\niface x\n", more="auto y\niface y\n")
    assert yaml.safe_load(got.text)["links"].keys() == {"x", "y"}
    [problem] = got.problems
    assert problem.line == 1
    assert problem.message.endswith("/nowhere")


def test_directory_that_is_sourced_as_a_file_is_told(importing: Import) -> None:
    got = importing("source interfaces.d\n", **{"interfaces.d/1": "auto swp1\niface swp1\n"})
    [problem] = got.problems
    assert problem.message.endswith("interfaces.d is a directory")
    assert problem.hint.endswith("interfaces.d/*")


def test_sourced_directory_gives_the_files_that_ifupdown_takes(importing: Import) -> None:
    files = {f"interfaces.d/{name}": f"auto {name[:4]}\niface {name[:4]}\n" for name in ("swp1", "swp2~", "swp3.bak")}
    got = importing("source-directory interfaces.d\n", **files)
    assert yaml.safe_load(got.text) == {"links": {"swp1": {"up": True}}}
    told = [problem.message.rpartition("/")[2] for problem in got.problems]
    assert told == ["swp2~ is not read", "swp3.bak is not read"]


@pytest.mark.parametrize(
    ("text", "name", "hint"),
    [("auto swp1 swp9 swp8\niface swp1\n", "swp[8-9]", "leave it out, or write one"),
     ("auto eth1=home\niface home\n", "eth1=home", "write the names of links out"),
     ("auto /eth*\niface home\n", "/eth*", "write the names of links out")],
    ids=["none", "mapped", "pattern"],
)  # fmt: skip
def test_what_is_automatic_and_has_no_stanza_is_told(importing: Import, text: str, name: str, hint: str) -> None:
    [problem] = [told for told in importing(text).problems if "no iface" in told.message]
    assert (problem.line, problem.message, problem.hint) == (1, f"{name}: no iface stanza is about it", hint)


def test_stanza_of_an_alias_is_one_of_its_link(importing: Import) -> None:
    assert importing("auto a\niface a:1\n address 10.0.0.1/24\n").problems == ()
