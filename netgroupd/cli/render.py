# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl render``: the YAML that the templates give."""

from argparse import Namespace

from netgroupd.cli.target import reader
from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the rendered text."""
    text = reader(arguments).render()
    if terminal.as_json:
        terminal.answer({"yaml": text})
    else:
        terminal.write(text)
    return 0
