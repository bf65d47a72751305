# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command is: the parser, the help, the manual and the completions are made from these values."""

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import NamedTuple

from netgroupd.errors import UsageError
from netgroupd.service.details import objection_to_wait


class CommandLineError(UsageError):
    """What was typed makes no sense, whatever the files and the kernel say."""

    exit_code = os.EX_USAGE


def seconds(word: str) -> int:
    """How long a change may wait to be confirmed."""
    value = int(word)
    if wrong := objection_to_wait(value):
        raise ArgumentTypeError(wrong)
    return value


def patience(word: str) -> int:
    """How long to wait for something that may be there already."""
    value = int(word)
    if value < 0:
        raise ArgumentTypeError(f"expected 0 seconds or more, not {value}")
    return value


class Option(NamedTuple):
    """One option (``--name``) or, without dashes, one positional argument.

    Without ``metavar`` an option is a switch.  ``words`` are all it can be, but for the
    names of things where ``named``, or ``complete`` says what a shell offers: "file",
    "netns" or "link".
    """

    name: str
    doc: str
    metavar: str = ""
    kind: Callable[[str], object] = str
    repeat: bool = False
    required: bool = False
    words: tuple[str, ...] = ()
    complete: str = ""
    named: bool = False

    @property
    def positional(self) -> bool:
        """Whether it is recognised by its place alone."""
        return not self.name.startswith("-")

    @property
    def meaning(self) -> str:
        """What it is for, and all that it can be."""
        return self.doc + (f" One of {', '.join(self.words)}." if self.words else "")


class Example(NamedTuple):
    """A command line and what it is good for."""

    line: str
    doc: str


class Command(NamedTuple):
    """One verb; ``module`` in ``netgroupd.cli`` has its ``run``.

    ``exits`` are the statuses it ends with besides 0 and 1.
    """

    name: str
    summary: str
    doc: str
    options: tuple[Option, ...] = ()
    examples: tuple[Example, ...] = ()
    exits: tuple[tuple[int, str], ...] = ()
    module: str = ""
