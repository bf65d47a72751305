# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and entries that are alike -> one line with ranges, which stands for the same."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netgroupd.config.importer.fold import Body, fold_entries, fold_names
from netgroupd.config.ranges import compile_text


@pytest.mark.parametrize(
    ("of", "want"),
    [(lambda v: {"id": v + 10000}, {"id": "{v+10000}"}), (lambda v: {"table": v - 5}, {"table": "{v-5}"}),
     (lambda v: {"id": v + 7, "link": f"y{v}"}, {"id": "{v+7}", "link": "y{v}"}),
     (lambda v: {"vlans": [{"vid": v + 90, "pvid": True}, {"vid": 1}]},
      {"vlans": [{"vid": "{v+90}", "pvid": True}, {"vid": 1}]}),
     (lambda v: {"id": v + 7, "vlans": [{"vid": 30, "pvid": True}]},
      {"id": "{v+7}", "vlans": [{"vid": 30, "pvid": True}]}),
     (lambda v: {"mac": f"02:00:00:00:01:{v:02x}"}, {"mac": "{02:00:00:00:01:00 + v}"})],
    ids=["vni", "table", "and_a_name", "vlan", "and_one_vlan_for_all", "mac"],
)  # fmt: skip
def test_number_that_is_another_one_and_a_constant_is_a_sum(of: Callable[[int], Body], want: Body) -> None:
    assert fold_entries([(f"x{v}", of(v)) for v in (8, 9, 10)]) == [("x[v=8-10]", want)]


def test_sum_of_one_number_stays_when_another_is_folded() -> None:
    entries: list[tuple[str, Body]] = [
        (f"x{n}.{v}", {"mac": f"02:00:00:00:01:{v:02x}"}) for n in (1, 2) for v in (8, 9)
    ]
    assert fold_entries(entries) == [("x[1-2].[v=8-9]", {"mac": "{02:00:00:00:01:00 + v}"})]


def test_number_that_an_address_has_by_chance_is_no_reference() -> None:
    entries: list[tuple[str, Body]] = [
        (f"x0.{n}.{v}", {"id": v, "addresses": [f"10.{n}.{v}.1/24"]}) for n in (100, 101) for v in (9, 10, 11)
    ]
    assert fold_entries(entries) == [("x0.[m=100-101].[v=9-11]", {"id": "{v}", "addresses": ["10.{m}.{v}.1/24"]})]


def test_numbers_in_steps_are_one_range() -> None:
    assert fold_names([f"x{number}" for number in (1, 2, 3, 10, 20, 30, 35, 37)]) == ["x[1-3,10-30/10,35,37]"]


@given(st.lists(st.from_regex(r"(swp|br-)[1-9][0-9]{0,2}(\.[1-9][0-9]?)?", fullmatch=True), unique=True))
def test_folded_names_stand_for_the_same_names(names: list[str]) -> None:
    expanded = [str(name) for text in fold_names(names) for name, _ in compile_text(text).instances()]
    assert sorted(expanded) == sorted(names)


@given(st.dictionaries(st.from_regex(r"br-[0-9]{1,2}", fullmatch=True), st.integers(0, 99), max_size=20))
def test_folded_entries_say_the_same_of_the_same_names(entries: dict[str, int]) -> None:
    bodies = [(name, {"id": value, "ports": f"swp[1-6].{value}"}) for name, value in entries.items()]
    expanded = {}
    for key, body in fold_entries(bodies):
        pattern = compile_text(key)
        texts = {field: compile_text(str(value), pattern.ranges) for field, value in body.items()}
        for name, env in pattern.instances():
            ports = {str(port) for port, _ in texts["ports"].instances(env)}
            expanded[str(name)] = (str(texts["id"].make(env)), ports)
    assert expanded == {name: (str(v), {f"swp{port}.{v}" for port in range(1, 7)}) for name, v in entries.items()}
