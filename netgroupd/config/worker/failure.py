# SPDX-License-Identifier: GPL-2.0-or-later
"""What went wrong in a template -> where in which file, in a sentence.

Every way to fail ends here: Mako's refusals to compile, names nobody defined,
Python's own errors inside a template, limits, and things that are forbidden.
"""

import builtins
import difflib
import re
import traceback
from collections.abc import Iterable, Mapping
from itertools import pairwise
from types import TracebackType
from typing import NamedTuple

from mako import exceptions

from netgroupd.config.linemap import LINE_BITS
from netgroupd.config.worker.manners import ForbiddenError
from netgroupd.config.worker.template import Lookup, Unit, nodes_of
from netgroupd.config.worker.trace import UnprintableError
from netgroupd.config.worker.vocabulary import FailedError, VariablesError

# Names that Mako gives to every template.
_MAKO = frozenset({"capture", "caller", "context", "local", "loop", "next", "pageargs", "parent", "self"})


class Fault(NamedTuple):
    """A problem as the worker knows it: files by the renderer's number."""

    file: int
    line: int
    column: int
    message: str
    hint: str = ""


class Expired(BaseException):
    """The time for this template is over; not an Exception, so that templates do not swallow it."""


class MissingError(Exception):
    """An included file or a variables file cannot be had."""


# Mako's sentences, by pattern, in words that say what to write.
_SYNTAX = (
    (r"Unterminated control keyword: '(\w+)'", "'% {0}' is never closed", "add '% end{0}'"),
    (r"Expected: .*\}.*", "'${{' is never closed", "add the '}}'"),
    (r"Expected: %>.*", "'<%' is never closed", "add the '%>'"),
    (
        r"Fragment '((?:set )?(\w+ = .*))' is not a partial control statement",
        "'% {0}' does not open a block",
        "a name is given a value by <% {1} %>",
    ),
    (r"Fragment '(.*)' is not a partial control statement", "'% {0}' does not open a block", "end the line with ':'"),
    (r"No starting keyword '(\w+)' for .*", "there is no '% {0}' that this line could end", ""),
    (r"Keyword '(\w+)' doesn't match keyword '(\w+)'", "'% {0}' where '% end{1}' is expected", ""),
    (r"Keyword '(\w+)' not a legal ternary for keyword '(\w+)'", "'% {0}' does not belong to '% {1}'", ""),
    (r"Unclosed tag: <%(.+?)>?", "<%{0}> is never closed", "add </%{0}>"),
    (r"Closing tag without opening tag: </%(.+)>", "</%{0}> closes a tag that was never opened", ""),
    (r"Closing tag </%(.+)> does not match tag: <%(.+)>", "</%{0}> where </%{1}> is expected", ""),
    (r"Invalid control line: '(.*)'", "'%' with nothing to do", "text that begins with a percent sign is written '%%'"),
    (
        r"Unsupported control keyword: '(\w+)'",
        "there is no control line '% {0}'",
        "write for, if, elif, else, while or try",
    ),
    (
        r"No such tag: '(.+)'",
        "there is no tag <%{0}>",
        "they are include, namespace, def, block, call, page, text and doc",
    ),
)
_PYTHON = re.compile(
    r"\((\w+)\) (.*?)(?: \(detected at line \d+\))?(?: \(<unknown>, line \d+\))?(?: \((.*)\))?", re.DOTALL
)
_NAMELESS = re.compile(r"^Namespace '__anon_\w+'")
_CALLED = re.compile(r"^render_\w+\.<locals>\.")
_WHERE = re.compile(r" (?:in file '.*' )?at line: \d+ char: \d+$", re.DOTALL)


def fault_of(error: BaseException, file: int, lookup: Lookup, known: Iterable[str]) -> Fault:
    """Explain an exception that came out of compiling or running a file."""
    frames = _template_frames(error.__traceback__, lookup.units)
    steps = [f"{unit.path}:{_position(unit, line)[0]}" for unit, line in frames]
    if isinstance(error, VariablesError):
        return Fault(error.file, *error.place, str(error), _way(steps))
    if isinstance(error, exceptions.SyntaxException | exceptions.CompileException):
        message, hint = _syntax(str(error))
        place = lookup.files.get(error.filename, file), max(error.lineno, 1), max(error.pos, 1)
        return Fault(*place, message, _joined(hint, _way(steps)))
    if not frames:
        return Fault(file, 1, 1, *_sentence(error, known))
    at, module_line = frames[-1]
    undefined = re.match(r"'(\w+)' is not defined", str(error)) if type(error) is NameError else None
    if undefined:
        line, column = _first_use(at, undefined[1])
    else:
        line, column = _position(at, module_line)
    message, hint = _sentence(error, [*known, *at.names])
    return Fault(at.file, line, column, message, _joined(hint, _way(_chain(frames))))


