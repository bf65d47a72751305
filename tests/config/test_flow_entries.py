# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries on one line: most are a word to a value, and are read as one; any other as what it is."""

import pytest

from netgroupd.config.node import Mapping, Scalar
from netgroupd.config.report import Report
from netgroupd.config.sections.flow import FlowParser
from tests.instructions import instructions


def _read(text: str) -> tuple[object, int]:
    return FlowParser(text, 100, Report(())).parse()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("{a: b}", {"a": ("b", True)}),
        ("{a b : c d , e: f}", {"a b": ("c d", True), "e": ("f", True)}),
        ('{a: "b, c", d: ""}', {"a": ("b, c", False), "d": ("", False)}),
        ("{a: 'b''c', 'd': e}", {"a": ("b'c", False), "d": ("e", True)}),
        ("{a: fe80::1, b:c: d:e}", {"a": ("fe80::1", True), "b:c": ("d:e", True)}),
        ("{ }", {}),
    ],
)
def test_entries_are_words_and_their_values(text: str, want: dict[str, tuple[str, bool]]) -> None:
    node, end = _read(text)
    assert isinstance(node, Mapping)
    values = {key: entry.value for key, entry in node.entries.items()}
    assert {key: (value.text, value.plain) for key, value in values.items() if isinstance(value, Scalar)} == want
    assert end == len(text)
    at = {key: (entry.at - 100, values[key].at - 100) for key, entry in node.entries.items()}
    assert all(text[place:].lstrip("'").startswith(key) for key, (place, _) in at.items())
    assert all(text[place - 2 : place] == ": " for _, place in at.values())


@pytest.mark.parametrize(
    "text", ["{a: b", "{a: b,}", "{a: b, }", "{a:b}", "{<<: b}", "{a: b # c}", "{a: b: c}", "{a: *b}"]
)
def test_what_is_more_than_that_is_left_to_who_reads_all(text: str) -> None:
    assert _read(text)[0] is None


def test_entries_of_words_take_one_step_each() -> None:
    text = "{" + ", ".join(f'word{number}: "value"' for number in range(100)) + "}"
    assert instructions(lambda: _read(text)) < 200 * 100
