# SPDX-License-Identifier: GPL-2.0-or-later
"""One change at a time in a network namespace, whoever asks for it."""

import errno
import fcntl
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netgroupd.engine import clock
from netgroupd.engine.record.disk import told
from netgroupd.errors import BusyError

_NAME = Path("/proc/self/comm")
_LONGEST = 256
A_MOMENT_S = 0.1  # who asks who holds a lock has it too while asking, which is no change
_AGAIN_S = 0.01
AS_LONG_AS_IT_TAKES = math.inf


@contextmanager
def locked(path: Path, *, wait_s: float = A_MOMENT_S) -> Iterator[None]:
    """Hold the lock at ``path``; the kernel gives it back when this process dies.

    Raises:
        BusyError: Somebody else holds it, and has for as long as it was to be waited for.
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
            _take(file, wait_s)
        except BlockingIOError:
            who = _signature(file)
            raise BusyError(f"another change is running{who and f': {who}'}") from None
        with _signed(file):
            yield
    finally:
        os.close(file)


def _take(file: int, wait_s: float) -> None:
    if wait_s == AS_LONG_AS_IT_TAKES:
        fcntl.flock(file, fcntl.LOCK_EX)
        return
    end = clock.since_boot() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.since_boot() > end:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


@contextmanager
def _signed(file: int) -> Iterator[None]:
    """Let others know meanwhile who holds the lock; where the disk takes nothing they are told less."""
    with suppress(OSError):
        name = _NAME.read_text(encoding="utf-8", errors="replace").strip()
        os.ftruncate(file, 0)  # one that was killed has left its own there
        os.pwrite(file, f"{name}, process {os.getpid()}".encode(), 0)
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(file, 0)


def _signature(file: int) -> str:
    return os.pread(file, _LONGEST, 0).decode(errors="replace")


def holder(path: Path) -> str:
    """Who holds the lock at ``path``, as far as this user may know, and "" for nobody; for who only tells of it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _signature(file) or "another process"
    finally:
        os.close(file)
    return ""
