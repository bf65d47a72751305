# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and indices of links."""

import pytest

from netgroupd.kernel.names import Names, UnknownLinkError


def test_index_that_is_chosen_is_free_and_never_chosen_again() -> None:
    names = Names()
    names.note("eth0", 2)
    first = names.reserve("a")
    names.forget("a")
    assert names.reserve("b") > first > 2


def test_index_of_a_link_that_no_dump_has_brought_is_not_chosen() -> None:
    names = Names()
    taken = names.reserve("a") + 1
    names.find = lambda wanted: ("theirs", taken) if wanted == taken else None
    assert names.reserve("b") == taken + 1


def test_last_index_that_there_is_leaves_room_for_others() -> None:
    names = Names()
    names.note_all({2: "eth0", 0x7FFFFFFF: "theirs"})
    names.note("theirs", 0x7FFFFFFF)
    assert names.reserve("a") + 1 == names.reserve("b") < 0x7FFFFFFF


def test_renamed_link_is_found_by_its_new_name_only() -> None:
    names = Names()
    names.note("old", 5)
    names.note("new", 5)
    assert names.name(5) == "new"
    assert not names.knows("old")


def test_link_that_is_renamed_is_the_same_for_a_dump_that_follows() -> None:
    names = Names()
    names.note_all({1: "a", 2: "b", 3: "d"})
    names.rename("a", "c")
    names.rename("b", "a")
    names.note_all({1: "c", 2: "a", 3: "d"})
    assert [names.by_index.get(index) for index in (1, 2, 3)] == ["c", "a", "d"]
    assert not names.knows("b")


def test_two_links_that_swap_names_are_told_apart() -> None:
    names = Names()
    names.note_all({1: "a", 2: "b"})
    names.note_all({1: "b", 2: "a"})
    assert (names.index("a"), names.index("b")) == (2, 1)


def test_link_that_no_dump_has_brought_is_asked_for_once() -> None:
    asked: list[str | int] = []

    def find(wanted: str | int) -> tuple[str, int]:
        asked.append(wanted)
        return "eth0", 2

    names = Names()
    names.find = find
    assert [names.index("eth0"), names.index("eth0"), names.name(2)] == [2, 2, "eth0"]
    assert asked == ["eth0"]


def test_unknown_link_is_named_in_the_error() -> None:
    with pytest.raises(UnknownLinkError, match="no link 'gone'"):
        Names().index("gone")
