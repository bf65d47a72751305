# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic control in a plan: its order, what goes with what, and how it reads."""

from collections.abc import Mapping

import pytest

from netgroupd.config.sections.entries import told
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.errors import ConfigError
from netgroupd.model.state import Attrs, Object, Origin, State
from netgroupd.model.tc import filter as filters
from netgroupd.model.tc.chain import SPARE
from netgroupd.plan.assemble import assemble
from netgroupd.plan.diff import diff
from netgroupd.plan.order import order
from netgroupd.plan.owned import Owned
from netgroupd.plan.present import text
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.hooks import hooks_of
from tests.plan.reading_back import read_back

LINK = Object("link", ("v0",), {"kind": "dummy"})
CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "handle": "ffff:", "hooks": ("ingress",)})
HTB = Object("qdisc", ("v0", "root"), {"kind": "htb", "handle": "1:", "default": 16})
TOP = Object("tclass", ("v0", "1:1"), {"kind": "htb", "parent": "1:", "rate": 1000})
LEAF = Object("tclass", ("v0", "1:10"), {"kind": "htb", "parent": "1:1", "rate": 1000})
INNER = Object("qdisc", ("v0", "1:10"), {"kind": "htb", "handle": "10:", "default": 1})
DEEP = Object("tclass", ("v0", "10:1"), {"kind": "htb", "parent": "10:", "rate": 1000})
DEEPEST = Object("qdisc", ("v0", "10:1"), {"kind": "pfifo", "handle": "20:", "limit": 5})
TREE = (HTB, TOP, LEAF, INNER, DEEP, DEEPEST)


def rule(address: str, parent: str = "ingress", action: str = "drop") -> Object:
    """A rule for one address."""
    attrs: Attrs = {"kind": "flower", "protocol": "ip", "actions": ({"kind": "gact", "control": action},)}
    return Object("filter", filters.key("v0", parent, 0, 10, {"dst_ip": address}), attrs)


def _steps(want: tuple[Object, ...], have: tuple[Object, ...]) -> list[Step]:
    desired, actual = State((LINK, *want)), State((LINK, *have))
    stages = order(diff(desired, actual, Owned()), desired, actual)
    return [step for stage in stages for step in stage.steps]


@pytest.mark.parametrize("written", [TREE, TREE[::-1]], ids=["from_the_root", "from_the_leaves"])
def test_tree_is_made_from_its_root(written: tuple[Object, ...]) -> None:
    assert [step.object.key for step in _steps(written, ())] == [obj.key for obj in TREE]


def test_only_the_root_is_deleted_of_a_whole_tree() -> None:
    assert [step.object for step in _steps((), TREE)] == [HTB]


def test_part_of_a_tree_is_deleted_from_its_leaves() -> None:
    steps = _steps((HTB, TOP), (HTB, TOP, LEAF, DEEPEST._replace(key=("v0", "1:10"))))
    assert [(step.op, step.object.cls) for step in steps] == [(Op.DELETE, "qdisc"), (Op.DELETE, "tclass")]


def test_what_hangs_on_a_recreated_qdisc_is_made_again() -> None:
    other = HTB._replace(attrs={**HTB.attrs, "default": 17})
    into = rule("10.0.0.1", "1:")
    steps = _steps((other, TOP, into), (HTB, TOP, into))
    assert [(step.op, step.object.cls) for step in steps] == [
        (Op.DELETE, "qdisc"),
        (Op.CREATE, "qdisc"),
        (Op.CHANGE, "tclass"),
        (Op.CHANGE, "filter"),
    ]


def test_all_levels_of_a_recreated_tree_are_made_again() -> None:
    other = HTB._replace(attrs={**HTB.attrs, "default": 17})
    steps = _steps((other, *TREE[1:]), TREE)
    assert [step.object.key for step in steps[1:]] == [obj.key for obj in TREE]


OTHER = TOP._replace(key=("v0", "1:2"))
MOVED = LEAF._replace(attrs={**LEAF.attrs, "parent": "1:2"})


def _into(classid: str, parent: str = "1:", chain: int = 0) -> Object:
    attrs: Attrs = {"kind": "flower", "protocol": "ip", "classid": classid}
    return Object("filter", filters.key("v0", parent, chain, 10, {"dst_ip": "10.0.0.1"}), attrs)


def _operations(steps: list[Step]) -> list[tuple[Op, object]]:
    return [(step.op, step.object.key[1] if step.object.cls != "filter" else "rule") for step in steps]


