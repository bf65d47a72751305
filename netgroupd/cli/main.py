# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl``: find the verb, run it, and say what went wrong in a sentence."""

import importlib
import os
import sys
from argparse import Namespace

from netgroupd.cli.parser import by_name, parse
from netgroupd.cli.terminal import Terminal
from netgroupd.errors import NetgroupError

_INTERRUPTED = 130


def _run(arguments: Namespace, terminal: Terminal) -> int:
    command = by_name(arguments.command)
    verb = importlib.import_module(f"netgroupd.cli.{command.module or command.name}")
    status: int = verb.run(arguments, terminal)
    return status


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    terminal = Terminal(sys.stdout, sys.stderr, as_json=arguments.json)
    try:
        status = _run(arguments, terminal)
        sys.stdout.flush()
    except NetgroupError as error:
        terminal.end_progress()
        terminal.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        terminal.end_progress()
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of the result has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
