# SPDX-License-Identifier: GPL-2.0-or-later
"""ifupdown2's ranges: names, numbers, and folding."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netgroupd.config.notations import fold, names, numbers

NAMES = [
    pytest.param("swp1-3", ["swp1", "swp2", "swp3"], id="dash"),
    pytest.param("glob swp1-2.100", ["swp1.100", "swp2.100"], id="glob_with_vlan"),
    pytest.param("swp[1-2].100", ["swp1.100", "swp2.100"], id="brackets"),
    pytest.param("swp1.[9-11]", ["swp1.9", "swp1.10", "swp1.11"], id="range_of_vlans"),
    pytest.param("swp[1-2]sub[0-1].300", ["swp1sub0.300", "swp1sub1.300", "swp2sub0.300", "swp2sub1.300"], id="two"),
    pytest.param("swp1 glob swp3-4 bond0", ["swp1", "swp3", "swp4", "bond0"], id="list"),
    pytest.param("br-1000 eth0", ["br-1000", "eth0"], id="a_dash_that_is_no_range"),
    pytest.param("", [], id="nothing"),
]


@pytest.mark.parametrize(("text", "want"), NAMES)
def test_names(text: str, want: list[str]) -> None:
    assert list(names(text)) == want


@pytest.mark.parametrize("text", ["1000-1002,2000", "1000-1002 2000", "1000-1002, 2000"])
def test_numbers(text: str) -> None:
    assert numbers(text) == (1000, 1001, 1002, 2000)


@pytest.mark.parametrize("text", ["1-", "a", "1-2-3", "5-1", "1-99999999999", "-1"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        numbers(text)


@pytest.mark.parametrize("text", ["swp6-1", "swp[1-9999999]", "a[1-1000]b[1-1001]"])
def test_names_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        names(text)


@given(st.sets(st.integers(0, 5000)))
def test_folding_and_expanding_give_the_same_numbers(values: set[int]) -> None:
    assert list(numbers(fold(values))) == sorted(values)
