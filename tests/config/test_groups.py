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


OF_TWO = """\
groups:
  a: {members: [c], mtu: %d}
  b: {members: [c], mtu: 1400}
  c: {%s}
links: {d: {kind: dummy, group: c}}
"""


@pytest.mark.parametrize(
    ("mtu", "said"),
    [pytest.param(1400, "", id="alike"), pytest.param(9000, "mtu: 1400", id="and_it_says_which_itself")],
)
def test_group_within_two_others_has_what_they_give_it(mtu: int, said: str) -> None:
    link = desired(OF_TWO % (mtu, said)).state.link("d")
    assert link
    assert link.attrs["mtu"] == 1400


def test_group_that_two_others_give_two_values_is_asked_which() -> None:
    want = "group 'c' gets two values of 'mtu', of 'a' and 'b'; set it in the group itself"
    assert told(OF_TWO % (9000, "")) == [f"a.yaml:4:3: {want}"]
