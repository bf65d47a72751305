# SPDX-License-Identifier: GPL-2.0-or-later
"""Garbage is collected again when nobody holds the collector any more, whichever thread ends first."""

import gc

from netgroupd.model.collector import uncollected


def test_collector_is_held_until_the_last_of_those_that_overlap() -> None:
    assert gc.isenabled()
    first, second = uncollected(), uncollected()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
