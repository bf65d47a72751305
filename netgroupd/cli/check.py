# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl check``: every problem of the configuration, or that there is none."""

from argparse import Namespace

from netgroupd.cli.target import files_reader
from netgroupd.cli.terminal import Terminal
from netgroupd.errors import Problem


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print warnings; problems come as an error."""
    answer = files_reader(arguments).check()
    if terminal.as_json:
        terminal.answer(answer)
        return 0
    for warning in answer["warnings"]:
        terminal.problem(Problem(**warning))
    if answer.get("files", 1):  # a daemon from before an upgrade does not say
        terminal.say("the configuration can be used")
    return 0
