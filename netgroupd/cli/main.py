# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl``: find the verb, run it, and say what went wrong in a sentence."""

import atexit
import gc
import importlib
import os
import resource
import sys
from argparse import Namespace
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any

from netgroupd.cli.parser import by_name, parse
from netgroupd.cli.terminal import OutputError, Terminal, writing
from netgroupd.errors import NO_GLIB, NetgroupError, notes_of, short_of

_INTERRUPTED = 130
_LOADED = 100_000  # objects come with the modules of a verb, about


def _run(arguments: Namespace, terminal: Terminal) -> int:
    command = by_name(arguments.command)
    verb = importlib.import_module(f"netgroupd.cli.{command.module or command.name}")
    status: int = verb.run(arguments, terminal)
    return status


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    _mend_streams()
    _spare_collections()
    _allow_many_files()
    try:
        return _ended(argv)
    finally:
        try:
            sys.stdout.flush()  # of one interrupted
        except OSError:  # Python would end with 120, whatever became of the command
            _silence()


def _ended(argv: list[str] | None) -> int:
    try:
        with writing():
            try:
                arguments = parse(sys.argv[1:] if argv is None else argv)
            finally:
                sys.stdout.flush()  # --help ends there
        return _told(arguments, Terminal(sys.stdout, sys.stderr, as_json=arguments.json))
    except KeyboardInterrupt:  # before anything was asked
        return _INTERRUPTED
    except MemoryError as error:
        print(f"error: {short_of(error)}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of the result has seen enough
        _silence()
        return 1
    except OutputError as error:
        _silence()
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _told(arguments: Namespace, terminal: Terminal) -> int:
    try:
        status = _run(arguments, terminal)
        terminal.flush()
    except (OutputError, BrokenPipeError):
        raise
    except NetgroupError as error:
        return _failed(error, terminal)
    except (OSError, MemoryError) as error:
        return _failed(short_of(error), terminal)
    except ModuleNotFoundError as error:
        if error.name != "gi":
            raise
        return _failed(NetgroupError(NO_GLIB), terminal)
    except KeyboardInterrupt as interrupt:
        terminal.end_progress()
        for note in notes_of(interrupt):
            terminal.note(note)
        return _INTERRUPTED
    return status


def _failed(error: NetgroupError, terminal: Terminal) -> int:
    terminal.end_progress()
    terminal.error(error)
    terminal.flush()
    return error.exit_code


def _allow_many_files() -> None:
    """Have room for the sockets of each network namespace: most shells allow 1,024 files at first."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _spare_collections() -> None:
    """Have nobody look for cycles among what is loaded: that takes a tenth of a small command, for it stays to the end.

    Who runs for long and makes more is still looked after.
    """
    gc.set_threshold(_LOADED)
    atexit.register(gc.freeze)


def _mend_streams() -> None:
    """Have streams that take everything: closed ones lead nowhere, and the kernel's names may be any bytes.

    What is opened later must not take the number of one: whoever detaches from the terminal redirects these three.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Not to be closed by whoever forgets the object, which Python warns of: it lasts as long as the process.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, closefd=False))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper) and sys.stderr is sys.__stderr__:
        encoding, errors = sys.stderr.encoding, sys.stderr.errors
        raw = BufferedWriter(_Unheard(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = TextIOWrapper(raw, encoding, errors, line_buffering=True)


class _Unheard(FileIO):
    """Takes what nobody reads or no disk has room for: the result matters all the same, and how the command ends."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or len(data)
        except OSError:
            return len(data)


def _silence() -> None:
    """Have what is left in the buffer go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