def undefined_in(unit: Unit, known: Mapping[str, object]) -> list[Fault]:
    """Find every name that ``unit`` uses and nobody defines, before running it."""
    faults = []
    for name in unit.undefined:
        if name not in known and name not in _MAKO and not hasattr(builtins, name):
            line, column = _first_use(unit, name)
            faults.append(Fault(unit.file, line, column, *_unknown(name, [*known, *unit.names])))
    return sorted(faults)


def unprintable(error: UnprintableError, units: Mapping[str, Unit]) -> Fault:
    """Explain that something other than text was written."""
    file, line = error.origin >> LINE_BITS, error.origin & ((1 << LINE_BITS) - 1)
    text = next(unit.text.split("\n")[line - 1] for unit in units.values() if unit.file == file)
    return Fault(file, line, len(text) - len(text.lstrip()) + 1, str(error), "context.write() takes text")


def _template_frames(start: TracebackType | None, units: Mapping[str, Unit]) -> list[tuple[Unit, int]]:
    frames = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(start))
    return [(units[name], line) for name, line in frames if name in units]


def _chain(frames: list[tuple[Unit, int]]) -> list[str]:
    """List the places that lead from one file to another, outermost first."""
    changes = ((unit, line) for (unit, line), (inner, _) in pairwise(frames) if unit.file != inner.file)
    return [f"{unit.path}:{_position(unit, line)[0]}" for unit, line in changes]


def _way(steps: list[str]) -> str:
    """Say through which files a failing one was reached; a file that includes itself needs no hundred."""
    shown = [*reversed(steps)][:4]
    return "included from " + ", from ".join(shown) if shown else ""


def _joined(*hints: str) -> str:
    return "; ".join(hint for hint in hints if hint)


def _position(unit: Unit, module_line: int) -> tuple[int, int]:
    line = unit.lines[min(module_line, len(unit.lines)) - 1]
    column = unit.columns.get(module_line)
    if column is None:
        text = unit.text.split("\n")[line - 1]
        column = len(text) - len(text.lstrip()) + 1
    return line, column


def _first_use(unit: Unit, name: str) -> tuple[int, int]:
    """Find where a template first uses a name."""
    lines = unit.text.split("\n")
    word = re.compile(rf"\b{re.escape(name)}\b")
    for node in nodes_of(unit.tree):
        if not hasattr(node, "undeclared_identifiers") or name not in node.undeclared_identifiers():
            continue
        for number in range(node.lineno, len(lines) + 1):
            start = node.pos - 1 if number == node.lineno else 0
            if found := word.search(lines[number - 1], max(start, 0)):
                return number, found.start() + 1
    return 1, 1


def _syntax(said: str) -> tuple[str, str]:
    """Say what Mako or Python did not understand, and what would be right."""
    message = _WHERE.sub("", said)
    for pattern, sentence, advice in _SYNTAX:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return sentence.format(*found.groups()), advice.format(*found.groups())
    if found := _PYTHON.fullmatch(message):
        return f"not Python: {found[2]}" + (f" in {found[3]}" if found[3] else ""), ""
    return message, ""


def _unknown(name: str, known: Iterable[str]) -> tuple[str, str]:
    return f"unknown name '{name}'", _near(name, {*known} - {name})


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.7)
    return f"did you mean '{near[0]}'?" if near else ""


def _sentence(error: BaseException, known: Iterable[str]) -> tuple[str, str]:  # noqa: PLR0911  # a table
    """Word an error and, where there is one, a way out."""
    match error:
        case Expired():
            return str(error), "a loop that does not end?"
        case MemoryError():
            return "the template ran out of memory", "write many objects as a range: br-[v=1-4000]"
        case RecursionError():
            return "the template includes or calls itself without end", ""
        case NameError() if found := re.search(r"'(\w+)' is not defined", str(error)):
            return _unknown(found[1], known)
        case FailedError() | ForbiddenError() | MissingError():
            message, _, hint = str(error).partition("; ")
            return message, hint
        case PermissionError():
            return "templates cannot do that: the kernel refused", "templates only turn values into text"
        case SystemExit() | KeyboardInterrupt() | GeneratorExit():
            return f"the template raised {type(error).__name__}", ""
        case KeyError():
            return f"there is no {error}", ""
    kind = type(error).__name__
    said = _CALLED.sub("", _NAMELESS.sub("the namespace", str(error)))
    hint = _near(error.name, dir(error.obj)) if isinstance(error, AttributeError) and error.name else ""
    return f"{said} ({kind})" if said else kind, hint
