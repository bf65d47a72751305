# SPDX-License-Identifier: GPL-2.0-or-later
"""What is documented and what is shipped, on a real kernel: it is reached, and captured as something usable."""

import re
from pathlib import Path

import pytest

from netgroupd.config import desired_from
from netgroupd.config.known import Known
from netgroupd.config.render import shipped_templates
from netgroupd.plan import present
from tests.config.reading import rendered
from tests.test_docs import CARDS, Example, examples
from tests.vm.hosts import EngineIn, here
from tests.vm.random_edits import without_cards

CARDS_AND_PORTS = (*CARDS, *(f"swp{number}" for number in range(1, 9)))
_LET_GO = re.compile(r"~ .*  group 0 -> netgroupd(?: \(\d+\))?|\d+ to change; .*|no differences")


def _shipped() -> list[Example]:
    found = sorted(shipped_templates().glob("*.mako"))
    return [Example(f"templates/{path.name}", 1, "mako", Path(path).read_text(), {}) for path in found]


EXAMPLES = without_cards([*examples(), *_shipped()])


def test_examples_are_found() -> None:
    assert sum(name.startswith("cookbook.md") for name in EXAMPLES) >= 25
    assert sum(name.startswith("templates/") for name in EXAMPLES) >= 4


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_reached_and_captured(engine_in: EngineIn, name: str) -> None:
    text = EXAMPLES[name]
    engine_in("here", "{}")
    described = desired_from([rendered(text)], Known(CARDS_AND_PORTS)).state
    for card in CARDS_AND_PORTS:
        if not ((link := described.link(card)) and link.attrs.get("kind")):
            here(f"ip link add {card} numtxqueues 4 type dummy")
    engine_in("here", text).apply()
    assert present.text(engine_in("here", text).diff()) == "no differences"
    again = engine_in("here", text).capture()
    left = present.text(engine_in("here", again).diff()).splitlines()
    assert [line for line in left if not _LET_GO.fullmatch(line)] == [], again
