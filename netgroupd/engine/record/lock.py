# SPDX-License-Identifier: GPL-2.0-or-later
"""One change at a time in a network namespace, whoever asks for it."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netgroupd.engine.record.disk import told
from netgroupd.errors import BusyError


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock at ``path``; the kernel gives it back when this process dies.

    Raises:
        BusyError: Somebody else holds it, and it is not to be waited for.
        JournalError: There cannot be a lock, as on a file system that was read-only from the start.
    """
    with told("lock", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno != errno.EROFS or not path.exists():
                raise
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # what waits to be confirmed must be put back all the same
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BusyError("another change is running") from None
        yield
    finally:
        os.close(file)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock at ``path``, as far as this user may know; for who only tells of it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
