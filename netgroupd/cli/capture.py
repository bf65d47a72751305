# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl capture``: a configuration for what the host has now."""

from argparse import Namespace

from netgroupd.cli.target import reader
from netgroupd.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the captured text."""
    terminal.yaml(reader(arguments).capture())
    return 0
