# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl reload``: have the daemon apply, and wait for it."""

import os
from argparse import Namespace

from netgroupd.cli.apply import report
from netgroupd.cli.command import CommandLineError
from netgroupd.cli.target import is_local
from netgroupd.cli.terminal import Terminal
from netgroupd.errors import NetgroupError
from netgroupd.service.client import Remote, main_process


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Reload through the bus."""
    if is_local(arguments):
        raise CommandLineError("reload is for the daemon; without it, use apply")
    daemon, quiet = Remote(), _is_part_of_daemon()
    try:
        answer = daemon.reload()
    except NetgroupError as error:
        if quiet and daemon.reloaded:
            return error.exit_code
        raise
    if not quiet:
        report(answer, terminal)
    return 0  # or systemd would call it failed, though it is done


def _is_part_of_daemon() -> bool:
    """Whether systemd runs this to reload the daemon: one journal has what either says, and the daemon says it all."""
    unit = os.environ.get("MAINPID", "")  # which systemd tells of the unit that it reloads
    return bool(unit) and unit == str(main_process())
