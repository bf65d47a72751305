# SPDX-License-Identifier: GPL-2.0-or-later
"""A hook, or a block, whose chains are replaced together, by the engine's own stages on a real kernel."""

import subprocess
from collections.abc import Iterator

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Key, Object, Origin, State
from netgroupd.model.tc.chain import chain_of, led_to
from netgroupd.plan.present import text
from netgroupd.plan.tc.beside import unplaced
from netgroupd.plan.tc.hooks import ON_QDISCS, hooks_of
from tests.config.reading import desired
from tests.vm.tc_cases import CLSACT, SETUP, hook_in, rule

_HOOK = Object("chain", ("v0", "ingress", None), {"atomic": True})


@pytest.fixture
def kernel() -> Iterator[Kernels]:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    with Kernels() as opened:
        yield opened


def _rules(last: str, count: int = 40) -> list[Object]:
    """A policy of three chains."""
    kinds = [rule("u32", {"match": {"ip dst": f"10.0.1.{n}"}}, chain=7, pref=n, actions=last) for n in range(1, 4)]
    return [
        rule("flower", {"dst_ip": "10.0.0.0/8"}, protocol="ip", actions=[{"skbedit": {"mark": 7}}, "goto chain 5"]),
        *(
            rule("flower", {"src_ip": f"10.0.0.{n}"}, protocol="ip", chain=5, actions=last if n % 2 else "goto chain 7")
            for n in range(count)
        ),
        rule("matchall", {}, chain=7, pref=100, actions="drop"),
        *kinds,
    ]


def _goal(*objects: Object) -> tuple[State, Mine]:
    goal = State((CLSACT, *objects))
    return goal, Mine(hooks=hooks_of(goal), classes=ON_QDISCS)


def _reach(kernel: Kernels, *objects: Object) -> tuple[Snapshot, Mine]:
    """Have them, with nothing to do after it; what was there before."""
    goal, mine = _goal(*objects)
    before = look(kernel, goal, mine)
    plan = plan_for(kernel, goal, before, mine)
    converge(kernel, plan, goal, mine)
    assert plan_for(kernel, goal, look(kernel, goal, mine), mine).steps == ()
    return Snapshot.of(plan, before), mine


def _there(kernel: Kernels) -> dict[Key, object]:
    """What the rules do, as the configuration has them."""
    found = kernel.dump(Selection(classes=ON_QDISCS, everything=True))
    return {key: one.attrs["actions"] for key, one in unplaced(found).of("filter").items()}


def test_policy_comes_is_replaced_and_is_put_back(kernel: Kernels) -> None:
    _reach(kernel, _HOOK, *_rules("pass"))
    first = _there(kernel)
    assert first.keys() == {one.key for one in _rules("pass")}
    before, mine = _reach(kernel, _HOOK, *_rules("drop", 30))
    assert _there(kernel).keys() == {one.key for one in _rules("drop", 30)}
    put_back(kernel, before, mine)
    assert _there(kernel) == first


def test_each_way_leads_to_rules_that_are_there(kernel: Kernels) -> None:
    _reach(kernel, _HOOK, *_rules("pass"))
    _reach(kernel, _HOOK, *_rules("drop"))
    rules = kernel.dump(Selection(classes=ON_QDISCS, everything=True)).of("filter")
    there = {chain_of(key) for key in rules}
    assert {number for one in rules.values() for number in led_to(one.attrs)} == there - {0}


@pytest.mark.parametrize("numbers", [(), (0, 5), (7,)], ids=["plain", "chains", "one_chain"])
def test_hook_becomes_one_and_many_again(kernel: Kernels, numbers: tuple[int, ...]) -> None:
    chains = [Object("chain", ("v0", "ingress", number), {"atomic": True}) for number in numbers]
    for _ in range(2):
        _reach(kernel, *chains, *_rules("pass"))
        before, mine = _reach(kernel, _HOOK, *_rules("drop"))
    had = _there(kernel)
    put_back(kernel, before, mine)
    assert _there(kernel) != had
    _reach(kernel, _HOOK)
    _reach(kernel)
    assert _there(kernel) == {}


@pytest.mark.parametrize("optional", [False, True])
def test_refused_rule_leaves_the_old_policy_or_is_left_out(kernel: Kernels, optional: bool) -> None:
    _reach(kernel, _HOOK, *_rules("pass"))
    had = _there(kernel)
    rules = _rules("drop")
    bad = {"skip_sw": True, "optional": optional}  # no link here has the hardware for it
    rules[9] = rules[9]._replace(attrs={**rules[9].attrs, **bad}, origin=Origin("rules.yaml", 7))
    goal, mine = _goal(_HOOK, *rules)
    before = look(kernel, goal, mine)
    plan = plan_for(kernel, goal, before, mine)
    if optional:
        assert [one.refusal.origin for one in converge(kernel, plan, goal, mine).refused] == ["rules.yaml:7"]
        assert _there(kernel).keys() == {one.key for one in rules} - {rules[9].key}
        return
    with pytest.raises(KernelError) as caught:
        converge(kernel, plan, goal, mine)
    (refusal,) = caught.value.refusals
    assert (refusal.origin, refusal.what) == (
        "rules.yaml:7",
        "create filter v0 ingress chain 5 pref 10 src_ip 10.0.0.8",
    )
    put_back(kernel, Snapshot.of(plan, before), mine)
    assert _there(kernel) == had


def test_block_is_replaced_as_one(kernel: Kernels) -> None:
    def in_block(one: Object) -> Object:
        return one._replace(key=("block 7", "", *one.key[2:]))

    for last in ("pass", "drop"):
        goal = State((hook_in(7), in_block(_HOOK), *map(in_block, _rules(last))))
        mine = Mine(hooks=hooks_of(goal), classes=ON_QDISCS)
        plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
        converge(kernel, plan, goal, mine)
        assert plan_for(kernel, goal, look(kernel, goal, mine), mine).steps == ()
        assert "+ filter block 7 chain 5" in text(plan) or "~ filter block 7 chain 5" in text(plan)


def test_what_is_captured_is_what_is_there(kernel: Kernels) -> None:
    _reach(kernel, _HOOK, *_rules("pass"))
    there = kernel.dump(Selection(classes=ON_QDISCS, everything=True))
    found = desired(captured(there, {}, {}), known=("v0", "v2")).state
    assert [*found.of("chain")] == [_HOOK.key]
    mine = Mine(hooks=hooks_of(found), classes=ON_QDISCS)
    goal = State(obj for obj in found if obj.cls != "link")
    assert plan_for(kernel, goal, look(kernel, goal, mine), mine).steps == ()
