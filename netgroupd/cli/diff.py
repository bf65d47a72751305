# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl diff``: what apply would do; 2 when there is anything."""

from argparse import Namespace

from netgroupd.cli.target import reader
from netgroupd.cli.terminal import Terminal

_DIFFERENCES = 2


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the plan."""
    answer = reader(arguments).diff({"format": "json" if terminal.as_json else "text"})
    if terminal.as_json:
        terminal.answer(answer)
    else:
        terminal.changes(answer["text"])
    return _DIFFERENCES if answer["differs"] else 0
