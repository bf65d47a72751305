# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and entries that are alike -> one line with ranges, which stands for the same."""

from hypothesis import given
from hypothesis import strategies as st

from netgroupd.config.importer.fold import Body, fold_entries, fold_names
from netgroupd.config.ranges import compile_text


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
