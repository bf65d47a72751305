# SPDX-License-Identifier: GPL-2.0-or-later
"""The command table as an ``argparse`` parser."""

import argparse
import difflib
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from netgroupd import __version__
from netgroupd.cli.command import Command, Option
from netgroupd.cli.commands import COMMANDS, COMMON, EXITS, PROGRAM, SUMMARY

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_WIDTH = 80
_CALLED = {  # by those who come from other tools, and like nothing here
    "apply": "commit deploy ifreload ifup set up update",
    "capture": "dump export generate save",
    "check": "lint test validate verify",
    "diff": "plan preview try",
    "history": "generations log",
    "rollback": "restore revert undo",
    "show": "get info list ls",
}
_DRY = ("--check", "--dry-run", "--no-act", "--noop", "--syntax-check")
_DRY_RUN = "-n"  # of what changes something; elsewhere it is a number
_BEHIND = " behind the verb"  # apart from what is before it, which argparse would forget


class Parser(argparse.ArgumentParser):
    """Ends with 64 where argparse would end with 2, which means that there are differences."""

    known: Sequence[Command] = COMMANDS  # those that may be meant

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and what may have been meant."""
        if surplus := re.match(r"unrecognized arguments: (\S+)", message):
            message = _surplus(surplus[1], self.known)
        message = re.sub(r"^argument (\S+): invalid \w+ value: (.*)", r"\1: expected a whole number, not \2", message)
        message = re.sub(r"^argument (\S+): (expected .*)", r"\1: \2", message)
        message = re.sub(r"^argument (\S+): ignored explicit argument .*", r"\1 takes no value", message)
        self.exit(os.EX_USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        """Print the help, and raise where that fails: since Python 3.13 argparse does not tell."""
        (file or sys.stdout).write(self.format_help())

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse knows only the commands that were made for it, and writes its list otherwise with each Python.
        choices = [command.name for command in COMMANDS] if action.dest == "command" else list(action.choices or ())
        if choices and value not in choices:
            meant = [name for name, words in _CALLED.items() if name in choices and value in words.split()]
            near = meant or difflib.get_close_matches(value, choices, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(choices)} is expected"
            raise argparse.ArgumentError(None, f"there is no {value!r}; {hint}")


def _surplus(word: str, known: Sequence[Command]) -> str:
    if not word.startswith("-"):
        hint = f"; a configuration elsewhere is named by --config {word}" if Path(word).exists() else ""
        return f"{word!r} is a word too many{hint}"
    told = f"there is no option {word!r} here"
    if having := [command.name for command in COMMANDS if word in _options(command)]:
        return f"{told}; it is one of {', '.join(having)}"
    if word in _DRY or (word == _DRY_RUN and any("--confirm" in _options(command) for command in known)):
        return f"{told}; '{PROGRAM} diff' says what apply would do, and '{PROGRAM} check' whether the files are right"
    by_itself = [(command, option) for command in known for option in command.options if f"--{option.name}" == word]
    if by_itself:
        return (
            f"{told}; it is a word by itself: {' '.join(f'{one.name} {option.metavar}' for one, option in by_itself)}"
        )
    options = [name for command in COMMANDS for name in _options(command)]
    near = difflib.get_close_matches(word, options, 1)
    return told + (f"; did you mean {near[0]!r}?" if near else "")


def _options(command: Command) -> list[str]:
    return [option.name for option in (*command.options, *COMMON) if not option.positional]


def dest(option: Option) -> str:
    """The attribute that holds what was given."""
    return option.name.lstrip("-").replace("-", "_")


def _add(parser: argparse.ArgumentParser, option: Option, suffix: str = "") -> None:
    if option.positional:
        nargs = "+" if option.repeat else None if option.required else "?"
        parser.add_argument(
            option.name,
            help=option.meaning,
            metavar=option.metavar,
            nargs=nargs,
            type=option.kind,
            choices=_choices(option),
        )
    elif not option.metavar:
        parser.add_argument(option.name, help=option.meaning, action="store_true", default=argparse.SUPPRESS)
    else:
        parser.add_argument(
            option.name,
            help=option.meaning,
            metavar=option.metavar,
            type=option.kind,
            choices=_choices(option),
            dest=dest(option) + suffix * option.repeat,
            action="append" if option.repeat else "store",
            default=argparse.SUPPRESS,
        )


def _choices(option: Option) -> tuple[str, ...] | None:
    return (*option.words, *singulars(option)) if option.words and not option.named else None


def singulars(option: Option) -> tuple[str, ...]:
    """`show vrf red` reads better than `show vrfs red`."""
    return tuple(singular(word) for word in option.words if word.endswith("s") and option.name == "what")


def singular(word: str) -> str:
    """One of what ``word`` names many of."""
    return word.removesuffix("es") if word.endswith("sses") else word if word.endswith("ss") else word.removesuffix("s")


def epilog(command: Command) -> str:
    """The examples and the exit statuses."""
    lines = []
    if command.examples:
        lines += ["examples:"]
        for example in command.examples:
            lines += [f"  {PROGRAM} {example.line}", f"      {example.doc}"]
    if command.exits:
        lines += ["", "exit status:", *(f"  {status}  {doc}" for status, doc in sorted((*EXITS[:2], *command.exits)))]
    return "\n".join(lines)


def build(known: Sequence[Command] = COMMANDS) -> argparse.ArgumentParser:
    """The parser for the command line, with the commands ``known``."""
    summary = "\n".join(f"  {command.name:<11} {command.summary}" for command in COMMANDS)
    parser = Parser(
        prog=PROGRAM,
        description=f"{SUMMARY}.\n\ncommands:\n{summary}\n\n'{PROGRAM} COMMAND --help' has examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f"{PROGRAM} [OPTIONS] COMMAND ...",
        allow_abbrev=False,  # or a script breaks with the next option that begins as its abbreviation
    )
    parser.known = known
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    for option in COMMON:
        _add(parser, option)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS)
    for command in known:
        sub = commands.add_parser(
            command.name,
            prog=f"{PROGRAM} {command.name}",
            description=textwrap.fill(command.doc, _WIDTH),
            epilog=epilog(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for option in command.options:
            _add(sub, option)
        for option in COMMON:
            _add(sub, option, _BEHIND)
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read a command line; ends the process with 64 where it is wrong."""
    # Making the parser of every command takes longer than reading the line.
    named = [command for command in COMMANDS if command.name in arguments]
    parser = build(named or COMMANDS)
    if unknown := _unknown_ahead(arguments):  # of which argparse would tell what is behind
        parser.error(f"unrecognized arguments: {unknown}")
    given = vars(parser.parse_args(arguments))
    for name in [name for name in given if name.endswith(_BEHIND)]:
        given.setdefault(name.removesuffix(_BEHIND), []).extend(given.pop(name))
    command = by_name(given["command"])
    missing = {dest(option): _nothing(option) for option in (*command.options, *COMMON)}
    return argparse.Namespace(**(missing | given))


def _unknown_ahead(arguments: Iterable[str]) -> str:
    """The first option before the verb that is none there."""
    takes = {option.name: bool(option.metavar) for option in COMMON}
    takes |= dict.fromkeys(("--help", "-h", "--version"), False)
    words = iter(arguments)
    for word in words:
        name, value, _ = word.partition("=")
        if not name.startswith("-") or name == "--":
            break
        if name not in takes:
            return name
        if takes[name] and not value:
            next(words, None)
    return ""


def by_name(name: str) -> Command:
    """The command called ``name``."""
    return next(command for command in COMMANDS if command.name == name)


def _nothing(option: Option) -> object:
    if option.repeat:
        return []
    return None if option.metavar else False
