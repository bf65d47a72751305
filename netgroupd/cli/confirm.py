# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl confirm``: keep what waits."""

from argparse import Namespace

from netgroupd.cli.target import keeper
from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Confirm, and say what."""
    answer = keeper(arguments).confirm()
    if terminal.as_json:
        terminal.answer(answer)
    else:
        terminal.say(f"generation {answer['generation']} is kept")
    return 0
