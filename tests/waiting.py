# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what another program or the kernel does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
PATIENCE_S = 120.0
"""How long what comes soon may take, on a machine however busy."""


def eventually(
    condition: Callable[[], Answer],
    limit_s: float = PATIENCE_S,
    told: Callable[[], object] = lambda: "it never came true",
    every_s: float = 0.02,
) -> Answer:
    """Wait until ``condition`` holds, and give what it answers then."""
    end = time.monotonic() + limit_s
    while not (answer := condition()):
        assert time.monotonic() < end, told()
        time.sleep(every_s)
    return answer
