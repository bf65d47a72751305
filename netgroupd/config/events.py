# SPDX-License-Identifier: GPL-2.0-or-later
"""Any YAML -> nodes, by way of libyaml's events: anchors, merge keys, scalars of several lines.

Events rather than PyYAML's own nodes: so nothing recurses, tags construct
nothing, and aliases that multiply are counted before anybody walks them.
"""

import re
from typing import Any, NamedTuple

import yaml

from netgroupd.config.no_yaml import report_marked
from netgroupd.config.node import Entry, Mapping, Node, Scalar, Sequence, pack
from netgroupd.config.ranges import LIMIT
from netgroupd.config.report import Report

DEEPEST = 50
# What YAML does not allow, and what only libyaml takes for the end of a line: no line behind it would be found again.
_STRANGE = re.compile(r"[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]|\r(?!\n)")
_BREAKS = frozenset("\r\x85\u2028\u2029")
# What a value is for is what says of which type it is; a tag of another tool asks for work that nobody would do.
_TAGS = frozenset(
    {None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "bool", "float", "null", "map", "seq"))}
)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UnreadableError(Exception):
    """The text cannot be read any further."""

    def __init__(self, at: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.at = at
        self.hint = hint


class _Done(NamedTuple):
    """A node, and how much it is with everything that aliases put into it."""

    node: Node
    size: int
    depth: int


class _Open:
    """A collection whose end has not come yet; ``key`` waits for its value."""

    __slots__ = ("anchor", "depth", "key", "merges", "node", "size")

    def __init__(self, node: Sequence | Mapping, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.key: Scalar | None = None
        self.merges = False
        self.size = 1
        self.depth = 1


def parse_events(text: str, number: int, report: Report) -> Node | None:
    """Read ``text``; what is wrong with it as YAML is reported, and then there is no node."""
    strange = _STRANGE.search(text)
    if strange:
        before = text[: strange.start()]
        at = pack(number, before.count("\n") + 1, len(before) - before.rfind("\n"))
        quoted = repr(strange[0])
        hint = f'some take it for the end of a line; in double quotes write "{quoted[1:-1]}"'
        report.unread(at, f"the character {quoted} is not allowed in YAML", hint if strange[0] in _BREAKS else "")
        return None
    builder = _Builder(number, report)
    try:
        loader = _LOADER(text)
        try:
            while (event := loader.get_event()) is not None:
                builder.take(event)
        finally:
            loader.dispose()
    except _UnreadableError as bad:
        report.unread(bad.at, str(bad), bad.hint)
        return None
    except yaml.MarkedYAMLError as error:
        report_marked(error, text, number, report)
        return None
    return builder.root


class _Builder:
    """Puts events together, with a stack of its own."""

    def __init__(self, number: int, report: Report) -> None:
        self.number = number
        self.report = report
        self.root: Node | None = None
        self.documents = 0
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Done] = {}

    def take(self, event: Any) -> None:
        """Use one event."""
        if (tag := getattr(event, "tag", None)) not in _TAGS:
            self.report.error(self._at(event), f"the tag {tag} is not known here", "write the value itself")
        if isinstance(event, yaml.ScalarEvent):
            self._add(_Done(Scalar(event.value, self._at(event), not event.style), 1, 0), event.anchor)
        elif isinstance(event, yaml.MappingStartEvent):
            self._push(_Open(Mapping({}, self._at(event)), event.anchor))
        elif isinstance(event, yaml.SequenceStartEvent):
            self._push(_Open(Sequence([], self._at(event)), event.anchor))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self.stack.pop()
            self._add(_Done(_merged(done.node) if done.merges else done.node, done.size, done.depth), done.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise _UnreadableError(self._at(event), "a second YAML document in one file", "use two files")

    def _at(self, event: Any) -> int:
        return pack(self.number, event.start_mark.line + 1, event.start_mark.column + 1)

    def _push(self, opened: _Open) -> None:
        parent = self.stack[-1] if self.stack else None
        if parent and isinstance(parent.node, Mapping) and parent.key is None:
            raise _UnreadableError(opened.node.at, "a key must be a text", "quote a key that begins with [ or {")
        if len(self.stack) >= DEEPEST:
            raise _UnreadableError(opened.node.at, f"over {DEEPEST} levels deep")
        self.stack.append(opened)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise _UnreadableError(self._at(event), f"there is no anchor &{event.anchor} before this")
        self._add(self.anchors[event.anchor], None, self._at(event))

    def _add(self, done: _Done, anchor: str | None, at: int = 0) -> None:
        node = done.node
        at = at or node.at
        if anchor:
            self.anchors[anchor] = done
        if not self.stack:
            self.root = node
            return
        opened = self.stack[-1]
        opened.size += done.size
        opened.depth = max(opened.depth, 1 + done.depth)
        if opened.size > LIMIT:
            raise _UnreadableError(at, f"the aliases make more than {LIMIT:,} values")
        if len(self.stack) + done.depth > DEEPEST:
            raise _UnreadableError(at, f"over {DEEPEST} levels deep")
        if isinstance(opened.node, Sequence):
            opened.node.items.append(node)
        elif opened.key is None:
            if not isinstance(node, Scalar):
                raise _UnreadableError(at, "a key must be a text")
            opened.key = node._replace(at=at)
            opened.merges = opened.merges or (node.plain and node.text == "<<")  # in quotes it is a name
        else:
            self._put(opened.node, opened.key, node)
            opened.key = None

    def _put(self, mapping: Mapping, key: Scalar, node: Node) -> None:
        if key.text in mapping.entries:
            first = self.report.where(mapping.entries[key.text].at)
            tell = self.report.error if len(self.stack) > 1 else self.report.unread  # a whole section
            tell(key.at, f"{key.text!r} is here twice", f"the first is at {first}")
            return
        mapping.entries[key.text] = Entry(key.at, node)


def _merged(node: Node) -> Node:
    """Take in what the key ``<<`` names, where the mapping has no such key itself."""
    if not isinstance(node, Mapping) or "<<" not in node.entries:
        return node
    given = node.entries["<<"].value
    sources = given.items if isinstance(given, Sequence) else [given]
    if not all(isinstance(source, Mapping) for source in sources):
        return node
    entries = {key: entry for key, entry in node.entries.items() if key != "<<"}
    for source in sources:
        assert isinstance(source, Mapping)
        for key, entry in source.entries.items():
            entries.setdefault(key, entry)
    return Mapping(entries, node.at)
