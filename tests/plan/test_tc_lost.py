# SPDX-License-Identifier: GPL-2.0-or-later
"""What of traffic control goes with something else, or is in its way, and comes back."""

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.model.state import Attrs, Object, State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from tests.plan.test_tc import CLSACT, LINK, rule

OWNED = Owned(frozenset({7}))
BELOW = Object("link", ("up0",), {"kind": "dummy"})
BEFORE, AFTER = (
    Object("link", ("w0",), {"kind": "vlan", "link": "up0", "group": 7, "id": number}) for number in (5, 6)
)


def _steps(plan: Plan) -> list[Step]:
    return [step for step in singles(plan.steps) if step.object.cls != "link"]


@pytest.mark.parametrize("said", [{"kind": "mirred", "egress": "redirect", "dev": "w0"}, {"kind": "mirred 7"}])
def test_what_redirects_to_a_link_that_is_made_anew_is_told_again(said: Attrs) -> None:
    into = rule("10.0.0.1")._replace(attrs={"kind": "flower", "protocol": "ip", "actions": (said,)})
    shared = Object("action", ("mirred", 7), {"actions": ({"kind": "mirred", "egress": "redirect", "dev": "w0"},)})
    same = (LINK, BELOW, CLSACT, into, shared)
    steps = _steps(assemble(State((*same, AFTER)), State((*same, BEFORE)), OWNED))
    stale = into if said["kind"] == "mirred" else shared
    assert [(step.op, step.object.key, step.why) for step in steps if step.object is stale] == [
        (Op.CHANGE, stale.key, "")
    ]
    assert {step.object.cls for step in steps} <= {"filter", "action"}


@pytest.mark.parametrize(("others", "lost"), [((), True), (("v0",), False)])
def test_rules_of_a_block_go_with_the_last_link_that_is_in_it(others: tuple[str, ...], lost: bool) -> None:
    shared = [
        Object("qdisc", (name, "clsact"), {"kind": "clsact", "handle": "ffff:", "ingress_block": 3})
        for name in ("w0", *others)
    ]
    stays, goes = (rule(address)._replace(key=("block 3", "", 0, 10, (("dst_ip", address),))) for address in "ab")
    actual = State((LINK, BELOW, BEFORE, *shared, stays, goes))
    plan = assemble(State((LINK, BELOW, AFTER, *shared, stays)), actual, OWNED)
    steps = [step for step in _steps(plan) if step.object.cls == "filter"]
    assert [(step.op, step.object.key) for step in steps] == [
        (Op.DELETE, goes.key),
        *([(Op.CHANGE, stays.key)] if lost else []),
    ]
    kept = Snapshot.of(plan, actual).state().of("filter").keys()
    assert kept == {obj.key for obj in ((stays, goes) if lost else (goes,))}


def _template(said: str) -> Object:
    return Object("chain", ("v0", "ingress", 5), {"protocol": "ip", "flower": {said: "0.0.0.0/255.255.255.255"}})


@pytest.mark.parametrize(
    ("wanted", "had", "want"),
    [
        ((_template("dst_ip"),), (), [(Op.CREATE, "chain")]),
        ((), (_template("dst_ip"),), [(Op.DELETE, "chain")]),
        ((_template("dst_ip"),), (_template("src_ip"),), [(Op.DELETE, "chain"), (Op.CREATE, "chain")]),
    ],
    ids=["gets_one", "loses_it", "gets_another"],
)
def test_chain_is_empty_when_its_template_changes(
    wanted: tuple[Object, ...], had: tuple[Object, ...], want: list[tuple[Op, str]]
) -> None:
    stays, goes = (rule(address)._replace(key=("v0", "ingress", 5, 10, (("dst_ip", address),))) for address in "ab")
    elsewhere = rule("10.0.0.1")
    both = (LINK, CLSACT, stays, elsewhere)
    steps = _steps(assemble(State((*both, *wanted)), State((*both, goes, *had)), OWNED))
    assert [(step.op, step.object.cls) for step in steps] == [
        *[(Op.DELETE, "filter")] * 2,
        *want,
        (Op.CREATE, "filter"),
    ]
    assert {step.object.key for step in steps} == {obj.key for obj in (stays, goes, *wanted, *had)}


def test_chain_that_gets_a_template_is_rid_of_other_rules_before() -> None:
    goes = rule("10.0.0.1")._replace(key=("v0", "ingress", 5, 10, ()))
    steps = _steps(assemble(State((LINK, CLSACT, _template("dst_ip"))), State((LINK, CLSACT, goes)), OWNED))
    assert [(step.op, step.object.cls) for step in steps] == [(Op.DELETE, "filter"), (Op.CREATE, "chain")]
