# SPDX-License-Identifier: GPL-2.0-or-later
"""Deleting a hash table of u32, and a preference without rules.

The kernel lets go of a table some time after the last rule that led to it is gone.
"""

import errno
import time

from netgroupd.kernel import grace
from netgroupd.kernel.netlink.socket import Socket

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


def delete_preference(socket: Socket, message: bytes) -> None:
    """Delete a preference, which goes by itself with its last rule where no other has rules of u32.

    Raises:
        OSError: The kernel refuses.
    """
    answer, _ = socket.ask(message)
    if answer.errno not in (0, errno.ENOENT):
        raise OSError(answer.errno, answer.sentence)
