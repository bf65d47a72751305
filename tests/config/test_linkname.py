# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that the kernel refuses or reads as something else, wherever a configuration names a link that is made."""

from collections.abc import Mapping, Set

import pytest

from netgroupd.config import desired_from
from netgroupd.config.known import Known
from netgroupd.config.sections.linkname import objection
from netgroupd.errors import ConfigError
from tests.config.reading import desired, rendered, told

REFUSED = [
    pytest.param("w%d", "none of", id="pattern"),
    pytest.param("a%b", "none of", id="percent"),
    pytest.param("a b", "blanks", id="blank"),
    pytest.param("..", "none of", id="directory_above"),
    pytest.param("all", "settings", id="settings_of_all_links"),
    pytest.param("default", "settings", id="settings_of_new_links"),
    pytest.param("a" * 16, "has 16 characters", id="letters"),
    pytest.param("ä" * 8, "has 16 bytes", id="bytes"),
    pytest.param("à", "0xa0", id="byte_that_is_a_blank"),
]


@pytest.mark.parametrize(("name", "want"), REFUSED)
def test_name_that_the_kernel_does_not_take_is_refused(name: str, want: str) -> None:
    assert want in " ".join(objection(name) or ())
    assert any(
        line.startswith("a.yaml:2:3: ") and want in line for line in told(f"links:\n  {name}: {{kind: dummy}}\n")
    )
    assert any(want in line for line in told(f"vrfs:\n  {name}: {{table: 7}}\n"))


@pytest.mark.parametrize("name", ["a" * 15, "ä" * 7, "al", "all1", "é-1", "x.y"])
def test_name_that_the_kernel_takes_is_taken(name: str) -> None:
    assert objection(name) is None
    assert (name,) in desired(f"links:\n  {name}: {{kind: dummy}}\n").state.of("link")


def test_other_end_that_cannot_be_named_so_is_told_where_it_is_named() -> None:
    assert told("links:\n  v0: {kind: veth, peer: 'w%d'}\n") == [
        "a.yaml:2:20: 'w%d' cannot name a link; names have no blanks and none of / : % [ ] { }"
    ]


@pytest.mark.parametrize("number", ["4294967296", "9999999999", '"\u0663"'])
def test_number_that_no_group_has_is_no_group(number: str) -> None:
    [problem] = told(f"links:\n  d: {{kind: dummy, group: {number}}}\n")
    assert problem.startswith("a.yaml:2:20: there is no group")
    assert problem.endswith("a number goes from 0 to 4294967295")


def test_largest_number_of_a_group_is_taken() -> None:
    found = desired("links:\n  d: {kind: dummy, group: 4294967295}\n").state.of("link")
    assert found[("d",)].attrs["group"] == 4294967295


def test_link_that_is_there_and_goes_is_told_to_go() -> None:
    known = Known(("br0",), ours=frozenset({"br0"}), owner=lambda name: name)
    with pytest.raises(ConfigError) as caught:
        desired_from([rendered("links:\n  br0.5: {addresses: 10.0.0.1/24}\n")], known)
    assert [str(problem) for problem in caught.value.problems] == [
        "a.yaml:2:3: there is no link 'br0' (lower link of 'br0.5'); "
        "'br0' was made for a file, and goes, as no file describes it any more"
    ]


def test_names_that_will_be_looked_for_are_counted_before_the_first() -> None:
    heard: list[int] = []

    def expect(names: Set[str]) -> Mapping[str, bool]:
        heard.append(len(names))
        return {}

    text = "links:\n  p[1-2]: {kind: dummy}\n  'br[v=1-40]': {kind: bridge, ports: ['p[1-2].{v}', p1]}\n"
    with pytest.raises(ConfigError):  # of p1, which is a port of all
        desired_from([rendered(text)], Known(ours={"p1.7", "p2.7", "p2.8"}, expect=expect))
    assert heard == [77]  # netgroupd's own are known
