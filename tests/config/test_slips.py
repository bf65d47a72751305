# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tired hand writes that YAML reads as something else: what would be right is told."""

import pytest

from tests.config.reading import told

SLIPS = [
    pytest.param(
        "links:\n  lo: {up:true}\n",
        "2:8: unknown key 'up:true'; a blank must follow the colon: up: true",
        id="no_blank",
    ),
    pytest.param(
        "links:\n  lo:\n    up:true\n",
        "3:5: 'lo' must be a mapping of attributes, not the text 'up:true'; a blank must follow the colon: up: true",
        id="no_blank_behind_the_only_colon",
    ),
    pytest.param(
        "links:\n  lo:\n  up: true\n",
        "3:7: 'up' must be a mapping of attributes, not the text 'true'; "
        "'up' is an attribute: indent it below the link that it is of",
        id="attribute_beside_its_link",
    ),
    pytest.param(
        "links:\n  lo: {addresses: 10.0.0.1/24, 10.0.0.2/24}\n",
        "2:32: unknown key '10.0.0.2/24'; "
        "it has no value; where it is one of several values, these are a list: [one, another]",
        id="values_without_brackets",
    ),
    pytest.param(
        "links:\n  lo:\n    addresses: 10.0.0.1/24, 10.0.0.2/24\n",
        "3:16: address: expected one, not the text '10.0.0.1/24, 10.0.0.2/24'; "
        "several are a list: [10.0.0.1/24, 10.0.0.2/24]",
        id="values_in_one_text",
    ),
]


@pytest.mark.parametrize(("text", "want"), SLIPS)
def test_slip_is_told_with_what_is_right(text: str, want: str) -> None:
    assert f"a.yaml:{want}" in told(text)