def test_class_goes_behind_the_rules_that_lead_to_it() -> None:
    whole = (HTB, TOP, OTHER, LEAF, _into("1:10"))
    gone, class_gone = (Op.DELETE, "rule"), (Op.DELETE, "1:10")
    assert _operations(_steps((HTB, TOP, OTHER), whole)) == [gone, class_gone]
    assert _operations(_steps((HTB, TOP, OTHER, _into("1:2")), whole)) == [(Op.CHANGE, "rule"), class_gone]
    in_chain = (HTB, TOP, OTHER, LEAF, _into("1:10", chain=7))
    assert _operations(_steps((HTB, OTHER), in_chain)) == [gone, class_gone, (Op.DELETE, "1:1")]


def test_class_that_moves_takes_its_rules_and_what_is_below_it_along() -> None:
    below, rules = LEAF._replace(key=("v0", "1:100")), (_into("1:100"), _into("1:10", "1:1"))
    below = below._replace(attrs={**below.attrs, "parent": "1:10"})
    inner = INNER._replace(key=("v0", "1:100"))
    rest = (below, inner, DEEP, *rules)
    got = _operations(_steps((HTB, TOP, OTHER, MOVED, *rest), (HTB, TOP, OTHER, LEAF, *rest)))
    assert got == [
        *[(Op.DELETE, name) for name in ("rule", "rule", "1:100", "1:10")],
        *[(Op.CREATE, name) for name in ("1:10", "1:100")],
        *[(Op.CHANGE, name) for name in ("1:100", "10:1")],
        *[(Op.CREATE, "rule")] * 2,
    ]


def test_class_that_gets_a_qdisc_is_rid_of_those_below_it_first() -> None:
    whole = (HTB, TOP, OTHER, LEAF, _into("1:10"))
    inner = INNER._replace(key=("v0", "1:1"))
    got = _operations(_steps((HTB, TOP, OTHER, inner, _into("1:2")), whole))
    assert got == [(Op.DELETE, "rule"), (Op.DELETE, "1:10"), (Op.CREATE, "1:1"), (Op.CREATE, "rule")]


def test_snapshot_holds_what_goes_with_a_class() -> None:
    whole = (HTB, TOP, OTHER, LEAF, INNER, DEEP, _into("1:10"))
    desired, actual = State((LINK, HTB, TOP, OTHER, MOVED)), State((LINK, *whole))
    kept = Snapshot.of(assemble(desired, actual, Owned()), actual).state()
    assert {obj.key for obj in kept} == {obj.key for obj in (LEAF, INNER, DEEP, _into("1:10"))}


def test_snapshot_holds_what_goes_with_a_qdisc() -> None:
    actual = State((LINK, *TREE, rule("10.0.0.1", "1:")))
    kept = Snapshot.of(Plan((Step(Op.DELETE, HTB, None),)), actual).state()
    assert {obj.key for obj in kept} == {obj.key for obj in actual} - {LINK.key}


def test_changed_action_is_one_change() -> None:
    rules = tuple(rule(f"10.0.0.{number}") for number in range(1, 200))
    changed = (*rules[:7], rule("10.0.0.8", action="pass"), *rules[8:])
    assert [(step.op, step.object.key) for step in _steps((CLSACT, *changed), (CLSACT, *rules))] == [
        (Op.CHANGE, rules[7].key)
    ]


def test_handle_that_the_kernel_gave_is_no_difference() -> None:
    have = rule("10.0.0.1")
    assert _steps((CLSACT, have), (CLSACT, have._replace(attrs={**have.attrs, "handle": 77}))) == []


def test_clsact_stays_while_others_use_its_other_hook() -> None:
    assert _steps((), (CLSACT._replace(attrs={**CLSACT.attrs, "in_use": True}),)) == []


IN_BLOCK = CLSACT._replace(attrs={**CLSACT.attrs, "hooks": (), "ingress_block": 7})


@pytest.mark.parametrize("blocks", [(None, 7), (7, 8), (7, None)])
def test_clsact_that_others_use_gets_no_other_block(blocks: tuple[int | None, int | None]) -> None:
    had, wanted = (CLSACT._replace(attrs={"kind": "clsact", "ingress_block": number}) for number in blocks)
    actual = had._replace(attrs={**had.attrs, "in_use": True})
    desired = wanted._replace(origin=Origin("hooks.yaml", 7, 3))
    with pytest.raises(
        ConfigError, match=r"^hooks\.yaml:7:3: another ingress_block takes a new clsact on v0, and some"
    ):
        assemble(State((LINK, desired)), State((LINK, actual)), Owned())


