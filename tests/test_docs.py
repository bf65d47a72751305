# SPDX-License-Identifier: GPL-2.0-or-later
"""Every example in the documentation can be used, and gives what the text says it gives."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from jsonschema import Draft202012Validator

from netgroupd.config import desired_from
from netgroupd.config.facts import Facts, Hardware
from netgroupd.config.known import Known
from netgroupd.config.linemap import LineMap
from netgroupd.config.render import Limits, Rendered, render, shipped_templates
from netgroupd.config.sources import ROOT, Source

TOP = Path(__file__).parent.parent
DOCS = TOP / "docs"
CARDS = ("eth0", "eth1")
PORTS = tuple(f"swp{number}" for number in range(1, 7))
_EXAMPLE = re.compile(r"(?:^Gives ([^\n]*?)[.:][^\n]*\n\n)?^```(yaml|mako)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COUNT = re.compile(r"(\d+) (VLAN entries|VLAN settings|driver settings|\w+)")
_CLASSES = {
    "VLAN entries": "bridge_vlan",
    "address": "address",
    "addresses": "address",
    "VLAN settings": "vlan_global",
    "driver settings": "ethtool",
    "number": "sriov",
    "numbers": "sriov",
    "functions": "vf",
    "VNIs": "vni",
    "memberships": "mdb",
    "states": "mst",
    "token": "token",
    "tokens": "token",
    "classes": "tclass",
}


class Example(NamedTuple):
    """One example, and how many objects of which class it shall give."""

    page: str
    line: int
    language: str
    text: str
    counts: dict[str, int]


def examples() -> list[Example]:
    """All examples of all pages."""
    found = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text()
        for match in _EXAMPLE.finditer(text):
            counts = {_class(name): int(number) for number, name in _COUNT.findall(match[1] or "")}
            line = text.count("\n", 0, match.start(2)) + 1
            found.append(Example(page.name, line, match[2], match[3], counts))
    return found


def _class(name: str) -> str:
    return _CLASSES.get(name) or name.removesuffix("s")


def rendered(example: Example) -> Rendered:
    """The example as YAML."""
    source = Source(example.page, example.page, example.text)
    if example.language == "yaml":
        return Rendered(source, example.text, LineMap((source,)))
    facts = Facts("host", 1 << 30, tuple(Hardware(card, "e1000e", "02:00:00:00:00:01") for card in CARDS))
    source = source._replace(name="example.mako")
    done, problems = render([source], facts=lambda: facts, templates=[shipped_templates()], limits=Limits(), trust=ROOT)
    assert not problems, problems
    return done[0]


_EVERY = pytest.mark.parametrize("example", [pytest.param(one, id=f"{one.page}:{one.line}") for one in examples()])


@_EVERY
def test_example_gives_what_the_text_says_without_a_warning(example: Example) -> None:
    desired = desired_from([rendered(example)], Known((*CARDS, *PORTS)))
    assert desired.problems == ()
    state = desired.state
    got = {cls: len(objects) for cls, objects in state.classes.items()}
    assert {cls: got.get(cls, 0) for cls in example.counts} == example.counts


@pytest.fixture(scope="module")
def schema() -> Any:
    return Draft202012Validator(json.loads((TOP / "schemas" / "netgroup.schema.json").read_text()))


@_EVERY
def test_example_fits_the_schema(example: Example, schema: Any) -> None:
    assert [error.message for error in schema.iter_errors(yaml.safe_load(rendered(example).text))] == []
