# SPDX-License-Identifier: GPL-2.0-or-later
"""Join the terminal of the host to a shell in the guest."""

import os
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from netgroupd.errors import LabError
from netgroupd.lab.channel import Kind
from netgroupd.lab.machine import Machine, Process

_DAY_S = 86400.0


def interact(machine: Machine, argv: Sequence[str], *, cwd: str | Path = "/") -> int:
    """Run a command in the guest on this process's terminal; return its status."""
    size = shutil.get_terminal_size()
    process = machine.start(argv, cwd=cwd, terminal=(size.lines, size.columns))
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        threading.Thread(target=_forward_keys, args=(process,), daemon=True).start()
        for frame in process.output(_DAY_S):
            if frame.kind is Kind.STDOUT:
                os.write(sys.stdout.fileno(), frame.payload)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    assert process.status is not None
    return process.status


def _forward_keys(process: Process) -> None:
    with suppress(OSError, LabError):
        try:
            while keys := os.read(sys.stdin.fileno(), 1024):
                process.type(keys)
        finally:  # the terminal is gone, and so is whoever could leave the shell
            process.kill()
