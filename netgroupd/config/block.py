# SPDX-License-Identifier: GPL-2.0-or-later
"""The common part of YAML, read by lines: text -> nodes, or ``UncommonError``.

Block mappings and sequences, plain and quoted scalars of one line, flow
collections of one line, comments.  Whatever else a line may hold raises
``UncommonError``; nothing is guessed.
"""

import re

from netgroupd.config.node import COLUMN_BITS, LONGEST_LINE, Entry, Mapping, Node, Scalar, Sequence, pack
from netgroupd.config.report import Report
from netgroupd.config.sections.flow import FlowParser

DEEPEST = 50
_LONGEST = LONGEST_LINE - 2  # columns are added up here, and what is not there stands behind the line
# Written as what is strange: the complement of what is not takes Python as long to compile as a tenth of a small check.
_STRANGE = re.compile(r"[\0-\t\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_QUOTED = re.compile(r"\"([^\"\\]*)\"|'((?:[^']|'')*)'")
_NOT_PLAIN = frozenset("[]{},#&*!|>'\"%@`")


class UncommonError(Exception):
    """A line that needs a complete YAML parser, to be read or to be refused."""


class _Row:
    """One line that is neither blank nor a comment; a dash in front of a mapping is taken off in place."""

    __slots__ = ("at", "body", "indent")

    def __init__(self, indent: int, body: str, at: int) -> None:
        self.indent = indent
        self.body = body
        self.at = at  # the place of column 0


class BlockParser:
    """Reads one text; problems that leave it readable go to the report."""

    def __init__(self, text: str, number: int, report: Report) -> None:
        if _STRANGE.search(text):
            raise UncommonError
        self.report = report
        self.rows = _rows(text, pack(number, 0, 0))
        self.next = 0
        self.depth = 0

    def parse(self) -> Node | None:
        """Read the whole text.

        Raises:
            UncommonError: It is not of the common part.
        """
        if not self.rows:
            return None
        node = self._node(self.rows[0].indent)
        if self.next < len(self.rows):
            raise UncommonError
        return node

    def _node(self, indent: int) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise UncommonError
        row = self.rows[self.next]
        body = row.body
        if body[0] == "-" and (len(body) == 1 or body[1] == " "):
            node: Node = self._sequence(indent)
        elif _key_end(body) < 0:
            node = self._value(body, row.at + indent + 1)
            self.next += 1
        else:
            node = self._mapping(indent)
        self.depth -= 1
        return node

    def _mapping(self, indent: int) -> Mapping:
        rows = self.rows
        count = len(rows)
        at = rows[self.next].at + indent + 1
        entries: dict[str, Entry] = {}
        while self.next < count:
            row = rows[self.next]
            if row.indent != indent:
                if row.indent > indent:
                    raise UncommonError
                break
            body = row.body
            end = _key_end(body)
            if end <= 0:
                raise UncommonError
            key = _key(body[:end])
            place = row.at + indent + 1
            rest = body[end + 1 :]
            self.next += 1
            value = self._entry(rest, row.at + indent + end + 2, indent)
            if key in entries:
                self._duplicate(key, place, entries[key].at)
            else:
                entries[key] = Entry(place, value)
        return Mapping(entries, at)

    def _entry(self, rest: str, at: int, indent: int) -> Node:
        """Read what follows a key's colon; ``self.next`` is the line below."""
        value = rest.lstrip(" ")
        if value and value[0] != "#":
            if self.next < len(self.rows) and self.rows[self.next].indent > indent:
                raise UncommonError  # a scalar of several lines
            return self._value(value, at + len(rest) - len(value))
        if self.next == len(self.rows):
            return Scalar("", at)
        below = self.rows[self.next]
        if below.indent > indent:
            return self._node(below.indent)
        if below.indent == indent and (below.body[:2] == "- " or below.body == "-"):
            return self._node(indent)  # a list may stand as far left as its key
        return Scalar("", at)

    def _sequence(self, indent: int) -> Sequence:
        rows = self.rows
        at = rows[self.next].at + indent + 1
        items: list[Node] = []
        while self.next < len(rows):
            row = rows[self.next]
            body = row.body
            if row.indent != indent or not (body[:2] == "- " or body == "-"):
                if row.indent > indent:
                    raise UncommonError
                break
            items.append(self._item(row, indent))
        return Sequence(items, at)

    def _item(self, row: _Row, indent: int) -> Node:
        value = row.body[1:].lstrip(" ")
        offset = len(row.body) - len(value)
        at = row.at + indent + offset + 1
        if not value or value[0] == "#":
            self.next += 1
            if self.next < len(self.rows) and self.rows[self.next].indent > indent:
                return self._node(self.rows[self.next].indent)
            return Scalar("", at)
        if _key_end(value) >= 0:
            row.indent, row.body = indent + offset, value  # a mapping that begins behind the dash
            return self._node(row.indent)
        self.next += 1
        if self.next < len(self.rows) and self.rows[self.next].indent > indent:
            raise UncommonError
        return self._value(value, at)

    def _value(self, text: str, at: int) -> Node:
        """Read a value that ends on its line."""
        first = text[0]
        if first in _NOT_PLAIN:
            return _indicated(text, at, self.report)
        if first in "-?:" and (len(text) == 1 or text[1] == " "):
            raise UncommonError
        cut = text.find(" #")
        if cut >= 0:
            text = text[:cut]
        text = text.rstrip(" ")
        if ": " in text or text[-1] == ":":
            raise UncommonError
        return Scalar(text, at)

    def _duplicate(self, key: str, at: int, first: int) -> None:
        tell = self.report.error if self.depth > 1 else self.report.unread  # a whole section
        tell(at, f"{key!r} is here twice", f"the first is at {self.report.where(first)}")


