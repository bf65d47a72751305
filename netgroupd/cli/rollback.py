# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl rollback``: go back to an earlier generation."""

from argparse import Namespace

from netgroupd.cli.apply import came_by, options_of, report
from netgroupd.cli.deadline import watch_deadline
from netgroupd.cli.target import keeper
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.uninterrupted import interruptible


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Roll back, with progress."""
    connection = came_by(terminal)
    target = keeper(arguments, connection)
    watch_deadline(target, arguments)
    options = {**options_of(arguments, connection), "generation": arguments.generation}
    with interruptible():
        answer = target.rollback(options, terminal.progress)
    return report(answer, terminal, arguments.netns)
