# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a plan waits for packets that are on a way which it has closed behind them."""

import pytest

from netgroupd.kernel.grace import taken_up
from netgroupd.model.state import Attrs, Object
from netgroupd.model.tc.chain import SPARE
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step

LED = Object("filter", ("d0", "ingress", SPARE, 10, ()), {"kind": "flower"})
GOTO: Attrs = {"kind": "flower", "actions": ({"kind": "gact", "control": f"goto chain {SPARE}"},)}
SWITCH = Object("filter", ("d0", "ingress", 0, 1, ()), GOTO)
MADE = Step(Op.CREATE, None, LED._replace(key=("d0", "ingress", 0, 7, ())), LED.attrs)
SWITCHED = Step(Op.CHANGE, SWITCH, SWITCH, SWITCH.attrs)
LEFT = Step(Op.DELETE, SWITCH, None)
GONE = Step(Op.DELETE, LED, None)
CLASS = Step(Op.DELETE, Object("tclass", ("d0", "1:2"), {}), None)
ACTION = Step(Op.DELETE, Object("action", ("police", 7), {}), None)


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        pytest.param([MADE, SWITCHED], [], id="nothing_goes"),
        pytest.param([GONE, GONE], [], id="all_goes"),
        pytest.param([SWITCHED, GONE, GONE], [1], id="a_chain_is_left"),
        pytest.param([SWITCHED, RangeStep(Op.DELETE, (GONE, GONE))], [1], id="all_of_a_preference_go"),
        pytest.param([SWITCHED, GONE, CLASS, ACTION], [1], id="with_a_class_and_an_action"),
        pytest.param([SWITCHED, CLASS, ACTION], [1], id="only_a_class_and_an_action"),
        pytest.param([MADE, LEFT, GONE], [1, 2], id="an_atomic_chain_becomes_plain"),
        pytest.param([LEFT, GONE], [1], id="an_atomic_chain_goes"),
    ],
)
def test_what_packets_were_led_to_goes_when_they_are_through(steps: list[AnyStep], want: list[int]) -> None:
    assert taken_up(steps) == want
