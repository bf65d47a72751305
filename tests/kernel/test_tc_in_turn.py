# SPDX-License-Identifier: GPL-2.0-or-later
"""Which steps about rules wait for others."""

import pytest

from netgroupd.kernel.tc.filters.in_turn import in_turn
from netgroupd.model.state import Object
from netgroupd.model.tc.filter import key
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, RangeStep, Step

_LINK = Step(Op.CREATE, None, Object("link", ("d",), {"kind": "dummy"}))


def _made(match: dict[str, Value], pref: int = 5, chain: int = 0, kind: str = "flower") -> Step:
    return Step(Op.CREATE, None, Object("filter", key("d", "ingress", chain, pref, match), {"kind": kind}))


_WIDE, _NARROW, _HOST = _made({"dst_ip": "10.0.0.0/8"}), _made({"dst_ip": "10.1.0.0/16"}), _made({"dst_ip": "10.0.0.1"})
_ALIKE, _PORT = _made({"dst_ip": "11.0.0.0/8"}), _made({"ip_proto": "tcp", "dst_port": 80})
_ELSEWHERE, _BASIC = _made({"dst_ip": "10.0.0.0/16"}, pref=6), _made({}, pref=5, chain=1, kind="basic")
_APART = _made({"dst_ip": "10.0.0.1"}, pref=6)
_GONE = Step(Op.DELETE, _HOST.object, None)
_ALL_GONE = RangeStep(Op.DELETE, (_GONE,))


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        ([], [[]]),
        ([_LINK, _WIDE, _ALIKE], [[_LINK, _WIDE, _ALIKE]]),
        ([_WIDE, _ELSEWHERE], [[_WIDE, _ELSEWHERE]]),
        ([_WIDE, _HOST, _ELSEWHERE, _APART], [[], [_WIDE, _ELSEWHERE], [_HOST, _APART], []]),
        ([_LINK, _WIDE, _ALIKE, _NARROW, _HOST], [[_LINK], [_WIDE], [_NARROW], [_HOST], [_ALIKE]]),
        ([_ALIKE, _PORT, _WIDE, _BASIC], [[], [_ALIKE], [_PORT], [_WIDE, _BASIC]]),
        ([_GONE, _HOST, _WIDE], [[_GONE], [_HOST], [_WIDE], []]),
        ([_WIDE, _NARROW, _ALL_GONE], [[], [_WIDE], [_NARROW], [_ALL_GONE]]),
        ([_ALL_GONE, _GONE], [[_ALL_GONE, _GONE]]),
    ],
)
def test_first_rule_of_each_mask_of_a_preference_goes_alone(steps: list[Step], want: list[list[Step]]) -> None:
    assert [[*some] for some in in_turn(steps)] == want


def test_rules_of_a_chain_stay_before_those_that_may_go_there() -> None:
    there = [_made({"dst_ip": address}, chain=1) for address in ("10.0.0.0/8", "10.0.0.1")]
    assert [step for some in in_turn([*there, _HOST, _WIDE, _ALIKE]) for step in some] == [*there, _HOST, _WIDE, _ALIKE]
