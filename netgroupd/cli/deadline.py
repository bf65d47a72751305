# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the daemon somebody else must wait for the end of `apply --confirm`: a process of its own."""

import os
import time
from argparse import Namespace

from netgroupd.cli.target import Target, engine_of
from netgroupd.service.details import Answer


def watch_deadline(target: Target, arguments: Namespace, answer: Answer) -> None:
    """Leave a process behind that undoes the change in time; the daemon needs none."""
    if target.keeps_deadlines or not answer["pending"]:
        return
    if os.fork():
        return
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    status = 1
    try:
        time.sleep(answer["pending"]["seconds_left"])
        engine_of(arguments).expire()
        status = 0
    finally:  # never back into the command that goes on in the other process
        os._exit(status)
