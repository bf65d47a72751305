# SPDX-License-Identifier: GPL-2.0-or-later
"""What a text is apart from its values: the same, whatever was read before it."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netgroupd.model.state import Object
from netgroupd.model.tc.filter import key
from netgroupd.plan.present import objects_text, text
from netgroupd.plan.skeleton import Column, of_text
from netgroupd.plan.step import Op, Plan, Step
from tests.instructions import instructions

_PIECES = ("old ", " x.:", ":", "::", "0", "00", "1", "255", "256", "[", "]", "{v", "}", "a", "fe80", "10.0.0.1")
_SPACED = ("10.0.0.2", "10.0.0.300", "10.0.00.1", "02:00:00:00:00:01", "fe80::1", "0:0::1", "9", "09", "[1-4]", "a 5")
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=5).map("".join) | st.lists(
    st.sampled_from(_SPACED), max_size=3
).map(" ".join)


@given(st.lists(_TEXTS.flatmap(lambda one: st.lists(st.just(one) | _TEXTS, min_size=1, max_size=4)), max_size=4))
def test_column_reads_each_text_as_it_would_alone(columns: list[list[str]]) -> None:
    column = Column()
    for one in chain.from_iterable(columns):
        skeleton, values = column.read(one)
        assert (skeleton, list(values)) == of_text(one)


@pytest.mark.parametrize(
    "then",
    ["old 10.0.0.9", "old 10.0.0.256", "old 10.0.0.09", "old 10.0.0.1.5", "old fe80::1", "old 9", "old [1-4]"],
)
def test_text_that_is_nearly_as_those_before_is_read_as_what_it_is(then: str) -> None:
    column = Column()
    for one in ("old 10.0.0.1", "old 10.0.0.2", "old 10.0.0.3", then):
        skeleton, values = column.read(one)
    assert (skeleton, list(values)) == of_text(then)


def _rules(count: int, new: str) -> list[Object]:
    return [
        Object(
            "filter",
            key("d", "ingress", 0, 5, {"dst_ip": f"10.0.{number // 250}.{number % 250}"}),
            {
                "kind": "flower",
                "protocol": "ip",
                "skip_hw": True,
                "actions": ({"kind": "nat", "old": "10.0.0.1", "new": f"{new}.{number // 250}.{number % 250}"},),
            },
        )
        for number in range(count)
    ]


def test_rules_that_differ_in_their_actions_are_told_with_what_they_have_in_common() -> None:
    rules = _rules(500, "192.168")
    other = [{**rules[0].attrs, name: value} for name, value in (("skip_hw", False), ("handle", 7), ("actions", ()))]
    for attrs in other:
        both = [rules[0], rules[1]._replace(attrs=attrs)]
        assert objects_text(both, {}).splitlines() == [objects_text([one], {}) for one in both]
    steps = tuple(Step(Op.CREATE, None, rule, rule.attrs) for rule in rules)
    assert instructions(lambda: text(Plan(steps))) < 1800 * len(steps)


def test_rules_that_change_their_actions_are_told_with_what_they_have_in_common() -> None:
    pairs = zip(_rules(500, "192.168"), _rules(500, "192.169"), strict=True)
    steps = tuple(Step(Op.CHANGE, had, rule, {"actions": rule.attrs["actions"]}) for had, rule in pairs)
    told = text(Plan(steps)).splitlines()
    assert len(told) == 2
    assert "192.168.0.0…192.168.1.249" in told[0]
    assert "192.169.0.0…192.169.1.249" in told[0]
    assert instructions(lambda: text(Plan(steps))) < 2700 * len(steps)
