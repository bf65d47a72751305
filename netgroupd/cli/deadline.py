# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the daemon somebody else must wait for the end of `apply --confirm`: a process of its own.

It is there before the change begins, so that a command that is killed at any
instant leaves nobody with half a change, or with one that cuts them off.  It
belongs to no terminal, no session and no login.
"""

import os
import select
import signal
import time
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from netgroupd.cli.target import Target, engine_of
from netgroupd.errors import NetgroupError

if TYPE_CHECKING:
    from netgroupd.engine.engine import Engine

_POLL_S = 0.2
_RETRY_S = 1.0
_TRIES = 600
_OUTSIDE_OF_LOGINS = Path("/sys/fs/cgroup/cgroup.procs")


def watch_deadline(target: Target, arguments: Namespace) -> None:
    """Leave a process behind that undoes an unconfirmed change in time; the daemon needs none."""
    if arguments.confirm is None or target.keeps_deadlines:
        return
    alive, ours = os.pipe()
    os.set_inheritable(ours, False)
    if child := os.fork():
        os.close(alive)
        os.waitpid(child, 0)  # `ours` stays open until this process ends, however it ends
        return
    status = 1
    try:
        if os.fork() == 0:
            _detach(alive)
            _watch(engine_of(arguments), alive)
        status = 0
    finally:  # never back into the command that goes on in the other process
        os._exit(status)


def _detach(alive: int) -> None:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.closerange(3, alive)
    os.closerange(alive + 1, os.sysconf("SC_OPEN_MAX"))
    # Where logging out kills what a login has started, it must not belong to one.
    with suppress(OSError):
        _OUTSIDE_OF_LOGINS.write_text("0", encoding="ascii")


def _watch(engine: "Engine", alive: int) -> None:
    """Undo the change when its time is over, or when the command died of it; end when there is none left."""
    from netgroupd.engine import clock  # noqa: PLC0415  # loaded with the engine

    while True:
        if pending := engine.pending():
            deadline = clock.since_boot() + pending.seconds_left
            while (left := deadline - clock.since_boot()) > 0:
                time.sleep(min(left, _RETRY_S))  # in pieces, for sleep does not count the time that the host sleeps
            _insist(engine)
            return
        ended, _, _ = select.select([alive], [], [], _POLL_S)
        if ended and not engine.pending():
            _insist(engine)
            return


def _insist(engine: "Engine") -> None:
    """Bring the change to its end, though others may hold the lock or the kernel refuse for a while."""
    for _ in range(_TRIES):
        try:
            engine.recover()
        except NetgroupError:
            time.sleep(_RETRY_S)
        else:
            return
