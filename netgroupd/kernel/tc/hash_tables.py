# SPDX-License-Identifier: GPL-2.0-or-later
"""Deleting a hash table of u32: the kernel lets go of it some time after the last rule that led to it is gone."""

import errno
import time

from netgroupd.kernel import grace
from netgroupd.kernel.socket import Socket

_LONGEST_S = 30.0  # it takes a few periods of grace, which on a busy host are some 100 ms each


def delete_table(socket: Socket, message: bytes) -> None:
    """Delete a table to which no rule leads.

    Raises:
        OSError: The kernel refuses.
    """
    end = time.monotonic() + _LONGEST_S
    while (answer := socket.ask(message)[0]).errno == errno.EBUSY and time.monotonic() < end:
        grace.passed()
    if answer.errno:
        raise OSError(answer.errno, answer.sentence)
