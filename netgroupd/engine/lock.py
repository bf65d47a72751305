# SPDX-License-Identifier: GPL-2.0-or-later
"""One change at a time in a network namespace, whoever asks for it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netgroupd.engine.disk import told
from netgroupd.errors import BusyError


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock at ``path``; the kernel gives it back when this process dies.

    Raises:
        BusyError: Somebody else holds it, and it is not to be waited for.
        JournalError: There cannot be a lock, as on a read-only file system.
    """
    with told("lock", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BusyError("another change is running") from None
        yield
    finally:
        os.close(file)
