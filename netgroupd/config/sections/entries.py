# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of lists such as addresses and routes -> keys and attributes, read by the rows of their class.

An entry is a mapping of fields, or one text that stands for the main field.
Ranges in its texts multiply; its fields can refer to the ranges of each other
and of the link it is written under.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Network
from itertools import chain, product
from typing import Any, NamedTuple

from netgroupd.config.called import as_mapping
from netgroupd.config.expression import BadTextError, Env
from netgroupd.config.merge import Item
from netgroupd.config.node import Entry, Node, Scalar, further, kind_of
from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.notations import SEPARATOR
from netgroupd.config.ranges import Range, referring
from netgroupd.config.report import Report
from netgroupd.config.values import Record, Scope, Values, fixed, instances, meant_range
from netgroupd.model.attr import Attr, Class
from netgroupd.model.route import MAIN_TABLE
from netgroupd.model.state import Attrs, Key, Object, called
from netgroupd.model.value import FLAG, Value

Fields = Mapping[str, Value]
_NETMASK = re.compile(r"([0-9.]+)(?:/|\s+(?:netmask\s+)?)([0-9]+(?:\.[0-9]+){3})", re.ASCII)


class Form(NamedTuple):
    """What an entry of one class may say; ``main`` is the field that a text alone stands for."""

    what: str
    rows: Mapping[str, Attr]
    keys: frozenset[str]
    required: frozenset[str] = frozenset()
    main: str = ""

    @classmethod
    def of(cls, described: Class, *extra: Attr, leave: str = "", needs: Sequence[str] = (), main: str = "") -> "Form":
        """Take the rows of a class, without the field that something else says."""
        rows = {row.name: row for row in (*described.key, *extra) if row.name != leave}
        return cls(described.name, {**rows, **described.attrs}, frozenset(rows), frozenset(needs), main)


class Made(NamedTuple):
    """One instance of an entry: the link it is written under, if any, and what identifies it apart."""

    link: str
    keys: Fields
    attrs: Attrs
    entry: "Compiled"


class _Watched(tuple[int, ...]):
    """Values of ranges that remember which of them were looked at."""

    seen: set[int]

    def __new__(cls, values: Iterable[int], seen: set[int]) -> "_Watched":
        """Share ``seen`` with those made from it."""
        made = super().__new__(cls, values)
        made.seen = seen
        return made

    def __getitem__(self, place: Any) -> Any:
        self.seen.add(place)
        return super().__getitem__(place)

    def __add__(self, more: tuple[Any, ...]) -> "_Watched":
        return _Watched((*self, *more), self.seen)


class Compiled(NamedTuple):
    """One entry, ready to be evaluated under each instance of what it is written in."""

    at: int
    entries: Mapping[str, Entry]
    ranges: tuple[Range, ...]
    record: Record
    keys: Fields  # what is the same for all of them
    attrs: Attrs
    key_names: frozenset[str]

    def place(self, field: str) -> int:
        """Where a field's value is, or the entry."""
        return self.entries[field].value.at if field in self.entries else self.at

    def each(self, values: Values, env: Env = (), link: str = "") -> Iterator[Made]:
        """Every instance under one instance of what it is written in."""
        if not self.record.varying:
            yield Made(link, self.keys, self.attrs, self)
            return
        for keys, attrs in self._varied(values, env, link):
            yield Made(link, keys, attrs, self)

    def depends_on(self, env: Env) -> bool:
        """Whether an instance differs with the values of the ranges around it."""
        first = _Watched((*env, *(one.spans[0][0] for one in self.ranges)), set())
        for _, raw, *_ in self.record.varying:
            with suppress(ValueError):  # told when it is evaluated
                raw.at(first)
        return any(place < len(env) for place in first.seen)

    def _varied(self, values: Values, env: Env, link: str) -> Iterator[tuple[Fields, Attrs]]:
        varying = self.record.varying
        names = self.key_names
        keys_only = all(one.row.name in names for one in varying)
        for own in product(*(chain(*one.spans) for one in self.ranges)):
            got = values.evaluate(self.record, env + own, link)
            if len(got) < len(varying):
                continue
            if keys_only:
                yield {**self.keys, **got}, self.attrs
            else:
                keys = {name: value for name, value in got.items() if name in names}
                rest = {name: value for name, value in got.items() if name not in names}
                yield {**self.keys, **keys}, {**self.attrs, **rest}


