# SPDX-License-Identifier: GPL-2.0-or-later
"""Every attribute of every class of layer 3 on a real kernel: made, changed, taken away; nothing to do after each."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.request import Selection
from netgroupd.model import CLASSES
from netgroupd.model.state import Object, State
from netgroupd.plan.diff import diff
from netgroupd.plan.link import Owned
from netgroupd.plan.step import Op, Step
from tests.vm.l3_cases import CASES, SETTINGS, SETUP, Case

_SELECTION = Selection(
    classes=frozenset(CLASSES),
    links=frozenset({"p0", "br0", "vx0", "vx1", "vx2"}),
    settings=frozenset(str(case.key[0]) for case in CASES if case.cls == "sysctl"),
)
_LASTING = frozenset({"sysctl"})  # what was there before nobody knows, so it is not taken back
# Traffic control has a list of its own.
_ELSEWHERE = frozenset({"link", "qdisc", "tclass", "action", "chain", "filter"})


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """The kernel with the links that the cases stand on."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    for path, value in SETTINGS.items():
        (Path("/proc/sys") / path).write_text(value, encoding="utf-8")
    with Kernel() as opened:
        yield opened


def _pending(kernel: Kernel, cls: str, wanted: tuple[Object, ...]) -> tuple[Step, ...]:
    """What the pipeline would do to have ``wanted`` and nothing else of its own."""
    actual = kernel.dump(_SELECTION)
    owned = Owned()
    desired = State((*wanted, *(obj for obj in actual if obj.cls != cls)))
    return diff(desired, actual, owned).steps


def _reach(kernel: Kernel, cls: str, *wanted: Object) -> tuple[Step, ...]:
    """Make it so, and make sure of it."""
    steps = _pending(kernel, cls, wanted)
    refused = kernel.apply(steps)
    assert not refused, [str(one.refusal) for one in refused]
    assert _pending(kernel, cls, wanted) == ()
    return steps


def test_every_attribute_of_every_class_has_a_case() -> None:
    tried = {(case.cls, case.name) for case in CASES}
    described = {(name, attr) for name, cls in CLASSES.items() if name not in _ELSEWHERE for attr in cls.attrs}
    assert described - tried == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_attribute_is_set_changed_and_taken_away(kernel: Kernel, case: Case) -> None:
    keys = {case.object(value).key for value in (case.first, case.second)}
    created = _reach(kernel, case.cls, case.object(case.first))
    assert [step.op for step in created] == [Op.CREATE] or case.cls in _LASTING
    _reach(kernel, case.cls, case.object(case.second))
    for have in [have for have in kernel.dump(_SELECTION).of(case.cls).values() if have.key in keys]:
        assert not kernel.apply([Step(Op.DELETE, have, None)])
    left = kernel.dump(_SELECTION).of(case.cls)
    assert case.cls in _LASTING or not keys & left.keys()
