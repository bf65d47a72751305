# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl reload``: have the daemon apply, and wait for it."""

from argparse import Namespace

from netgroupd.cli.apply import report
from netgroupd.cli.command import CommandLineError
from netgroupd.cli.target import is_local
from netgroupd.cli.terminal import Terminal
from netgroupd.service.client import Remote


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Reload through the bus."""
    if is_local(arguments):
        raise CommandLineError("reload is for the daemon; without it, use apply")
    report(Remote().reload(), terminal)
    return 0  # or systemd would call it failed, though it is done
