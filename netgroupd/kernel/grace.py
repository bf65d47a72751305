# SPDX-License-Identifier: GPL-2.0-or-later
"""Let packets that are on a way which was closed behind them come to its end, before the way is taken up."""

import ctypes
import os
import time
from collections.abc import Sequence

from netgroupd.plan.step import AnyStep, Op, Step

# membarrier(2), which neither Python nor the C library of Debian 12 has.
_MEMBARRIER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "ppc64le": 365, "s390x": 356}
_GLOBAL = 1
_LONG_S = 0.1  # many times what a packet takes


def passed() -> None:
    """Wait until no packet is where it was: the kernel does that for a barrier of all threads of the host."""
    number = _MEMBARRIER.get(os.uname().machine)
    if number is None or ctypes.CDLL(None).syscall(number, _GLOBAL, 0, 0):
        time.sleep(_LONG_S)


def taken_up(steps: Sequence[AnyStep]) -> int:
    """Where the filters begin that are deleted last, behind a rule that led packets to them."""
    start = len(steps)
    while start and _deletes(steps[start - 1], "action"):
        start -= 1
    while start and _deletes(steps[start - 1], "filter"):
        start -= 1
    return start


def _deletes(step: AnyStep, cls: str) -> bool:
    return isinstance(step, Step) and step.op is Op.DELETE and step.object.cls == cls
