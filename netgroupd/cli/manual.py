# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual page netgroupctl(1), from the command table: ``python -m netgroupd.cli.manual > netgroupctl.1``."""

import re
import sys
from collections.abc import Iterator

from netgroupd import __version__
from netgroupd.cli.command import Command, Option
from netgroupd.cli.commands import COMMANDS, COMMON, EXITS, PROGRAM, SUMMARY

_FILES = (
    ("/etc/netgroup, /run/netgroup, /usr/lib/netgroup", "The configuration: *.mako and *.yaml, read in order of name."),
    ("/var/lib/netgroup", "What was applied: the generations, and the journal of a change that runs."),
    ("/run/netgroup/metrics.prom", "Counts for Prometheus."),
)
_ENVIRONMENT = (
    ("NO_COLOR", "When set and not empty, nothing is printed in colour."),
    (
        "SSH_CONNECTION",
        "The connection that you came by, whose way a change must not cut. Where it is not set, as behind sudo, that "
        "of a process above counts, and only while there is such a connection.",
    ),
)


def _escape(text: str) -> str:
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    safe = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", safe)
    return "\\&" + safe if safe.startswith((".", "'")) else safe


def _item(head: str, text: str) -> Iterator[str]:
    yield from (".TP", head, _escape(text))


def _head(option: Option) -> str:
    if option.positional:
        return f"\\fI{_escape(option.metavar)}\\fR"
    value = f" \\fI{_escape(option.metavar)}\\fR" if option.metavar else ""
    return f"\\fB{_escape(option.name)}\\fR{value}"


def _synopsis(command: Command) -> str:
    parts = [f"\\fB{command.name}\\fR"]
    for option in command.options:
        head = _head(option)
        parts.append((head if option.required else f"[{head}]") + (" ..." if option.repeat else ""))
    return " ".join(parts)


def _command(command: Command) -> Iterator[str]:
    yield f".SS {_synopsis(command)}"
    yield _escape(command.doc)
    for option in command.options:
        yield from _item(_head(option), option.meaning)
    for example in command.examples:
        yield from (".PP", f"{_escape(example.doc)}", ".RS 4", f"\\fB{_escape(f'{PROGRAM} {example.line}')}\\fR", ".RE")
    if command.exits:
        yield from (".PP", "Exit status " + " ".join(f"{status}: {_escape(doc)}" for status, doc in command.exits))


def _own_exits() -> Iterator[tuple[int, str]]:
    """What some commands end with, and which these are."""
    for status, doc in dict.fromkeys(exits for command in COMMANDS for exits in command.exits):
        names = [command.name for command in COMMANDS if (status, doc) in command.exits]
        yield status, f"For {' and '.join(names)}: {doc[0].lower()}{doc[1:]}"


def page() -> str:
    """The whole page in roff."""
    lines = [
        f'.TH NETGROUPCTL 1 "" "netgroupd {__version__}" "netgroupd"',
        ".SH NAME",
        f"{PROGRAM} \\- {_escape(SUMMARY)}",
        ".SH SYNOPSIS",
        f"\\fB{PROGRAM}\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...",
        ".SH DESCRIPTION",
        _escape(
            "Shows and applies the configuration that netgroupd(8) keeps. Changes go through the daemon where it runs; "
            "without it, root can do the same with this command alone."
        ),
        ".SH OPTIONS",
    ]
    for option in COMMON:
        lines += _item(_head(option), option.meaning)
    lines += _item("\\fB\\-\\-help\\fR", "Print what there is, or behind a command what that takes, and end.")
    lines += _item("\\fB\\-\\-version\\fR", "Print the version and end.")
    lines.append(".SH COMMANDS")
    for command in COMMANDS:
        lines += _command(command)
    for title, items in (("FILES", _FILES), ("ENVIRONMENT", _ENVIRONMENT)):
        lines.append(f".SH {title}")
        for name, text in items:
            lines += _item(f"\\fI{_escape(name)}\\fR", text)
    lines.append(".SH EXIT STATUS")
    for status, doc in sorted((*EXITS, *_own_exits())):
        lines += _item(f"\\fB{status}\\fR", doc)
    lines += [".SH SEE ALSO", "\\fBnetgroupd\\fR(8), \\fBip\\fR(8), \\fBbusctl\\fR(1)"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
