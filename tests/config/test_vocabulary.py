# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of a template's own, without a template around them."""

import pytest

from netgroupd.config.document import parse_node
from netgroupd.config.worker.vocabulary import mac, to_yaml
from tests.config.reading import plain, report_on


@pytest.mark.parametrize("base", ["02:00:00:00:00:100", "02:00:00:00:00:-1", "02:00:00:00:00:", "02:00:00:00:00: 1"])
def test_octet_of_another_shape_makes_no_mac(base: str) -> None:
    with pytest.raises(ValueError, match="is not a MAC address such as 02:00:00:00:00:01"):
        mac(base, 0)


def test_octet_may_be_one_digit() -> None:
    assert mac("2:0:0:0:0:F", 1) == "02:00:00:00:00:10"


LETTERS = ["😀", "é", "\x7f", "\x85", "\x9f", "\u2028", "\u2029", "\ufeff", "\uffff", "\\", '"', "\n", "\x00"]


@pytest.mark.parametrize("letter", LETTERS, ids=ascii)
def test_text_written_for_yaml_is_read_back_the_same(letter: str) -> None:
    text = f"a: {to_yaml(f'uplink {letter}')}\nb: 1\n"
    report = report_on(text)
    assert plain(parse_node(text, 0, report)) == {"a": f"uplink {letter}", "b": "1"}


def test_half_of_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="is half of a character"):
        to_yaml({"alias": "\ud83d"})