def compile_entries(node: Node, form: Form, scope: Scope, values: Values) -> list[Compiled]:
    """Compile a list of entries, or one alone."""
    items = [node] if isinstance(node, Scalar | MappingNode) else node.items
    found = (compile_entry(item, form, scope, values) for item in items)
    return [compiled for compiled in found if compiled]


def compile_items(items: Iterable[Item], form: Form, values: Values) -> Iterator[Made]:
    """Every instance of the entries of a section."""
    for item in items:
        entry = compile_entry(item.node, form, (), values)
        if entry:
            yield from entry.each(values)


def compile_entry(node: Node, form: Form, scope: Scope, values: Values) -> Compiled | None:
    """Compile one entry; what is wrong with it is reported."""
    if isinstance(node, Scalar) and form.main and not node.null:
        if meant := _meant(node.text, form):
            values.report.error(node.at, f"{form.main}: expected one, not {kind_of(node)}", meant)
            return None
        entries: Mapping[str, Entry] = {form.main: Entry(node.at, node)}
    elif isinstance(node, MappingNode):
        entries = node.entries
    else:
        meant = as_mapping(node.text, form.rows) if isinstance(node, Scalar) and not node.null else ""
        expected = f"a mapping like {meant}" if meant else f"a mapping of {', '.join(form.rows)}"
        values.report.error(node.at, f"expected {expected}, not {kind_of(node)}", meant_range(node))
        return None
    missing = sorted(form.required - entries.keys())
    if lacks := [name for name in missing if name not in values.meant(entries, tuple(form.rows))]:
        values.report.error(node.at, f"this {called(form.what)} needs {' and '.join(map(repr, lacks))}")
    lifted = _Lifted(scope, values.report)
    texts = {key: Entry(entry.at, lifted.without_ranges(entry.value)) for key, entry in entries.items()}
    ranges = tuple(lifted.ranges)
    if lifted.failed or not (missing or values.admits(instances((*scope, *ranges)), node.at, form.what)):
        values.record(fixed(entries), form.rows, ())
        return None
    record = values.record(texts, form.rows, (*scope, *ranges))
    if missing:
        return None
    keys = {name: value for name, value in record.shared.items() if name in form.keys}
    attrs = {name: value for name, value in record.shared.items() if name not in form.keys}
    return Compiled(node.at, entries, ranges, record, keys, attrs, form.keys)


def _meant(text: str, form: Form) -> str:
    """What was probably meant by a text that is several values of the main field, or more than it; or nothing."""
    if masked := _NETMASK.fullmatch(text):
        with suppress(ValueError):
            return f"with the length of its network it is {masked[1]}/{IPv4Network(f'0.0.0.0/{masked[2]}').prefixlen}"
    pieces = [piece for piece in SEPARATOR.split(text) if piece]
    if len(pieces) < 2:
        return ""
    first, *words = pieces
    if all(form.rows[word].type is FLAG for word in words if word in form.rows) and form.rows.keys() >= {*words}:
        return f"as in {{{', '.join((f'{form.main}: {first}', *(f'{word}: true' for word in words)))}}}"
    return f"several are a list: [{', '.join(pieces)}]" if _are_values(pieces, form.rows[form.main]) else ""


def _are_values(pieces: Iterable[str], row: Attr) -> bool:
    try:
        for piece in pieces:
            row.type.parse(piece)
    except ValueError:
        return False
    return True