def test_rules_of_a_block_go_with_the_last_qdisc_that_shares_it() -> None:
    inner = rule("10.0.0.1")._replace(key=("block 7", "", 7, 10, ()))
    other = IN_BLOCK._replace(key=("v1", "clsact"))
    left = IN_BLOCK._replace(attrs={**CLSACT.attrs, "ingress_block": None})
    again = [(Op.DELETE, "qdisc"), (Op.CREATE, "qdisc")]
    alone = _steps((left,), (IN_BLOCK, inner))
    assert [(step.op, step.object.cls) for step in alone] == again
    shared = _steps((left, other), (IN_BLOCK, other, inner))
    assert [(step.op, step.object.cls) for step in shared] == [*again, (Op.DELETE, "filter")]


def test_snapshot_holds_the_rules_of_a_block_that_goes() -> None:
    inner = rule("10.0.0.1")._replace(key=("block 7", "", 7, 10, ()))
    kept = Snapshot.of(Plan((Step(Op.DELETE, IN_BLOCK, None),)), State((LINK, IN_BLOCK, inner))).state()
    assert {obj.key for obj in kept} == {IN_BLOCK.key, inner.key}


def test_hooks_are_those_named_and_those_with_rules() -> None:
    shared = CLSACT._replace(attrs={**CLSACT.attrs, "ingress_block": 7})
    assert hooks_of(State((CLSACT,))) == {("v0", "clsact"), ("v0", "ingress")}
    assert hooks_of(State((shared,))) == {("v0", "clsact"), ("v0", "ingress_block"), ("block 7", "")}
    assert hooks_of(State((CLSACT._replace(attrs={"kind": "clsact"}),))) == {("v0", "clsact")}
    assert hooks_of(State((HTB._replace(attrs={"kind": "codel", "handle": "1:"}),))) == {("v0", "root")}
    assert hooks_of(State((HTB, rule("10.0.0.1", "egress")))) == {("v0", "root"), ("v0", "1:"), ("v0", "egress")}


def test_rules_of_a_range_are_one_line() -> None:
    rules = [rule(f"10.0.{high}.{low}") for high in range(4) for low in range(1, 255)]
    shown = text(Plan(tuple(Step(Op.CREATE, None, obj, obj.attrs) for obj in rules))).splitlines()
    assert shown[0].startswith("+ filter v0 ingress pref 10 dst_ip 10.0.[0-3].[1-254]")
    assert shown[0].endswith("(1016)")


ATOMIC = Object("chain", ("v0", "ingress", 0), {"atomic": True})
FIRST, SECOND = SPARE, SPARE + 1


def _held(steps: list[Step], held: tuple[Object, ...] = ()) -> tuple[Object, ...]:
    """What is there after ``steps``."""
    state = State(held)
    for step in steps:
        if step.op is Op.DELETE:
            del state.classes[step.object.cls][step.object.key]
        else:
            state.add(step.object)
    return tuple(state)


def _replaced(want: tuple[Object, ...], have: tuple[Object, ...]) -> list[Step]:
    plan = assemble(State((LINK, CLSACT, ATOMIC, *want)), State((LINK, CLSACT, *have)), Owned())
    return [*singles(plan.steps)]


def _story(steps: list[Step]) -> list[tuple[Op, object]]:
    return [(step.op, step.object.key[2]) for step in steps]


def test_atomic_chain_is_built_beside_and_then_gone_to() -> None:
    first = _replaced((rule("10.0.0.1"), rule("10.0.0.2")), ())
    assert _story(first) == [(Op.CREATE, FIRST), (Op.CREATE, FIRST), (Op.CREATE, 0)]
    held = _held(first)
    second = _replaced((rule("10.0.0.1"), rule("10.0.0.3")), held)
    assert _story(second) == [
        (Op.CREATE, SECOND),
        (Op.CREATE, SECOND),
        (Op.CHANGE, 0),
        (Op.DELETE, FIRST),
        (Op.DELETE, FIRST),
    ]
    third = _replaced((rule("10.0.0.9"),), _held(second, held))
    assert _story(third) == [(Op.CREATE, FIRST), (Op.CHANGE, 0), (Op.DELETE, SECOND), (Op.DELETE, SECOND)]


