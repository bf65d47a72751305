# SPDX-License-Identifier: GPL-2.0-or-later
"""What netgroupd itself does for each of many links that it makes: beside the kernel's part it shall be little."""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.features import Features
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.present import text
from netgroupd.plan.step import AnyStep
from tests.engine.desk import Desk
from tests.instructions import instructions

T = TypeVar("T")

_FEW, _MANY = 10, 30  # VLANs, each of six ports and with a bridge
_MORE = 7 * (_MANY - _FEW)
_WORDS, _ALL_ELSE = 820, 1690
_LOOKS = 4  # at the links for the files and for the plan, at what is on them, and at links of that name


class _Apart(FakeKernel):
    """One whose own work is not counted, and that notes how often it was read before it was told anything."""

    def __init__(self) -> None:
        super().__init__(features=Features(dump_group=True, new_group=True, group_mask=True))
        self.looks = 0
        self.told = False

    def dump(self, selection: Selection) -> State:
        self.looks += not self.told
        return _uncounted(lambda: super(_Apart, self).dump(selection))

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        self.told = True
        return _uncounted(lambda: super(_Apart, self).apply(steps, progress))


def _uncounted(run: Callable[[], T]) -> T:
    tracing = sys.gettrace()
    sys.settrace(None)
    try:
        return run()
    finally:
        sys.settrace(tracing)


@pytest.fixture
def kernel(desk: Desk) -> _Apart:
    desk.kernel = found = _Apart()
    return found


def wants(desk: Desk, vlans: int) -> None:
    ports = "p[0-5]"
    desk.wants(
        f"groups: {{all: {{id: 42, up: true}}}}\nlinks:\n  {ports}: {{kind: dummy, group: all}}\n"
        f'  br[v=1-{vlans}]: {{kind: bridge, stp: true, group: all, ports: "{ports}.{{v}}"}}\n'
    )


@pytest.mark.usefixtures("kernel")
def test_words_for_one_link_of_many_serve_the_next(desk: Desk) -> None:
    def told(vlans: int) -> int:
        wants(desk, vlans)
        plan = desk.engine.diff()
        return instructions(lambda: text(plan))

    assert told(_MANY) - told(_FEW) < _WORDS * _MORE


@pytest.mark.usefixtures("kernel")
def test_link_that_is_made_takes_few_instructions_beside_the_kernels(desk: Desk) -> None:
    def made(vlans: int) -> int:
        desk.wants("{}")
        desk.engine.apply()
        wants(desk, vlans)
        return instructions(desk.engine.apply)

    made(1)  # what is imported and remembered once
    assert made(_MANY) - made(_FEW) < _ALL_ELSE * _MORE


def test_host_without_links_is_looked_at_once(desk: Desk, kernel: _Apart) -> None:
    wants(desk, _FEW)
    desk.engine.apply()
    assert kernel.looks <= _LOOKS
