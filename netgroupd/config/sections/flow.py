# SPDX-License-Identifier: GPL-2.0-or-later
"""``{kind: vlan, id: "{v}"}`` on one line -> a node, or nothing when it is not of the common part."""

import re

from netgroupd.config.node import Entry, Mapping, Node, Scalar, Sequence
from netgroupd.config.report import Report

DEEPEST = 20
_INDICATORS = r"\s,\[\]{}"
_PLAIN = rf"""
    (?:[^{_INDICATORS}#&*!|>'"%@`:?-]|-(?=[^{_INDICATORS}?]))
    (?:[^{_INDICATORS}:?]|:(?=[^{_INDICATORS}])|[ ]+(?=[^{_INDICATORS}:?#]))*
"""
_TOKEN = re.compile(
    rf"""[ ]*(?:
    (?P<open>[\[{{])
    |(?P<close>[\]}}])
    |(?P<comma>,)
    |(?P<colon>:(?=[ ]|$))
    |"(?P<double>[^"\\]*)"
    |'(?P<single>(?:[^']|'')*)'
    |(?P<plain>{_PLAIN})
    )""",
    re.VERBOSE,
)
# What most entries are, as one token in place of four.
_ENTRY = re.compile(
    rf"""[ ]*(?P<key>{_PLAIN})[ ]*:[ ]+(?:(?P<plain>{_PLAIN})|"(?P<double>[^"\\]*)")[ ]*(?P<end>[,}}])""", re.VERBOSE
)
_END = re.compile(r"[ ]*}")


class FlowParser:
    """Reads one flow collection; the line it is on may go on behind it."""

    def __init__(self, text: str, at: int, report: Report) -> None:
        self.text = text
        self.at = at
        self.report = report
        self.end = 0
        self.depth = 0

    def parse(self) -> tuple[Node | None, int]:
        """Give the node and where it ends; None when a complete parser must look."""
        node = self._value(self._token())
        return node, self.end

    def _token(self) -> "re.Match[str] | None":
        match = _TOKEN.match(self.text, self.end)
        if match:
            self.end = match.end()
        return match

    def _value(self, token: "re.Match[str] | None") -> Node | None:
        kind = token.lastgroup if token else None
        if token is None or kind is None:
            return None
        at = self.at + token.start(kind)
        if kind == "plain":
            return Scalar(token["plain"], at)
        if kind == "double":
            return Scalar(token["double"], at - 1, False)
        if kind == "single":
            return Scalar(token["single"].replace("''", "'"), at - 1, False)
        if kind != "open" or self.depth == DEEPEST:
            return None
        self.depth += 1
        node = self._sequence(at) if token["open"] == "[" else self._mapping(at)
        self.depth -= 1
        return node

    def _sequence(self, at: int) -> Node | None:
        items: list[Node] = []
        token = self._token()
        if token and token["close"] == "]":
            return Sequence(items, at)
        while True:
            item = self._value(token)
            if item is None:
                return None
            items.append(item)
            separator = self._token()
            if separator and separator["close"] == "]":
                return Sequence(items, at)
            if not separator or not separator["comma"]:
                return None
            token = self._token()

    def _mapping(self, at: int) -> Node | None:
        entries: dict[str, Entry] = {}
        more = True
        if end := _END.match(self.text, self.end):
            self.end, more = end.end(), False
        while more:
            found = self._of_scalars() or self._entry()
            if found is None or (found[0].plain and found[0].text == "<<"):
                return None
            key, value, more = found
            self._put(entries, key, value)
        return Mapping(entries, at)

    def _of_scalars(self) -> tuple[Scalar, Node, bool] | None:
        """The next entry, and whether there are more, if it is a plain word to a value on its own."""
        match = _ENTRY.match(self.text, self.end)
        if match is None:
            return None
        self.end = match.end()
        key, text, quoted, end = match.groups()
        if text is None:
            value = Scalar(quoted, self.at + match.start("double") - 1, False)
        else:
            value = Scalar(text, self.at + match.start("plain"))
        return Scalar(key, self.at + match.start("key")), value, end == ","

    def _entry(self) -> tuple[Scalar, Node, bool] | None:
        key, colon = self._value(self._token()), self._token()
        if not isinstance(key, Scalar) or not colon or not colon["colon"]:
            return None
        value, separator = self._value(self._token()), self._token()
        if value is None or not separator or not (separator["comma"] or separator["close"] == "}"):
            return None
        return key, value, bool(separator["comma"])

    def _put(self, entries: dict[str, Entry], key: Scalar, value: Node) -> None:
        if key.text in entries:
            first = self.report.where(entries[key.text].at)
            self.report.error(key.at, f"{key.text!r} is here twice", f"the first is at {first}")
            return
        entries[key.text] = Entry(key.at, value)
