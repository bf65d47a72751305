# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rules a request to delete one meets before that."""

import time

from netgroupd.kernel.layer3.rules_beside import Standing
from netgroupd.model.rule import key
from netgroupd.model.state import Object
from netgroupd.model.value import Value


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
    few = [_rule(number) for number in range(20_000)]
    standing = Standing([*few, *(_rule(number, iif="d0") for number in range(20_000))])
    began = time.process_time()
    assert not any(standing.goes(rule.key, rule.attrs) for rule in few)
    assert time.process_time() - began < 10  # some 0.2 s where nothing else runs