@pytest.mark.parametrize("times", [1, 2])
def test_atomic_chain_that_holds_what_is_wanted_is_left_alone(times: int) -> None:
    held: tuple[Object, ...] = ()
    for number in range(times):
        held = _held(_replaced((rule(f"10.0.0.{number}"),), held), held)
    assert _replaced((rule(f"10.0.0.{times - 1}"),), held) == []


@pytest.mark.parametrize(
    "stray",
    [rule("10.0.0.1", action="pass"), rule("10.0.0.2")],
    ids=["changed_by_another_hand", "added_by_another_hand"],
)
def test_atomic_chain_with_a_stray_rule_is_replaced(stray: Object) -> None:
    held = _held(_replaced((rule("10.0.0.1"),), ()))
    moved = stray._replace(key=(*stray.key[:2], FIRST, *stray.key[3:]))
    assert (Op.CHANGE, 0) in _story(_replaced((rule("10.0.0.1"),), (*held, moved)))


def test_rules_of_a_hook_that_becomes_atomic_go_last() -> None:
    assert _story(_replaced((rule("10.0.0.1"),), (rule("10.0.0.1"),))) == [
        (Op.CREATE, FIRST),
        (Op.CREATE, 0),
        (Op.DELETE, 0),
    ]


def test_chain_is_whole_before_a_rule_goes_to_it_and_emptied_when_none_does() -> None:
    inner = rule("10.0.0.1")._replace(key=("v0", "ingress", 7, 10, ()))
    goto = rule("10.0.0.1", action="goto chain 7")
    assert _story(_steps((CLSACT, goto, inner), (CLSACT,))) == [(Op.CREATE, 7), (Op.CREATE, 0)]
    other = rule("10.0.0.1", action="drop")
    assert _story(_steps((CLSACT, other), (CLSACT, goto, inner))) == [(Op.CHANGE, 0), (Op.DELETE, 7)]


def _policer(rate: int) -> Object:
    return Object("action", ("police", 7), {"actions": ({"kind": "police", "rate": rate},)})


def _policed(address: str) -> Object:
    return rule(address)._replace(
        attrs={"kind": "flower", "protocol": "ip", "actions": ({"kind": "police 7"},), "handle": 1}
    )


def test_shared_action_is_there_before_its_filters_and_goes_after_them() -> None:
    whole = (CLSACT, _policer(1000), _policed("10.0.0.1"))
    want = [(Op.CREATE, "qdisc"), (Op.CREATE, "action"), (Op.CREATE, "filter")]
    assert [(step.op, step.object.cls) for step in _steps(whole, ())] == want
    want = [(Op.CREATE, "filter"), (Op.DELETE, "filter"), (Op.DELETE, "action")]
    assert [(step.op, step.object.cls) for step in _steps((CLSACT, rule("10.0.0.2")), whole)] == want


def test_shared_action_is_changed_alone() -> None:
    rules = tuple(_policed(f"10.0.0.{number}") for number in range(9))
    steps = _steps((CLSACT, _policer(2000), *rules), (CLSACT, _policer(1000), *rules))
    assert [(step.op, step.object.key) for step in steps] == [(Op.CHANGE, ("police", 7))]
    assert text(Plan(tuple(steps))).startswith("~ action police 7  actions (kind police rate 8kbit)")


def test_shared_action_is_known_when_no_file_names_it_any_more() -> None:
    assert ("action police", "7") in hooks_of(State((_policer(1000),)))


def _hashed(pref: int = 10, **match: object) -> Object:
    """A rule or a table of u32, read as a file would be."""
    parsed = filters.RECORDS["u32"].parse(match)
    assert isinstance(parsed, Mapping)
    return Object("filter", filters.key("v0", "ingress", 0, pref, parsed), {"kind": "u32", "protocol": "ip"})


TABLE, LOWER = _hashed(table=1, divisor=16), _hashed(table=2, divisor=16)
WAY, FURTHER = _hashed(link=1), _hashed(table=1, link=2)
LEAVES = tuple(_hashed(table=2, bucket=number, match=f"{number}/f at 0") for number in range(3))
HASHED = (TABLE, LOWER, WAY, FURTHER, *LEAVES)


def _told(steps: list[Step]) -> list[tuple[Op, Object]]:
    return [(step.op, step.object) for step in steps]


def test_hash_tables_are_there_before_their_rules_and_take_them_along() -> None:
    first = [step.object.key for step in _steps((CLSACT, *reversed(HASHED)), (CLSACT,))]
    assert set(first[:2]) == {TABLE.key, LOWER.key}
    assert len(first) == len(HASHED)
    assert _told(_steps((CLSACT,), (CLSACT, *HASHED))) == [(Op.DELETE, one) for one in (WAY, TABLE, LOWER)]


