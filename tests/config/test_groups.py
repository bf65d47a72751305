# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and ids of groups, and groups of which nothing is said."""

import pytest

from netgroupd.model.owner import GROUP_BASE
from tests.config.reading import desired, told


def test_group_of_which_nothing_is_said_is_there() -> None:
    found = desired("groups:\n  g:\nlinks:\n  d0: {kind: dummy, group: g}\n")
    assert found.state.groups["g"].attrs == {}


@pytest.mark.parametrize("name", ["5", "a b", "a#"])
def test_member_that_no_group_can_be_is_told(name: str) -> None:
    want = "cannot name a group; expected 1 to 63 characters without blanks and #, not only digits"
    assert told(f"groups:\n  g: {{members: ['{name}']}}\n") == [f"a.yaml:2:7: {name!r} {want}"]


def test_id_of_the_group_of_all_other_links_is_no_other_ones() -> None:
    want = "is the id of the group 'netgroupd', which has all links that name none; take another one, or give"
    (line,) = told(f"groups:\n  g: {{id: {GROUP_BASE}}}\n")
    assert line == f"a.yaml:2:7: {GROUP_BASE} {want} 'netgroupd' one"
    assert told(f"groups:\n  g: {{id: {GROUP_BASE}}}\n  netgroupd: {{id: 7}}\n") == []