class _Lifted:
    """Takes the ranges out of an entry's texts, and leaves references to them in their place."""

    def __init__(self, scope: Scope, report: Report) -> None:
        self.scope = scope
        self.report = report
        self.ranges: list[Range] = []
        self.failed = False

    def without_ranges(self, node: Node) -> Node:
        """Rewrite a text, or the texts of a mapping; a range inside a list belongs to the list."""
        if isinstance(node, MappingNode):
            entries = {key: Entry(entry.at, self.without_ranges(entry.value)) for key, entry in node.entries.items()}
            return MappingNode(entries, node.at)
        if not isinstance(node, Scalar) or "[" not in node.text:
            return node
        try:
            text, found = referring(node.text, (*self.scope, *self.ranges))
        except BadTextError as bad:
            self.failed = True
            self.report.error(further(node.at, (not node.plain) + bad.offset), str(bad))
            return node
        self.ranges += found
        return node._replace(text=text)


class Sink:
    """Objects as they are made; two of one class and key must say the same."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.classes: dict[str, dict[Key, Object]] = {}
        self.entries: dict[str, dict[Key, Compiled]] = {}

    def add(self, cls: str, key: Key, attrs: Attrs, entry: Compiled) -> None:
        """Hold one object, and the entry it is from."""
        objects = self.classes.setdefault(cls, {})
        before = objects.get(key)
        if before is None:
            objects[key] = Object(cls, key, attrs, self.report.origin(entry.at))
            self.entries.setdefault(cls, {})[key] = entry
        elif before.attrs != attrs or (cls in _ONCE and self.entries[cls][key].at != entry.at):
            first = self.entries[cls][key]
            # What could not be read may be what tells them apart, or makes the same of them.
            if first.record.whole and entry.record.whole:
                hint = f"the other is at {self.report.where(first.at)}"
                how = "was described differently" if before.attrs != attrs else "is described twice"
                hint += _TWO_OF.get(cls, "")
                self.report.once(entry.at, f"{told(cls, key)} {how}", hint)

    def join(self, described: Class, key: Key, attrs: Attrs, entry: Compiled) -> None:
        """Hold one object of which several entries may say something each; the entry knows where each attribute is."""
        cls = described.name
        before = self.classes.get(cls, {}).get(key)
        if before is None:
            self.add(cls, key, attrs, entry)
            return
        first = self.entries[cls][key]
        for name in attrs.keys() & before.attrs.keys():
            if attrs[name] != before.attrs[name]:
                hint = f"the other is at {self.report.where(first.place(name))}"
                self.report.once(entry.place(name), f"{name} of {told(cls, key)} is another elsewhere", hint)
        if attrs.keys() - before.attrs.keys():
            whole = {**attrs, **before.attrs}
            self.put(before._replace(attrs={name: whole[name] for name in described.attrs if name in whole}))
            self.entries[cls][key] = first._replace(entries={**entry.entries, **first.entries})

    def put(self, obj: Object) -> None:
        """Hold an object in place of the one of its key, of whose entry it stays."""
        self.classes[obj.cls][obj.key] = obj


_TWO_OF = {"route": "; two ways of one are its 'nexthops', and of two with one destination one has another 'metric'"}
_ONCE = frozenset({"filter"})  # two that are the same are hardly meant to be: ranges that overlap, or a slip


def told(cls: str, key: Key) -> str:
    """Name an object in a sentence."""
    if cls == "route":
        return f"the route to {key[2]}" + (f" in table {key[1]}" if key[1] != MAIN_TABLE else "")
    if cls in ("filter", "rule") and isinstance(key[-1], tuple):
        key = (*key[:-1], *(part for pair in key[-1] if isinstance(pair, tuple) for part in pair))
    parts = (str(part) for part in key if part not in (None, False, "", ()))
    return f"{called(cls).replace('_', ' ')} {' '.join(parts)}"
