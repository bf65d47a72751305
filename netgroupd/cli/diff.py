# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl diff``: what apply would do; 2 when there is anything."""

import os
from argparse import Namespace

from netgroupd.cli.target import reader
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.login import login_of

_DIFFERENCES = 2


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the plan."""
    connection = login_of(os.environ, os.getppid()).connection
    form = "json" if terminal.as_json else "text"
    answer = reader(arguments, connection).diff({"format": form, "session": connection or None})
    if terminal.as_json:
        terminal.answer(answer)
    else:
        terminal.doubts(answer)
        terminal.changes(answer["text"])
    return _DIFFERENCES if answer["differs"] else 0
