# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold the garbage collector while a million values come into being.

It would walk all of them again and again; there are no cycles among them to find.
"""

import gc

from netgroupd.model.process_wide import ProcessWide


def _hold() -> bool:
    before = gc.isenabled()
    gc.disable()
    return before


def _let_go(before: bool) -> None:
    if before:
        gc.enable()


uncollected = ProcessWide(_hold, _let_go)
"""Run the block without collections."""
