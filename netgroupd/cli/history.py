# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl history``: the generations."""

import time
from argparse import Namespace

from netgroupd.cli.target import files_reader
from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print one line for each generation."""
    answer = files_reader(arguments).history()
    if terminal.as_json:
        terminal.answer(answer)
        return 0
    rows = [
        (
            row["number"],
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["time"])),
            row["result"],
            f"{row['took_s']:.2f} s" if row["took_s"] else "-",  # of what did not come to its end nobody knows
            row["summary"],
        )
        for row in answer["generations"]
    ]
    if rows:
        terminal.table(("GENERATION", "APPLIED", "RESULT", "TOOK", "CHANGES"), rows)
    else:
        terminal.say("nothing was applied yet")
    return 0
