# SPDX-License-Identifier: GPL-2.0-or-later
"""Let packets that are on a way which was closed behind them come to its end, before the way is taken up."""

import ctypes
import os
import time
from collections.abc import Sequence

from netgroupd.plan.step import AnyStep, Op, Step, cls_of
from netgroupd.plan.tc.atomic import is_switch

# membarrier(2), which neither Python nor the C library of Debian 12 has.
_MEMBARRIER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "ppc64le": 365, "s390x": 356}
_GLOBAL = 1
_LONG_S = 0.1  # many times what a packet takes


def passed() -> None:
    """Wait until no packet is where it was: the kernel does that for a barrier of all threads of the host."""
    number = _MEMBARRIER.get(os.uname().machine)
    if number is None or ctypes.CDLL(None).syscall(number, _GLOBAL, 0, 0):
        time.sleep(_LONG_S)


def taken_up(steps: Sequence[AnyStep]) -> list[int]:
    """Before which steps to wait: before filters that are deleted last, behind a rule that led packets to them.

    What is still led to others itself ends before those do.
    """
    start = len(steps)
    while start and (last := steps[start - 1]).op is Op.DELETE and cls_of(last) in _LAST:
        start -= 1
    emptied = start
    while emptied < len(steps) and _leads_on(steps[emptied]):
        emptied += 1
    return [place for place in sorted({start, emptied}) if 0 < place < len(steps)]


def _leads_on(step: AnyStep) -> bool:
    return isinstance(step, Step) and step.object.cls == "filter" and is_switch(step.object)


_LAST = frozenset({"filter", "tclass", "action"})