def test_hash_table_that_stays_is_never_without_rules() -> None:
    other = _hashed(link=1, match="1/1 at 0")
    want = [(Op.CREATE, other), (Op.DELETE, WAY)]
    assert _told(_steps((CLSACT, TABLE, other), (CLSACT, TABLE, WAY))) == want


@pytest.mark.parametrize(
    "other",
    [
        (_hashed(table=1, divisor=32), WAY),
        (_hashed(20, table=1, divisor=16), _hashed(20, link=1)),
        tuple(one._replace(attrs={**one.attrs, "protocol": "all"}) for one in (TABLE, WAY)),
    ],
    ids=["divisor", "preference", "protocol"],
)
def test_hash_table_that_changes_is_made_again_with_its_rules(other: tuple[Object, ...]) -> None:
    leaf = _hashed(table=1, bucket=1)
    stay = (_hashed(30, table=7, divisor=16), _hashed(30, link=7), rule("10.0.0.1"))
    got = _steps((CLSACT, *other, *stay), (CLSACT, TABLE, WAY, leaf, *stay))
    assert _told(got) == [*((Op.DELETE, one) for one in (WAY, TABLE)), *((Op.CREATE, one) for one in other)]


def test_snapshot_holds_what_goes_with_a_hash_table() -> None:
    kept = Snapshot.of(Plan((Step(Op.DELETE, LOWER, None),)), State((LINK, CLSACT, *HASHED))).state()
    assert kept.of("filter").keys() == {one.key for one in (LOWER, *LEAVES)}


def _emptied(have: tuple[Object, ...], want: tuple[Object, ...]) -> list[int]:
    """How many rules each message deletes."""
    plan = assemble(State((LINK, CLSACT, *want)), State((LINK, CLSACT, *have)), Owned())
    assert read_back(plan) == plan.steps
    return [1 if isinstance(step, Step) else len(step.steps) for step in plan.steps]


def test_rules_that_go_with_all_of_their_preference_are_one_message() -> None:
    many = tuple(rule(f"10.0.0.{number}") for number in range(9))
    other, table = (one._replace(key=(*one.key[:3], 20, *one.key[4:])) for one in (many[0], many[1]))
    assert _emptied((*many, other), ()) == [1, 9]
    assert _emptied(many, many[:1]) == [1] * 8
    assert _emptied((*many, other), many) == [1]
    assert _emptied(many, (rule("10.0.1.0"),)) == [1] * 10  # the new one is there by then
    words = tuple(one._replace(attrs={**one.attrs, "kind": "u32"}) for one in many)
    assert _emptied(words, ()) == [1] * 9
    assert _emptied((*many, other, table), ()) == [2, 9]


def test_rates_and_numbers_of_classes_are_shown_as_one_writes_them() -> None:
    qdisc = Object("qdisc", ("e0", "root"), {"kind": "htb", "handle": "1:", "default": 0xFFF0})
    slow = Object("tclass", ("e0", "1:10"), {"kind": "htb", "parent": "1:", "rate": 1_250_000, "ceil": 12_500})
    fast = slow._replace(attrs={**slow.attrs, "rate": 125_000_000, "ceil": 0})
    steps = (Step(Op.CREATE, None, qdisc, qdisc.attrs), Step(Op.CHANGE, slow, fast, fast.attrs))
    shown = text(Plan(steps))
    assert "default 0xfff0" in shown
    assert "rate 10mbit -> 1gbit  ceil 100kbit -> 0\n" in shown


def test_class_is_called_what_files_call_it() -> None:
    plan = assemble(State((LINK, *TREE)), State((LINK,)), Owned())
    assert "+ class v0  1:1" in text(plan)
    assert told("tclass", TOP.key) == "class v0 1:1"


def test_rules_of_one_line_are_told_apart_by_what_is_there() -> None:
    drop, other = rule("10.0.0.1").attrs, rule("10.0.0.1", action="pass").attrs
    hosts = [rule(f"10.0.0.{number}") for number in range(1, 6)]
    wants = [host._replace(attrs=drop if number < 4 else other) for number, host in enumerate(hosts)]
    haves = [host._replace(attrs=other if number == 2 else drop) for number, host in enumerate(hosts)]
    changes = diff(State((LINK, CLSACT, *wants)), State((LINK, CLSACT, *haves)), Owned())
    assert [step.object for step in changes.steps] == [wants[2], wants[4]]
