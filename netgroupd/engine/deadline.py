# SPDX-License-Identifier: GPL-2.0-or-later
"""A change that waits to be confirmed, or that was cut off -> its end, for who does nothing but wait for that."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from netgroupd.errors import NetgroupError

if TYPE_CHECKING:  # whoever waits for nothing need not load it
    from netgroupd.engine.report import Pending
    from netgroupd.engine.unfinished import Unfinished

_RETRY_S = 1.0
_TRIES = 600


def pending_in(engine: "Unfinished") -> "Pending | None":
    """What waits to be confirmed; asked again while the disk cannot tell."""
    for _ in range(_TRIES):
        try:
            return engine.pending()
        except NetgroupError:
            time.sleep(_RETRY_S)
    return None


def see_to_the_end(engine: "Unfinished", others_do: Callable[[], bool] = lambda: False) -> str | None:
    """Put the change back once its time is over, unless it was confirmed or others see to that now, and say so.

    Raises:
        NetgroupError: The kernel or the disk has refused for ten minutes.
    """
    while (pending := pending_in(engine)) and pending.seconds_left:
        if others_do():
            return None
        time.sleep(min(pending.seconds_left, _RETRY_S))  # in pieces: sleep does not count while the host sleeps
    for _ in range(_TRIES):
        try:
            return engine.recover()
        except NetgroupError:
            time.sleep(_RETRY_S)
        if others_do():
            return None
    return engine.recover()
