# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guides show of importing and of mistakes is what comes out."""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from netgroupd.config.facts import Facts
from netgroupd.config.importer.ifupdown2 import import_files
from netgroupd.config.render import Limits, render
from netgroupd.config.sources import Source, Trust

DOCS = Path(__file__).parents[2] / "docs"
TRUST = Trust.of_user(os.getuid(), os.getgid())


class Pair(NamedTuple):
    """Two blocks of a page, one after the other."""

    line: int
    given: str
    shown: str


def pairs(page: str, first: str, second: str) -> list[Pair]:
    """Find the blocks of one language that a block of another follows."""
    text = (DOCS / page).read_text()
    shape = re.compile(rf"^```{first}\n((?:(?!```).*\n)*)```\n\n```{second}\n((?:(?!```).*\n)*)```$", re.MULTILINE)
    return [Pair(text.count("\n", 0, found.start()) + 1, found[1], found[2]) for found in shape.finditer(text)]


IMPORTS = pairs("from-ifupdown2.md", "interfaces", "yaml")
MISTAKES = pairs("templates.md", "template", "text")


def test_guides_have_their_examples() -> None:
    assert (len(IMPORTS), len(MISTAKES)) == (4, 2)


@pytest.mark.parametrize("pair", [pytest.param(pair, id=f"line{pair.line}") for pair in IMPORTS])
def test_import_gives_what_the_guide_shows(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "interfaces").write_text(pair.given)
    got = import_files([tmp_path / "interfaces"], facts=Facts, trust=TRUST)
    assert got.text.replace(f"{tmp_path}/", "") == pair.shown


@pytest.mark.parametrize("pair", [pytest.param(pair, id=f"line{pair.line}") for pair in MISTAKES])
def test_mistake_is_reported_as_the_guide_shows(pair: Pair) -> None:
    source = Source("10-example.mako", "10-example.mako", pair.given)
    _, problems = render([source], facts=Facts, templates=(), limits=Limits(), trust=TRUST)
    assert "".join(f"{problem}\n" for problem in problems) == pair.shown
