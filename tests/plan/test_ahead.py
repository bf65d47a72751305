# SPDX-License-Identifier: GPL-2.0-or-later
"""What is looked at before the first message is sent: nothing that could still have to be asked for may be left out."""

from netgroupd.model.state import Object
from netgroupd.model.tc.filter import key
from netgroupd.plan.phases import PHASES
from netgroupd.plan.step import Op, Step, classes_ahead
from netgroupd.plan.tc.order import LEVELS


def _step(op: Op, obj: Object) -> Step:
    return Step(op, None if op is Op.CREATE else obj, None if op is Op.DELETE else obj, obj.attrs)


def _rules(op: Op) -> list[Step]:
    made = (Object("filter", key("a", "ingress", 0, 10, {"src_port": n}), {"kind": "flower"}) for n in range(3000))
    return [_step(op, rule) for rule in made]


_ROUTE = _step(Op.CREATE, Object("route", ("10.0.0.0/8", 254, 0), {}))
_CLASS = _step(Op.DELETE, Object("tclass", ("a", 1, 2), {"kind": "htb"}))


def test_nothing_of_layer_3_is_behind_rules_that_are_made() -> None:
    behind = PHASES[PHASES.index(LEVELS[0]) :]
    assert all({"filter", "chain", "class", "action"} & set(phase.split()) for phase in behind)


def test_rules_that_are_made_end_the_look() -> None:
    assert classes_ahead([_ROUTE, *_rules(Op.CREATE), _CLASS]) == {"route", "filter"}


def test_rules_that_go_do_not() -> None:
    assert classes_ahead([*_rules(Op.DELETE), _ROUTE, _CLASS]) == {"filter", "route", "tclass"}
