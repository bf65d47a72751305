# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl apply``: make the kernel what the configuration says."""

import os
from argparse import Namespace

from netgroupd.cli.deadline import watch_deadline
from netgroupd.cli.target import changer
from netgroupd.cli.terminal import Terminal
from netgroupd.service.details import Answer, Options


def options_of(arguments: Namespace) -> Options:
    """What the daemon has to know of the command line, and of where its user sits."""
    return {
        "confirm": arguments.confirm,
        "allow": arguments.allow or None,
        "session": os.environ.get("SSH_CONNECTION"),
    }


def report(answer: Answer, terminal: Terminal) -> None:
    """Print how a change ended."""
    terminal.end_progress()
    if terminal.as_json:
        terminal.answer(answer)
        return
    for warning in answer["warnings"]:
        terminal.note(f"{terminal.paint('!', 'yellow')} {warning}")
    if not answer["generation"]:
        terminal.say("nothing to do")
        return
    terminal.say(f"{answer['summary']} in {answer['took_s']:.2f} s, generation {answer['generation']}")
    if answer["pending"]:
        left = answer["pending"]["seconds_left"]
        terminal.say(f"it is put back in {left:.0f} s unless you run: netgroupctl confirm")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Apply, with progress."""
    target = changer(arguments)
    watch_deadline(target, arguments)
    answer = target.apply(options_of(arguments), terminal.progress)
    report(answer, terminal)
    return 0
