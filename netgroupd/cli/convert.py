# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl import``: another tool's files as a configuration of netgroupd."""

import os
from argparse import Namespace
from pathlib import Path

from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the configuration, and on the other stream what is not in it."""
    # Loading it takes longer than most commands do.
    from netgroupd.engine.convert import convert, trust_of  # noqa: PLC0415

    imported = convert(arguments.format, list(map(Path, arguments.path)), trust_of(os.getuid(), os.getgid()))
    if terminal.as_json:
        terminal.answer({"yaml": imported.text, "warnings": [problem._asdict() for problem in imported.problems]})
        return 0
    for problem in imported.problems:
        terminal.problem(problem)
    terminal.write(imported.text)
    return 0