def _rows(text: str, base: int) -> list[_Row]:
    found: list[_Row] = []
    for line, raw in enumerate(text.split("\n"), 1):
        body = raw.lstrip(" ")
        if not body or body[0] == "#":
            continue
        if len(raw) > _LONGEST:
            raise UncommonError
        indent = len(raw) - len(body)
        if not indent and (raw[:3] in ("---", "...") or raw[0] == "%"):
            if raw.rstrip(" ") == "---" and not found:
                continue
            raise UncommonError
        found.append(_Row(indent, body.rstrip(" "), base + (line << COLUMN_BITS)))
    return found


def _key_end(body: str) -> int:
    """Where the colon behind a key is; -1 when the line does not begin with one."""
    first = body[0]
    if first in "\"'":
        match = _QUOTED.match(body)
        if not match:
            raise UncommonError
        end = match.end()
        while end < len(body) and body[end] == " ":
            end += 1
        return end if body[end : end + 1] == ":" and body[end + 1 : end + 2] in ("", " ") else -1
    if first in "[{":
        return _flow_key(body)
    if first in "-?" and body[1:2] in ("", " "):
        raise UncommonError
    if first in "&*!|>%@`,]}":
        raise UncommonError
    end = body.find(": ")
    if end < 0:
        if body[-1] != ":":
            return body.find(": #")
        end = len(body) - 1
    comment = body.find(" #", 0, end)
    return -1 if comment >= 0 else end


def _flow_key(body: str) -> int:
    if body[-1] == ":" or "]: " in body or "}: " in body:
        raise UncommonError
    return -1


def _key(text: str) -> str:
    match = _QUOTED.match(text) if text[0] in "\"'" else None
    if match:
        return _unquoted(match)
    if text.rstrip(" ") == "<<":  # the mapping behind it is to be taken in
        raise UncommonError
    return text.rstrip(" ")


def _unquoted(match: "re.Match[str]") -> str:
    return match[1] if match[1] is not None else match[2].replace("''", "'")


def _indicated(text: str, at: int, report: Report) -> Node:
    """Read a value that begins with a quote or bracket."""
    if text[0] in "[{":
        node, end = FlowParser(text, at, report).parse()
        if node is None:
            raise UncommonError
    else:
        match = _QUOTED.match(text) if text[0] in "\"'" else None
        if not match:
            raise UncommonError
        node, end = Scalar(_unquoted(match), at, False), match.end()
    rest = text[end:]
    if rest and (rest[0] != " " or rest.lstrip(" ")[:1] not in ("", "#")):
        raise UncommonError
    return node
