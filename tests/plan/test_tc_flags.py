# SPDX-License-Identifier: GPL-2.0-or-later
"""Flags that a rule cannot get beside what it keeps."""

import pytest

from netgroupd.errors import ConfigError
from netgroupd.model.state import Attrs, Object, Origin, State
from netgroupd.model.value import Value
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Plan, Step

_LINK = Object("link", ("v0",), {"kind": "dummy"})
_SHARED: Value = ({"kind": "mirred 3"}, {"kind": "gact", "control": "drop"})
_OWN: Value = ({"kind": "gact", "control": "drop"},)


def _plan(had: Value, said: Attrs, kind: str = "flower") -> Plan:
    key = ("v0", "ingress", 0, 5, ())
    common: Attrs = {"kind": kind, "protocol": "ip"}
    have = Object("filter", key, {**common, "actions": had, "skip_hw": False, "skip_sw": False, "handle": 1})
    want = Object("filter", key, {**common, **said}, Origin("a.yaml", 7, 1))
    return assemble(State((_LINK, want)), State((_LINK, have)), Owned())


@pytest.mark.parametrize("kind", ["flower", "matchall", "u32"])
@pytest.mark.parametrize("flag", ["skip_hw", "skip_sw"])
def test_rule_that_keeps_a_shared_action_gets_no_flag(kind: str, flag: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _plan(_SHARED, {flag: True, "classid": "1:5"}, kind)
    told = f"a rule that has 'mirred 3', which is shared, cannot have {flag}, and keeps it where no action is said"
    hint = "say which action it is to have, or `action: []` for none"
    assert [str(problem) for problem in caught.value.problems] == [f"a.yaml:7:1: {told}; {hint}"]


_FIT: dict[str, tuple[Value, Attrs]] = {
    "it_has_its_own": (_OWN, {"skip_hw": True}),
    "it_gets_others": (_SHARED, {"skip_hw": True, "actions": _OWN}),
    "it_gets_none": (_SHARED, {"skip_hw": True, "actions": ()}),
    "no_flag": (_SHARED, {"classid": "1:5"}),
    "it_can_be_left_out": (_SHARED, {"skip_sw": True, "optional": True}),
}


@pytest.mark.parametrize(("had", "said"), _FIT.values(), ids=_FIT)
def test_rule_changes_where_its_actions_go_with_its_flags(had: Value, said: Attrs) -> None:
    assert len(_plan(had, said).steps) == 1


@pytest.mark.parametrize("kind", ["flower", "matchall", "u32"])
@pytest.mark.parametrize(("flag", "other"), [("skip_hw", "skip_sw"), ("skip_sw", "skip_hw")])
def test_rule_that_gets_one_flag_loses_the_other(kind: str, flag: str, other: str) -> None:
    key = ("v0", "ingress", 0, 5, ())
    common: Attrs = {"kind": kind, "protocol": "ip"}
    have = Object("filter", key, {**common, "actions": (), flag: False, other: True, "handle": 1})
    (step,) = assemble(State((Object("filter", key, {**common, flag: True}),)), State((have,)), Owned()).steps
    assert isinstance(step, Step)
    assert step.attrs == {flag: True, other: False}


def test_rule_that_has_a_flag_and_is_said_to_have_it_is_as_it_should_be() -> None:
    assert not _plan(_OWN, {"skip_hw": False}).steps
