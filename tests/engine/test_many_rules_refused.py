# SPDX-License-Identifier: GPL-2.0-or-later
"""One rule that is refused among 100,000, or all of them: how much that takes, counted, and that all is as it was."""

import errno
import sys
from collections.abc import Callable, Iterable
from types import FrameType

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.errors import KernelError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Key, Object, Origin, State
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Step
from netgroupd.plan.tc.hooks import ON_QDISCS, hooks_of

_MANY = 100_000
_HAD = 20_000  # those that are in the way
_FEW_MESSAGES = 16
_LINK = Object("link", ("v0",), {"kind": "dummy", "up": True, "group": 0, "mtu": 1500})
_CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "handle": "ffff:", "hooks": ("ingress",)})
_ATOMIC = Object("chain", ("v0", "ingress", 0), {"atomic": True})
_BAD = "99.0.0.1"
_BAD_LINE = "rules.yaml:7"


def _rules(net: int, count: int, pref: int, **more: Value) -> list[Object]:
    """The rules of one line."""
    attrs = {"kind": "flower", "protocol": "ip", "actions": ({"kind": "gact", "control": "drop"},), **more}
    matches = ((("dst_ip", f"{net}.{n >> 16}.{n >> 8 & 255}.{n & 255}"),) for n in range(count))
    origin = Origin("rules.yaml", pref)
    return [Object("filter", ("v0", "ingress", 0, pref, match), attrs, origin) for match in matches]


def _with_bad(count: int, pref: int) -> list[Object]:
    """Rules with one in their middle that is refused."""
    (like,) = _rules(10, 1, pref)
    bad = like._replace(key=(*like.key[:4], (("dst_ip", _BAD),)), origin=Origin("rules.yaml", 7))
    return [*_rules(10, count // 2, 1), bad, *_rules(11, count - count // 2 - 1, 3)]


def _refuses(step: AnyStep) -> int:
    bad = isinstance(step, Step) and step.after and ("dst_ip", _BAD) in step.after.key[-1]  # type: ignore[operator]
    return errno.EOPNOTSUPP if bad else 0


def _refuses_all(step: AnyStep) -> int:
    return errno.EOPNOTSUPP if isinstance(step, Step) and step.after and step.after.cls == "filter" else 0


def _numbered(kernel: FakeKernel) -> None:
    """Give each rule a handle, as the kernel does."""
    rules = kernel.state.of("filter").values()
    for number, rule in enumerate([*rules], 1):
        kernel.state.add(rule._replace(attrs={**rule.attrs, "handle": number}))


def _there(kernel: FakeKernel) -> dict[Key, dict[str, Value]]:
    return {key: dict(rule.attrs) for key, rule in kernel.state.of("filter").items()}


class _Change:
    """From one set of rules to another."""

    def __init__(self, had: Iterable[Object], want: Iterable[Object]) -> None:
        self.kernel = FakeKernel((_LINK, _CLSACT))
        self.mine = Mine(hooks=hooks_of(State((_CLSACT,))), classes=ON_QDISCS)
        self._reach(State((_CLSACT, *had)))
        _numbered(self.kernel)
        self.kernel.messages = 0
        self._goal = State((_CLSACT, *want))

    def _reach(self, goal: State) -> None:
        converge(self.kernel, plan_for(self.kernel, goal, self.look(goal), self.mine), goal, self.mine)

    def look(self, goal: State) -> State:
        return look(self.kernel, goal, self.mine)

    def go(self) -> KernelError:
        """Have it refused; what the operator is told.  Everything is put back."""
        actual = self.look(self._goal)
        plan = plan_for(self.kernel, self._goal, actual, self.mine)
        before = Snapshot.of(plan, actual)
        with pytest.raises(KernelError) as caught:
            converge(self.kernel, plan, self._goal, self.mine)
        self.forth, self.kernel.messages = self.kernel.messages, 0
        put_back(self.kernel, before, self.mine)
        return caught.value


@pytest.mark.parametrize("pref", [1, 2], ids=["within_its_preference", "alone_in_its_preference"])
def test_refusal_in_an_empty_hook_is_undone_in_a_few_messages(pref: int) -> None:
    change = _Change((), _with_bad(_MANY, pref))
    change.kernel.refuse = _refuses
    error = change.go()
    assert [refusal.origin for refusal in error.refusals] == [_BAD_LINE]
    assert change.forth < _MANY // 2 + _FEW_MESSAGES
    assert change.kernel.messages < _FEW_MESSAGES
    assert _there(change.kernel) == {}


def test_rules_that_are_replaced_come_back_with_a_message_each() -> None:
    change = _Change(_rules(20, _HAD, 7), _with_bad(_HAD, 2))
    had = _there(change.kernel)
    change.kernel.refuse = _refuses
    error = change.go()
    assert [refusal.origin for refusal in error.refusals] == [_BAD_LINE]
    assert change.forth < _HAD // 2 + _FEW_MESSAGES
    assert change.kernel.messages < _HAD + _FEW_MESSAGES
    assert _there(change.kernel) == had


def test_rules_of_an_atomic_chain_stay_while_the_new_ones_go_in_a_few_messages() -> None:
    change = _Change((_ATOMIC, *_rules(20, _HAD, 7)), (_ATOMIC, *_with_bad(_HAD, 2)))
    had = _there(change.kernel)
    change.kernel.refuse = _refuses
    error = change.go()
    assert [refusal.origin for refusal in error.refusals] == [_BAD_LINE]
    assert change.forth < _HAD // 2 + _FEW_MESSAGES
    assert change.kernel.messages < _FEW_MESSAGES
    assert _there(change.kernel) == had


def test_line_of_which_all_is_refused_is_given_up_at_once_and_told_once() -> None:
    change = _Change((), _rules(10, _MANY, 7))
    change.kernel.refuse = _refuses_all
    error = change.go()
    assert [refusal.origin for refusal in error.refusals] == [_BAD_LINE]
    assert change.forth < _FEW_MESSAGES
    assert change.kernel.messages < _FEW_MESSAGES


def _one_refused(count: int) -> None:
    change = _Change(_rules(20, count, 7), _with_bad(count, 2))
    change.kernel.refuse = _refuses
    change.go()


def _one_refused_of_an_atomic_chain(count: int) -> None:
    change = _Change((_ATOMIC, *_rules(20, count, 7)), (_ATOMIC, *_with_bad(count, 2)))
    change.kernel.refuse = _refuses
    change.go()


def _all_left_out(count: int) -> None:
    change = _Change((), ())
    change.kernel.refuse = _refuses_all
    goal = State((_CLSACT, *_rules(10, count, 7, optional=True)))
    plan = plan_for(change.kernel, goal, change.look(goal), change.mine)
    assert len(converge(change.kernel, plan, goal, change.mine).refused) == count


def _calls(work: Callable[[int], None], count: int) -> int:
    """How many calls it takes."""
    calls = 0

    def note(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        work(count)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("work", [_one_refused, _one_refused_of_an_atomic_chain, _all_left_out])
def test_refusal_among_four_times_as_many_takes_four_times_the_work(work: Callable[[int], None]) -> None:
    work(8)  # what is imported, and remembered
    assert _calls(work, 4000) < 4.2 * _calls(work, 1000)
