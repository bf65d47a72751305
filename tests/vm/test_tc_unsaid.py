# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that another hand put where all rules are owned, and that no configuration can say: seen, told, deleted."""

import subprocess
from collections.abc import Iterator

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.plan.present import text
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from netgroupd.plan.tc.hooks import ON_QDISCS, hooks_of
from tests.vm.tc_cases import CLSACT, SETUP, rule

_OURS = rule("flower", {"dst_ip": "10.0.0.9"}, protocol="ip", pref=9, actions="drop")
_ALSO_READ = rule("u32", {"match": {"ip dst": "10.0.0.7"}}, protocol="ip", pref=6, actions="drop")
_THEIRS = (
    "pref 5 route to 10 action drop",
    "pref 5 route to 11 action drop",
    "pref 6 u32 match ip dst 10.0.0.7 police rate 1mbit burst 10k drop",
    "pref 6 u32 match ip dst 10.0.0.7 police rate 2mbit burst 10k drop",
    "pref 6 u32 match ip dst 10.0.0.7 action drop",
    "pref 7 handle 3 fw indev v0 action drop",
    "pref 8 flower dst_ip 10.0.0.8 action skbmod swap mac",
)
_WORD = "0x0a000007/0xffffffff at 16"
_SHOWN = [
    "- filter v0 ingress pref 8 dst_ip 10.0.0.8",
    "- filter v0 ingress pref 7 mark 0x3 protocol ip kind fw handle 0x3",
    f"- filter v0 ingress pref 6 match {_WORD} protocol ip kind u32 handle 0x[80000801-80000802] (2)",
    f"- filter v0 ingress pref 6 match {_WORD}",
    "- filter v0 ingress pref 5 protocol ip kind route handle 0xffff000b",
    "- filter v0 ingress pref 5 protocol ip kind route handle 0xffff000a",
]


@pytest.fixture
def kernel() -> Iterator[Kernels]:
    """The kernel with a hook that is ours, and theirs in it."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    with Kernels() as opened:
        _reach(opened, _goal(CLSACT, _OURS))
        for said in _THEIRS:
            subprocess.run(["tc", *f"filter add dev v0 ingress protocol ip {said}".split()], check=True)
        yield opened


def _goal(*objects: Object) -> State:
    return State(objects)


_MINE = Mine(hooks=hooks_of(State((CLSACT,))), classes=ON_QDISCS)


def _reach(kernel: Kernels, goal: State) -> None:
    converge(kernel, plan_for(kernel, goal, look(kernel, goal, _MINE), _MINE), goal, _MINE)
    assert plan_for(kernel, goal, look(kernel, goal, _MINE), _MINE).steps == ()


def _there() -> str:
    return subprocess.run(
        ["tc", "filter", "show", "dev", "v0", "ingress"], capture_output=True, check=True, text=True
    ).stdout


def test_rules_that_no_file_can_say_are_shown_and_deleted(kernel: Kernels) -> None:
    goal = _goal(CLSACT, _OURS)
    *lines, warning, _ = text(plan_for(kernel, goal, look(kernel, goal, _MINE), _MINE)).splitlines()
    assert lines == _SHOWN
    assert warning.startswith(
        "! no rollback brings these back, for they have what no file can say: filter v0 ingress p"
    )
    _reach(kernel, goal)
    assert [kind for kind in ("route", "u32", "fw", "skbmod", "flower") if f" {kind} " in _there()] == ["flower"]


def test_rule_takes_the_preference_of_one_that_no_file_can_say(kernel: Kernels) -> None:
    in_place = [rule("matchall", {}, pref=pref, actions="pass") for pref in (5, 6, 7)]
    _reach(kernel, _goal(CLSACT, _OURS, *in_place))


def test_rule_that_matches_the_same_is_not_taken_for_one_that_does_more(kernel: Kernels) -> None:
    _reach(kernel, _goal(CLSACT, _OURS, _ALSO_READ))
    assert "police" not in _there()


def test_only_what_can_be_said_is_put_back(kernel: Kernels) -> None:
    goal = _goal(CLSACT, _OURS)
    before = look(kernel, goal, _MINE)
    plan = plan_for(kernel, goal, before, _MINE)
    converge(kernel, plan, goal, _MINE)
    put_back(kernel, Snapshot.of(plan, before), _MINE)
    found = kernel.dump(Selection(classes=frozenset({"filter"}), hooks=_MINE.hooks)).of("filter")
    assert found.keys() == {_OURS.key, _ALSO_READ.key}


def test_rules_are_left_alone_while_nothing_differs_in_what_is_put_back(kernel: Kernels) -> None:
    goal = _goal(CLSACT, _OURS, _ALSO_READ)
    before, shown = look(kernel, goal, _MINE), _there()
    plan = plan_for(kernel, goal, before, _MINE)
    put_back(kernel, Snapshot.of(plan, before), _MINE)
    assert _there() == shown


def test_rule_that_the_kernel_cannot_get_past_goes_and_what_is_behind_it_stays(kernel: Kernels) -> None:
    behind = [
        rule("flower", {"dst_ip": "10.0.0.9"}, protocol="ip", pref=65000, actions="drop"),
        rule("flower", {"dst_ip": "10.0.0.8"}, protocol="ip", pref=65535, chain=3, actions="drop"),
    ]
    goal = _goal(CLSACT, _OURS, *behind)
    _reach(kernel, goal)
    shown = _there()
    stuck = {(0, 64999), (0, 65001), (3, 65533), (5, 65000)}
    for chain, pref in stuck:
        words = f"filter add dev v0 ingress chain {chain} pref {pref} protocol all fw"
        subprocess.run(["tc", *words.split()], check=True)
    plan = plan_for(kernel, goal, look(kernel, goal, _MINE), _MINE)
    assert {(step.op, *step.object.key[2:4]) for step in singles(plan.steps)} == {
        (Op.DELETE, *where) for where in stuck
    }
    assert plan.warnings[0].startswith("no rollback brings these back")
    _reach(kernel, goal)
    assert _there() == shown


def test_capture_tells_what_it_leaves_out(kernel: Kernels) -> None:
    there = kernel.dump(Selection(classes=ON_QDISCS, everything=True))
    comments = [line.partition(": ") for line in captured(there, {}, {}).splitlines() if line.startswith("#")]
    assert [
        (told.partition("there is no ")[2].partition(" in a ")[0], names.count("filter v0"))
        for told, _, names in comments
    ] == [
        ("classifier route", 2),
        ("u32 that says all of this", 1),
        ("fw that says all of this", 1),
        ("action skbmod", 1),
    ]
