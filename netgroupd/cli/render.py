# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl render``: the YAML that the templates give."""

from argparse import Namespace

from netgroupd.cli.target import files_reader
from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the rendered text, or each line of it behind the line of the template that gave it, as grep does."""
    reader = files_reader(arguments)
    if arguments.origins:
        answer = reader.render_lines()
        if terminal.as_json:
            terminal.answer(answer)
        else:
            terminal.write("".join("{file}:{line}:{text}\n".format(**line) for line in answer["lines"]))
        return 0
    terminal.yaml(reader.render())
    return 0
