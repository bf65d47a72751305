# SPDX-License-Identifier: GPL-2.0-or-later
"""What libyaml refused -> where a text is no YAML, and what would be right.

libyaml says what it expected next, which is seldom what was meant: what people
write wrong is looked for in the line at which it stopped, and before that.
"""

import re
from typing import NamedTuple

import yaml

from netgroupd.config.node import pack
from netgroupd.config.report import Report

_NEVER_CLOSED = "what begins here is never closed"
_BRACES = "a name or value that begins with { or [, or has one between { } or [ ], must be quoted"
_QUOTES = {"'": "inside of '…' a ' is written twice", '"': 'inside of "…" a " is written \\"'}
_MERGE = re.compile(r"(?:<<<<<<<|=======|>>>>>>>)(?: |$)")
_MAKO = re.compile(r"\s*%\s*(for|if|while|else|elif|end(for|if|while))\b")
_ENDS = re.compile(r"(?<=: )[^\s,:{}\[\]]+$")
_DASH = re.compile(r"\s*-[^\s-]")
_ABOUT_VALUES = {
    "found unknown escape character": "between \" \" a \\ begins an escape: write it twice; between ' ' it is none",
    "did not find expected comment or line break": "a value that begins with | or > must be quoted",
}


class _Stop(NamedTuple):
    """Where the reader stopped, and why."""

    problem: str
    context: str
    above: list[str]
    before: str  # in the line itself
    found: str
    since: str  # the place where what it was reading began, if that is in a line above

    @property
    def indented(self) -> int:
        """How far the line is."""
        line = self.before + self.found
        return len(line) - len(line.lstrip())

    @property
    def last(self) -> str:
        """The line above."""
        return next((text for text in reversed(self.above) if text.strip()), "").rstrip()


def report_marked(error: yaml.MarkedYAMLError, text: str, number: int, report: Report) -> None:
    """Tell why the text that is ``number`` in the report cannot be read."""
    began = error.context_mark
    mark = error.problem_mark or began
    lines = text.split("\n")
    ended = began and mark and not "".join(lines[mark.line :]).strip()
    if ended:  # there nobody sees which quote or bracket is open
        mark = began
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    shown = lines[line - 1] if line <= len(lines) else ""
    indent = shown[: len(shown) - len(shown.lstrip())]
    if "\t" in indent:
        report.unread(pack(number, line, indent.index("\t") + 1), "a tab in the indentation", "YAML takes only blanks")
        return
    since = report.where(pack(number, began.line + 1, 1)) if began and began.line + 1 < line else ""
    context = str(error.context or "")
    stop = _Stop(str(error.problem), context, lines[: line - 1], shown[: column - 1], shown[column - 1 :], since)
    hint = _NEVER_CLOSED if ended and stop.found[:1] in ("'", '"', "{", "[") else _hint(stop)
    told = f" ({context}{f', from {since}' if since else ''})" if context else ""
    report.unread(pack(number, line, column), f"this is not YAML: {error.problem}{told}", hint)


def _hint(stop: _Stop) -> str:
    """What would be right, or nothing."""
    merged = next((text for text in (*stop.above, stop.before + stop.found) if _MERGE.match(text)), "")
    if merged:
        return f"{merged.split()[0]} is left of a merge of two versions; keep one of them"
    if _MAKO.match(stop.before + stop.found):
        return "a file with lines of Mako, such as this, is named *.mako"
    return _about_value(stop) or _about_indent(stop) or _about_brackets(stop)


def _about_value(stop: _Stop) -> str:
    """What cannot stand in a value, or in place of a key."""
    before = stop.before.rstrip()
    if stop.found[:1] == "%" and before[-1:] == "{":
        return "in a *.mako file a loop is a line such as % for v in range(3): with % endfor behind it"
    if stop.problem == "found character that cannot start any token":
        return (
            "a tab cannot stand here"
            if stop.found[:1] == "\t"
            else f"a value that begins with {stop.found[:1]} must be quoted"
        )
    if before[-1:] in _QUOTES and stop.found[:1] not in ("", ",", "}", "]", ":"):
        return _QUOTES[before[-1]]
    if stop.problem == "could not find expected ':'":
        dashed = _DASH.match(stop.before + stop.found) or _DASH.match(stop.last)
        return "a blank must follow the dash" if dashed else "there is a line without a colon"
    if stop.problem == "did not find expected <document start>" and any(text[:3] == "..." for text in stop.above):
        return "'...' ends a file; use two files"
    return _ABOUT_VALUES.get(stop.problem, "")


def _about_indent(stop: _Stop) -> str:
    """What is wrong with the indentation of a line, or with the one above it."""
    if stop.problem.startswith("mapping values are not allowed"):
        if ": " in stop.before.lstrip() or ":\t" in stop.before:
            return "a value with ': ' in it must be quoted, and one of several keys stands between { }"
        above = len(stop.last) - len(stop.last.lstrip())
        if stop.indented <= above:
            return "the line above has no colon" if stop.indented == above and ":" not in stop.last else ""
        if _DASH.match(stop.last):
            return "a blank must follow the dash in the line above"
        has_value = "has a value already, so that nothing can be indented below it"
        return f"the line above {has_value if ': ' in stop.last else 'has no colon at its end'}"
    begins = len(stop.before) == stop.indented
    if begins and stop.context.startswith("while parsing a block") and stop.found[:1] not in ("", "{", "[", "}", "]"):
        return "it is indented unlike all that it could belong to"
    return ""


def _about_brackets(stop: _Stop) -> str:
    """What is wrong with what stands between brackets."""
    if stop.problem == "found unexpected ':'" and (ends := _ENDS.search(stop.before)):
        return f'a value that ends with : must be quoted: "{ends[0]}:"'
    found, between = stop.found[:1], stop.context.startswith("while parsing a flow")
    if found in ("}", "]"):
        closes = f"what is open here is closed by {stop.problem[-2]}"
        return closes if between else f"nothing is open that this {found} could close"
    if not between:
        other = stop.problem == "did not find expected <document start>"
        return _BRACES if not other and {"{", "["} & {*stop.before, *stop.found} else ""
    if stop.since and found not in ("{", "["):
        return f"a comma is missing, or what begins at {stop.since} is not closed"
    if found == ":" and stop.before[-1:] in (" ", "[", "{", ","):
        return "a value that begins with : must be quoted"
    return "a value with ': ' in it must be quoted, or a comma is missing before it" if found == ":" else _BRACES
