# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl rollback``: go back to an earlier generation."""

from argparse import Namespace

from netgroupd.cli.apply import options_of, report
from netgroupd.cli.deadline import watch_deadline
from netgroupd.cli.target import changer
from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Roll back, with progress."""
    target = changer(arguments)
    watch_deadline(target, arguments)
    answer = target.rollback({**options_of(arguments), "generation": arguments.generation}, terminal.progress)
    return report(answer, terminal)
