# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes for rules that are asked in turn to come in their order."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.tables import match_of
from netgroupd.plan.tc.turns import arrange, behind, by_mask, turn_of


def _rule(kind: str, match: str, **attrs: object) -> Object:
    said = {"kind": kind, "protocol": "ip", "actions": (), **attrs}
    return Object("filter", ("d", "ingress", 0, 5, (("match", match),)), said)  # type: ignore[arg-type]  # values


def _rules(kind: str, matches: str) -> list[Object]:
    return [_rule(kind, match) for match in matches]


def _masks(masks: str) -> list[Object]:
    """Rules of flower as a snapshot has them, with handles."""
    return [_rule("flower", f"{number}/{mask}", handle=number) for number, mask in enumerate(masks)]


def _told(steps: list[Step]) -> str:
    return " ".join(("-" if step.op is Op.DELETE else "+") + str(match_of(step.object.key)["match"]) for step in steps)


def _arranged(desired: list[Object], actual: list[Object]) -> str:
    goal, there = State(desired), State(actual)
    gone = [Step(Op.DELETE, have, None) for key, have in there.of("filter").items() if key not in goal.of("filter")]
    come = [Step(Op.CREATE, None, want) for key, want in goal.of("filter").items() if key not in there.of("filter")]
    return _told(arrange([*gone, *come], goal, there))


@pytest.mark.parametrize(
    ("desired", "actual", "want"),
    [
        ("abc", "ab", "+c"),
        ("axb", "ab", "-b +x +b"),
        ("xab", "ab", "-a -b +x +a +b"),
        ("ac", "abc", "-b"),
        ("acx", "abc", "-b +x"),
        ("ba", "ab", "-a -b +b +a"),
        ("acb", "abc", "-b -c +c +b"),
        ("ab", "ab", ""),
    ],
)
def test_what_comes_behind_a_new_rule_is_made_again(desired: str, actual: str, want: str) -> None:
    assert _arranged(_rules("basic", desired), _rules("basic", actual)) == want
    assert _arranged(_rules("matchall", desired), _rules("matchall", desired)) == ""


def test_rule_that_is_made_again_keeps_what_no_file_says() -> None:
    have = _rule("basic", "a", classid="1:1", handle=7)
    steps = arrange([Step(Op.CREATE, None, _rule("basic", "x"))], State(_rules("basic", "xa")), State((have,)))
    assert steps[-1].attrs == {**_rule("basic", "a").attrs, "classid": "1:1"}


@pytest.mark.parametrize(
    ("name", "parent", "told"),
    [("a", "ingress", "-b +a +x +b"), ("b", "ingress", "-b +x +b"), ("z", "egress", "-b +z +x +b")],
    ids=["before_a_new_one", "behind_a_new_one", "elsewhere"],
)
def test_rule_that_changes_does_so_once(name: str, parent: str, told: str) -> None:
    (rule,) = _rules("basic", name)
    rule = rule._replace(key=("d", parent, *rule.key[2:]))
    steps = [Step(Op.CHANGE, rule, rule), Step(Op.CREATE, None, _rule("basic", "x"))]
    assert _told(arrange(steps, State(_rules("basic", "axb")), State(_rules("basic", "ab")))) == told


def test_rule_elsewhere_comes_beside_those_that_are_made_again() -> None:
    other = _rule("basic", "z")._replace(key=("d", "egress", 0, 5, (("match", "z"),)))
    steps = [Step(Op.CREATE, None, rule) for rule in (other, _rule("basic", "x"))]
    got = arrange(steps, State([*_rules("basic", "axb"), other]), State(_rules("basic", "ab")))
    assert _told(got) == "-b +z +x +b"


def test_masks_of_flower_come_back_in_their_order() -> None:
    before = _masks("aabbc")
    assert _arranged(before, [*before[1:]]) == "+0/a"
    assert _arranged(before, [*before[2:]]) == "-2/b -3/b -4/c +0/a +1/a +2/b +3/b +4/c"
    assert _arranged(before, [*before[:2], before[4]]) == "-4/c +2/b +3/b +4/c"


def test_masks_of_flower_that_a_file_says_stay() -> None:
    rules = [rule._replace(attrs={"kind": "flower"}) for rule in _masks("ab")]
    assert _arranged(rules, _masks("ab")[1:]) == "+0/a"


def test_rules_are_behind_the_first_that_would_come_back_at_the_end() -> None:
    before = _masks("abab")
    assert not [*behind(before[:1], State(before))]
    assert [*behind([before[0], before[2]], State(before))] == before
    assert [*behind(_rules("basic", "b"), State(_rules("basic", "abc")))] == _rules("basic", "bc")
    assert not [*behind(_rules("basic", "ab"), State(_rules("basic", "ab")))]


@pytest.mark.parametrize(
    ("masks", "want"), [("aab", "0/a 1/a 2/b"), ("aba", "0/a 2/a 1/b"), ("baab", "0/b 3/b 1/a 2/a")]
)
def test_rules_of_one_mask_are_told_side_by_side(masks: str, want: str) -> None:
    assert " ".join(str(match_of(rule.key)["match"]) for rule in by_mask(_masks(masks))) == want


def test_rules_that_are_asked_in_turn_are_told_in_it() -> None:
    rules = [*_rules("bpf", "cab"), *_rules("basic", "ba")]
    assert by_mask(rules) == rules


def test_rule_that_is_made_again_loses_the_flag_that_another_excludes() -> None:
    had = [_rule("bpf", match, skip_sw=match == "b") for match in "ab"]
    goal = State([had[0], _rule("bpf", "x"), _rule("bpf", "b", skip_hw=True)])
    come = [Step(Op.CREATE, None, want) for want in list(goal.of("filter").values())[1:2]]
    *_, last = arrange(come, goal, State(had))
    assert [last.object.attrs["skip_hw"], last.object.attrs["skip_sw"]] == [True, False]


@pytest.mark.parametrize(
    ("name", "alike", "another"),
    [
        ("dst_ip", ["10.0.0.1", "10.0.0.2"], "10.0.0.0/24"),
        ("dst_ip", ["10.0.0.0/24", "10.0.1.0/24"], "10.0.0.0/16"),
        ("dst_port", [80, 81], "80-90"),
        ("dst_port", ["80-90", "85-95"], "0x50/0xf0"),
        ("ct_state", ["+trk+est", "+trk-est"], "+trk+new"),
        ("dst_mac", ["02:00:00:00:00:01", "02:00:00:00:00:02"], "02:00:00:00:00:00/ff:00:00:00:00:00"),
    ],
)
def test_rules_have_the_turn_of_their_mask(name: str, alike: list[Value], another: Value) -> None:
    rules = [_rule("flower", "x")._replace(key=("d", "ingress", 0, 5, ((name, value),))) for value in (*alike, another)]
    first, second, third = map(turn_of, rules)
    assert first == second != third
