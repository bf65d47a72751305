# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl apply``: make the kernel what the configuration says."""

import os
import shlex
from argparse import Namespace

from netgroupd.cli.deadline import watch_deadline
from netgroupd.cli.target import keeper
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.login import login_of
from netgroupd.engine.uninterrupted import interruptible
from netgroupd.service.details import Answer, Options


def options_of(arguments: Namespace, connection: str) -> Options:
    """What the daemon has to know of the command line, and of where its user sits."""
    return {"confirm": arguments.confirm, "allow": arguments.allow or None, "session": connection or None}


def came_by(terminal: Terminal) -> str:
    """The SSH connection that the user came by, "" for none; say so if one is told of that is not there."""
    login = login_of(os.environ, os.getppid())
    if login.ended:
        peer = login.ended.partition(" ")[0]
        terminal.note(
            f"{terminal.paint('!', 'yellow')} $SSH_CONNECTION tells of a connection from {peer} that is not there: "
            "how you are connected is not known, and the way to you not guarded"
        )
    return login.connection


LEFT_OUT = 3


def numbered(answer: Answer) -> str:
    """Which generation a change has made, and which one it went back to."""
    back_to = answer.get("back_to")  # a daemon from before an upgrade does not say
    return f"generation {answer['generation']}" + ("" if back_to is None else f", back to generation {back_to}")


def report(answer: Answer, terminal: Terminal, netns: str | None = None) -> int:
    """Print how a change of a network namespace ended; return the exit status that says it."""
    terminal.end_progress()
    status = LEFT_OUT if answer["refused"] else 0
    if terminal.as_json:
        terminal.answer(answer)
        return status
    terminal.doubts(answer)
    for warning in answer["warnings"]:
        terminal.note(f"{terminal.paint('!', 'yellow')} {warning}")
    if not (answer["generation"] or answer["took_s"]):  # what is undone before any was kept is generation 0 again
        terminal.say("nothing to do")
        return status
    terminal.say(f"{answer['summary']} in {answer['took_s']:.2f} s, {numbered(answer)}")
    if answer["pending"]:
        left, where = answer["pending"]["seconds_left"], f"--netns {shlex.quote(netns)} " if netns else ""
        terminal.say(f"it is put back in {left:.0f} s unless you run: netgroupctl {where}confirm")
    return status


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Apply, with progress."""
    connection = came_by(terminal)
    target = keeper(arguments, connection)
    watch_deadline(target, arguments)
    with interruptible():
        answer = target.apply(options_of(arguments, connection), terminal.progress)
    return report(answer, terminal, arguments.netns)
