# SPDX-License-Identifier: GPL-2.0-or-later
"""What some blocks want of the whole process ends with the last of them, whichever thread ends first."""

import gc
import sys
from collections.abc import Callable

import pytest

from netgroupd.kernel.netlink.thread_turns import prompt_turns
from netgroupd.model.collector import uncollected
from netgroupd.model.process_wide import ProcessWide


@pytest.mark.parametrize(
    ("wanted", "now"), [pytest.param(uncollected, gc.isenabled), pytest.param(prompt_turns, sys.getswitchinterval)]
)
def test_what_is_wanted_stays_until_the_last_of_those_that_overlap(
    wanted: ProcessWide[object], now: Callable[[], object]
) -> None:
    before = now()
    first, second = wanted(), wanted()
    first.__enter__()
    second.__enter__()
    inside = now()
    first.__exit__(None, None, None)
    assert now() == inside != before
    second.__exit__(None, None, None)
    assert now() == before


def test_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
