# SPDX-License-Identifier: GPL-2.0-or-later
"""How many of Python's instructions something takes: what no noise disturbs, where a test is about growth."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(run: Callable[[], object]) -> int:
    """Those that ``run`` executes, in Python alone."""
    count = 0

    def traced(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def is_linear(run: Callable[[int], object], size: int) -> bool:
    """Whether four times as many take about four times as much, and not sixteen times."""
    return instructions(lambda: run(4 * size)) < 6 * instructions(lambda: run(size))
