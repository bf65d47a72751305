# SPDX-License-Identifier: GPL-2.0-or-later
"""Folding: what goes in comes out again, in as few patterns as there are products."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netgroupd.model.state import Object
from netgroupd.plan.fold import Pattern, Row, field_text, fold, fold_names, name_text
from netgroupd.plan.present import objects_text

VLANS = [(f"swp{port}.{vid}", f"master br-{vid}") for port in range(1, 7) for vid in range(1000, 1100)]


def unfolded(patterns: list[Pattern]) -> list[Row]:
    """All rows that patterns stand for."""
    return sorted(pattern.at(point) for pattern in patterns for point in product(*pattern.dimensions))


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param(["lo"], ("lo",), id="one_without_a_number"),
        pytest.param(["swp1"], ("swp1",), id="one_with_a_number"),
        pytest.param(["swp3", "swp1", "swp2"], ("swp[1-3]",), id="out_of_order"),
        pytest.param(["a1", "a2", "a5", "a9"], ("a[1-2,5,9]",), id="holes"),
        pytest.param(["a0", "a10", "a20", "a30"], ("a[0-30/10]",), id="steps"),
        pytest.param(["a001", "a002", "a003"], ("a[001-003]",), id="zeros_in_front"),
        pytest.param(["a1.1", "a1.2", "a2.1", "a2.2"], ("a[1-2].[1-2]",), id="product"),
        pytest.param(["a1.1", "a1.2", "a2.1"], ("a1.[1-2]", "a2.1"), id="no_product"),
        pytest.param(["a1", "b1", "a2", "b2"], ("a[1-2]", "b[1-2]"), id="two_names"),
    ],
)
def test_names_fold_to_ranges(names: list[str], want: tuple[str, ...]) -> None:
    assert fold_names(names) == want


def test_text_that_follows_the_name_refers_to_its_range() -> None:
    (pattern,) = fold(VLANS)
    assert (name_text(pattern), field_text(pattern, 1), pattern.size) == ("swp[1-6].[1000-1099]", "master br-{2}", 600)


def test_one_that_is_missing_splits_the_product_and_nothing_is_claimed_for_it() -> None:
    rows = [row for row in VLANS if row[0] != "swp3.1050"]
    patterns = fold(rows)
    assert [name_text(pattern) for pattern in patterns] == ["swp[1-2,4-6].[1000-1099]", "swp3.[1000-1049,1051-1099]"]
    assert unfolded(patterns) == sorted(rows)


def test_addresses_and_macs_that_count_up_fold() -> None:
    rows = [
        (f"br{v}", f"10.{v >> 8}.{v & 255}.1/24", f"02:00:00:00:{v >> 8:02x}:{v & 255:02x}") for v in range(200, 300)
    ]
    (pattern,) = fold(rows)
    assert field_text(pattern, 1) == "10.0.200.1…10.1.43.1/24"
    assert unfolded([pattern]) == sorted(rows)


def test_values_without_a_rule_do_not_multiply_lines_where_nobody_needs_them() -> None:
    rows = [(f"d{number}", f"mac 02:00:00:00:00:{number * number % 251:02x}") for number in range(100)]
    [pattern] = fold(rows, exact=False)
    assert field_text(pattern, 1).endswith("…")
    assert len(fold(rows)) > 10
    assert unfolded(fold(rows)) == sorted(rows)


def test_value_without_a_rule_is_that_of_its_own_line() -> None:
    rows = [(f"x{n}y{n * 7919 % 1000}", f"mtu {1000 + n * 7919 % 5000}") for n in range(40)]
    told = {name_text(pattern): field_text(pattern, 1) for pattern in fold(rows, exact=False)}
    assert told == dict(rows)
    rows = [(f"d{number}", f"mtu {1000 + number * number}") for number in (*range(10), *range(20, 30))]
    [pattern] = fold(rows, exact=False)
    assert (name_text(pattern), field_text(pattern, 1), pattern.size) == ("d[0-9,20-29]", "mtu 1000…", 20)


@pytest.mark.parametrize("link", ["lo", "eth1"])
def test_many_things_on_one_link_are_counted(link: str) -> None:
    rows = [(link, f"10.1.{number * number % 251}.{number}/32") for number in range(200)]
    [pattern] = fold(rows, exact=False)
    assert (name_text(pattern), field_text(pattern, 1), pattern.size) == (link, "10.1.0.0…/32", 200)


NAMES = st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.integers(0, 12))
TEXTS = st.sampled_from(["", "mtu 9000", "to {b}", "10.0.{b}.1/24", "02:00:00:00:0{a}:00", "fd00:{b}::1", "x{c}"])


@given(st.lists(st.tuples(NAMES, TEXTS, st.integers(0, 3)), unique_by=lambda row: row[0], max_size=60))
def test_whatever_goes_in_comes_out_again(found: list[tuple[tuple[str, int, int], str, int]]) -> None:
    rows = [(f"{stem}{a}.{b:02}", text.format(a=a, b=b, c=c)) for (stem, a, b), text, c in found]
    assert unfolded(fold(rows)) == sorted(rows)
    assert sum(pattern.size for pattern in fold(rows)) == len(rows)


def test_two_values_that_have_nothing_to_do_with_each_other_are_told_apart() -> None:
    vias = [("1", "via 192.0.2.9"), ("2", "via 198.51.100.9")]
    assert unfolded(fold(vias)) == vias
    assert len(fold(vias)) == len(fold(vias, exact=False)) == 2
    (nets,) = fold([("1", "10.0.1.1/24"), ("2", "10.0.2.1/24")])
    assert field_text(nets, 1) == "10.0.1.1…10.0.2.1/24"


def test_number_in_a_name_that_goes_with_another_one_refers_to_it() -> None:
    rows = [(f"vni{number} vid {number}", f"tunnel {number + 100}") for number in range(10, 21)]
    (pattern,) = fold(rows, exact=False)
    assert (name_text(pattern), field_text(pattern, 1), pattern.size) == ("vni[10-20] vid {1}", "tunnel 110…120", 11)
    assert unfolded([pattern]) == rows
    (apart,) = fold([(f"vni{number + 1000} vid {number}",) for number in (1, 2, 5)], exact=False)
    assert name_text(apart) == "vni[1001-1002,1005] vid 1…5"
    assert len(fold([("a1 2",), ("a2 3",)], exact=False)) == 2
    assert fold_names(f"a{number}.{number}" for number in range(3)) == ("a0.0", "a1.1", "a2.2")


def test_routes_that_differ_in_their_table_are_one_line() -> None:
    routes = (
        Object("route", ("inet", table, "0.0.0.0/0", 0, 0), {"via": "192.0.2.1"}) for table in (100, 101, 102, 254)
    )
    shown = objects_text(routes, {}).splitlines()
    assert shown == [
        "route 0.0.0.0/0 table [100-102]  via 192.0.2.1 (3)",
        "route 0.0.0.0/0                  via 192.0.2.1",
    ]
