# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the daemon somebody else must wait for the end of `apply --confirm`: a process of its own.

It is there before the change begins, so that a command that is killed at any
instant leaves nobody with half a change, or with one that cuts them off.  It
belongs to no terminal, no session and no login.
"""

import os
import select
import signal
import syslog
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from netgroupd.cli.log import log
from netgroupd.cli.target import Target, engine_of
from netgroupd.engine.deadline import pending_in, see_to_the_end
from netgroupd.errors import NetgroupError, notes_of

if TYPE_CHECKING:
    from netgroupd.engine.engine import Engine

_POLL_S = 0.2
_OUTSIDE_OF_LOGINS = Path("/sys/fs/cgroup/cgroup.procs")


def watch_deadline(target: Target, arguments: Namespace) -> None:
    """Leave a process behind that undoes an unconfirmed change in time; the daemon needs none."""
    if arguments.confirm is None or target.keeps_deadlines:
        return
    alive, ours = os.pipe()
    os.set_inheritable(ours, False)
    if child := os.fork():
        os.close(alive)
        if os.waitpid(child, 0)[1]:
            raise NetgroupError("cannot start what would put an unconfirmed change back; nothing was changed")
        return  # `ours` stays open until this process ends, however it ends
    status = 1
    try:
        _detach(alive)  # before the command goes on: from then on its session may end at any instant
        if os.fork() == 0:
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
    while not pending_in(engine):
        ended, _, _ = select.select([alive], [], [], _POLL_S)
        if ended:
            break
    try:
        if said := see_to_the_end(engine):
            log(syslog.LOG_WARNING, said)
    except NetgroupError as error:
        log(syslog.LOG_ERR, "\n".join((str(error), *notes_of(error))))
