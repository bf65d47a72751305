# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rules a request to delete one meets before that."""

from netgroupd.kernel.layer3.rules_beside import Standing
from netgroupd.model.rule import key
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from tests.instructions import is_linear


def _rule(number: int, **more: Value) -> Object:
    attrs: dict[str, Value] = {"from": f"10.0.{number >> 8}.{number & 255}/32", "lookup": 7, **more}
    return Object("rule", key("inet", 100, attrs), attrs)


def test_rule_that_says_more_is_met_where_it_comes_first_and_is_behind_the_others_then() -> None:
    more, other, one, late = _rule(1, iif="d0"), _rule(2, iif="d0"), _rule(1), _rule(1, oif="d0")
    standing = Standing([more, other, one, late])
    assert standing.goes(one.key, one.attrs) == [more]
    standing.comes(one.key, one.attrs)
    assert standing.goes(one.key, one.attrs) == [late, more]
    standing.comes(one.key, one.attrs)
    assert standing.goes(late.key, late.attrs) == []
    assert standing.goes(one.key, one.attrs) == [more]


def test_rules_met_by_very_many_are_found_in_linear_time() -> None:
    def meet(count: int) -> None:
        few = [_rule(number) for number in range(count)]
        standing = Standing([*few, *(_rule(number, iif="d0") for number in range(count))])
        assert not any(standing.goes(rule.key, rule.attrs) for rule in few)

    assert is_linear(meet, 200)
