# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that change one behind the other: each message is what it is alone, and costs little."""

from collections.abc import Mapping

import pytest

from netgroupd.kernel.names import Names
from netgroupd.kernel.tc.filters import codec as filters
from netgroupd.kernel.tc.filters.frame import _Frames
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.compare import differing
from netgroupd.plan.step import Op, Step
from tests.instructions import instructions

_MATCH: Mapping[str, Attrs] = {
    "u32": {"match": ("0x0a000001/0xffffffff at 16",)},
    "fw": {"mark": "0x1"},
    "basic": {"match": "meta(fwmark eq 1)"},
    "bpf": {"bytecode": "1,6 0 0 0"},
    "flower": {"dst_ip": "10.0.0.1"},
}
_DROP, _PASS = ({"kind": "gact", "control": "drop"},), ({"kind": "gact", "control": "pass"},)


def _step(kind: str, number: int, after: Attrs, *, pref: int = 5, where: str = "v0") -> Step:
    """A rule that has a handle of its own, and is to be as ``after`` says."""
    key = (where, "ingress", 0, pref, tuple(_MATCH[kind].items()))
    common: Attrs = {"kind": kind, "protocol": "ip"}
    have = Object("filter", key, {**common, "actions": _DROP, "skip_hw": False, "handle": number})
    want = Object("filter", key, {**common, **after})
    return Step(Op.CHANGE, have, want, differing(want, have))


@pytest.mark.parametrize("kind", _MATCH)
def test_rules_that_change_have_the_messages_of_each_alone(
    names: Names, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    steps = [
        *(_step(kind, number, {"actions": _PASS}) for number in (1, 2)),
        _step(kind, 3, {"classid": "1:5"}),
        _step(kind, 4, {"actions": _PASS, "classid": "1:5"}),
        *(_step(kind, number, {"actions": _PASS, "skip_hw": True}) for number in (5, 6)),
        _step(kind, 7, {"actions": _PASS, "skip_hw": True}, pref=6),
        _step(kind, 8, {"actions": _PASS, "skip_hw": True}, pref=6, where="v1"),
        _step(kind, 9, {"actions": _PASS, "handle": 77}),
    ]
    got = [filters._write(step, names) for step in steps]
    alone = []
    for step in steps:
        monkeypatch.setattr(filters, "frames", _Frames())
        alone.append(filters._write(step, names))
    assert got == alone
    assert len({*got}) == len(steps)


def test_rule_that_changes_is_on_the_link_that_has_its_name_now(names: Names) -> None:
    first = filters._write(_step("u32", 1, {"actions": _PASS}), names)
    names.forget("v0")
    names.note("v0", 4711)
    assert filters._write(_step("u32", 1, {"actions": _PASS}), names) != first


def test_rules_that_change_alike_take_few_steps_each(names: Names) -> None:
    steps = [_step("u32", number, {"actions": _PASS}) for number in range(1, 101)]
    assert instructions(lambda: [filters._write(step, names) for step in steps]) < 1200 * len(steps)
