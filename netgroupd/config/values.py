# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes and the rows they are for -> values, constant or one for each instance of a range.

A value is compiled once.  What does not depend on a range is parsed at once and
shared by all instances; the rest is a list of parts to be put together, and
parsed by its row, for each.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from netgroupd.config.called import behind, called_here, name_here, numbered_by, unspaced
from netgroupd.config.expression import BadTextError, Env
from netgroupd.config.node import Entry, Node, Scalar, further, kind_of
from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.node import Sequence as SequenceNode
from netgroupd.config.notations import SEPARATOR
from netgroupd.config.ranges import LIMIT, Pattern, Range, compile_text, has_pattern
from netgroupd.config.report import Report
from netgroupd.model.attr import Attr
from netgroupd.model.value import UnknownKeyError, Value, each, forget_way

_SPAN = re.compile(r"(?:[a-z]\w*=)?[0-9]+-[0-9]+(?:/[0-9]+)?")
_NUMBERS = re.compile(rf"[0-9]+|{_SPAN.pattern}")
_ZONED = re.compile(r"([0-9a-fA-F:]*:[0-9a-fA-F:.]*)%([^/\s]+)(/[0-9]+)?")
_SEVERAL = "it has no value; where it is one of several values, these are a list: [one, another]"
Scope: TypeAlias = Sequence[Range]
_MOST_TEXTS = 4 * LIMIT  # a link can be named as a port, and have an address, besides


def instances(scope: Scope) -> int:
    """How many instances ranges make together."""
    return prod(one.size for one in scope)


def fixed(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """What of a mapping says the same for every instance: all that can be looked at where its ranges are wrong."""
    return {key: entry for key, entry in entries.items() if not _varies(entry.value)}


def _varies(node: Node) -> bool:
    if isinstance(node, Scalar):
        return has_pattern(node.text)
    inner = node.items if isinstance(node, SequenceNode) else [entry.value for entry in node.entries.values()]
    return any(map(_varies, inner))


class Raw(NamedTuple):
    """What a file says, before its row reads it: the same for all instances, or made for each."""

    constant: object
    make: Callable[[Env], object] | None = None

    def at(self, env: Env) -> object:
        """What it says for one instance."""
        return self.make(env) if self.make else self.constant


class Varying(NamedTuple):
    """An attribute that differs between instances."""

    row: Attr
    raw: Raw
    node: Node
    key: str = ""  # as it is written, which may be another than the row's name


class Record(NamedTuple):
    """The attributes of one mapping: shared by all instances, and varying with them; ``whole`` if all could be read."""

    shared: dict[str, Value]
    varying: tuple[Varying, ...]
    whole: bool = True


class Values:
    """Compiles nodes; remembers constants, which repeat a thousand times in a rendered loop."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._parsed: dict[tuple[int, str], Value] = {}
        self._failed: set[int] = set()
        self._texts = 0
        self.objects = 0

    def pattern(self, text: str, at: int, scope: Scope = ()) -> Pattern | None:
        """Compile a text; what is wrong with it is reported at its offset behind ``at``."""
        try:
            found = compile_text(text, scope)
        except BadTextError as bad:
            self.report.error(further(at, bad.offset), str(bad))
            return None
        if found.ranges and not self.affords(found.size * instances(scope), at, repr(text)):
            return None
        return found if scope or "{" not in text or self._computes(found, text, at) else None

    def _computes(self, pattern: Pattern, text: str, at: int) -> bool:
        """Whether every instance of a key can be told; a value is computed where it is read."""
        try:
            for _ in pattern.instances():
                pass
        except ValueError as error:
            self.report.error(at, f"{text!r}: {error}")
            return False
        return True

    def affords(self, count: int, at: int, what: str) -> bool:
        """Whether so many instances of a text are within the limit; if not, it is reported and they do not count."""
        if count > LIMIT:
            self.report.error(at, f"{what} stands for {count:,} instances", f"the limit is {LIMIT:,}")
            return False
        if self._texts + count > _MOST_TEXTS:
            told = f"with {what} all ranges together stand for over {_MOST_TEXTS:,} instances"
            self.report.once(at, told, "describe less in one configuration")
            return False
        self._texts += count
        return True

    def admits(self, count: int, at: int, what: str) -> bool:
        """Whether so many objects more are within the limit; if not, it is reported and they do not count."""
        if self.objects + count > LIMIT:
            told = f"with this {what} the configuration asks for {self.objects + count:,} objects"
            self.report.once(at, told, f"the limit is {LIMIT:,}")
            return False
        self.objects += count
        return True

    def scalar(self, node: Scalar, scope: Scope = ()) -> Pattern | None:
        """Compile a scalar's text."""
        return self.pattern(node.text, further(node.at, not node.plain), scope)

    def raw(self, node: Node, scope: Scope = ()) -> Raw | None:
        """Compile any node; ranges in a text make a list of it."""
        if isinstance(node, Scalar):
            return self._raw_scalar(node, scope)
        if isinstance(node, SequenceNode):
            return self._raw_sequence(node, scope)
        parts = {key: self.raw(entry.value, scope) for key, entry in node.entries.items()}
        sound = {key: part for key, part in parts.items() if part is not None}
        if len(sound) < len(parts):
            return None
        if all(part.make is None for part in sound.values()):
            return Raw({key: part.constant for key, part in sound.items()})
        return Raw(None, lambda env: {key: part.at(env) for key, part in sound.items()})

    def _raw_scalar(self, node: Scalar, scope: Scope) -> Raw | None:
        if not has_pattern(node.text):
            return Raw(None if node.null else node.text)
        pattern = self.scalar(node, scope)
        if pattern is None:
            return None
        if not pattern.varies:
            return Raw(pattern.make(()))
        if not pattern.ranges:
            return Raw(None, pattern.make)
        return Raw(None, lambda env: [text for text, _ in pattern.instances(env)])

    def _raw_sequence(self, node: SequenceNode, scope: Scope) -> Raw | None:
        parts = [(self.raw(item, scope), isinstance(item, Scalar)) for item in node.items]
        sound = [(part, flat) for part, flat in parts if part is not None]
        if len(sound) < len(parts):
            return None
        if all(part.make is None for part, _ in sound):
            return Raw([part.constant for part, _ in sound])
        if not self.affords(len(sound) * instances(scope), node.at, "this list"):
            return None

        def make(env: Env) -> object:
            made: list[object] = []
            for part, flat in sound:
                got = part.at(env)
                if flat and isinstance(got, list):
                    made += got
                else:
                    made.append(got)
            return made

        return Raw(None, make)

    def constant(self, row: Attr, node: Node) -> Value:
        """Read a value that may not vary; None when it is null or wrong, and then reported."""
        raw = self.raw(node)
        if raw is None:
            return None
        if raw.make:
            self.report.error(node.at, f"{row.name!r} cannot depend on a range")
            return None
        return self._constant(row, raw.constant, node)

    def record(
        self, entries: Mapping[str, Entry], rows: Mapping[str, Attr], scope: Scope, beside: Iterable[str] = ()
    ) -> Record:
        """Compile the entries that ``rows`` describe; others are errors, perhaps meant for keys ``beside`` these."""
        shared: dict[str, Value] = {}
        varying: list[Varying] = []
        for key, entry in entries.items():
            row = rows.get(key)
            if row is None:
                lonely = isinstance(entry.value, Scalar) and entry.value.null
                self.unknown(key, entry.at, (*rows, *beside), _SEVERAL if lonely else "")
                continue
            if row.name != key and row.name in entries:
                self.report.error(entry.at, f"{key!r} and {row.name!r} are the same thing", "write one of them")
            node = entry.value
            if isinstance(node, Scalar) and not has_pattern(node.text):
                self._share(shared, row, node, key)
                continue
            raw = self.raw(node, scope)
            if raw is None:
                continue
            if raw.make:
                varying.append(Varying(row, raw, node, key))
            else:
                got = self._constant(row, raw.constant, node, key)
                if node.at not in self._failed:
                    shared[row.name] = got
        return Record(shared, tuple(varying), len(shared) + len(varying) == len(entries))

    def _share(self, shared: dict[str, Value], row: Attr, node: Scalar, key: str) -> None:
        seen = (id(row), node.text) if node.plain else (~id(row), node.text)
        if seen not in self._parsed:
            got = self._constant(row, None if node.null else node.text, node, key)
            if node.at in self._failed:
                return
            self._parsed[seen] = got
        shared[row.name] = self._parsed[seen]

    def evaluate(self, record: Record, env: Env, what: str) -> dict[str, Value]:
        """Read the varying attributes for one instance; ``what`` it is goes into the problem."""
        got: dict[str, Value] = {}
        for row, raw, node, key in record.varying:
            value: object = ""
            try:
                value = raw.at(env)
                got[row.name] = row.type.parse(value)
            except ValueError as error:
                if value is None and row.nullable:
                    got[row.name] = None
                elif node.at not in self._failed:
                    where = f", in {what}" if what else ""
                    self._fail(key or row.name, node, error, f"{_shown(value)}{where}")
                forget_way(error)
        return got

    def unknown(self, key: str, at: int, known: Mapping[str, object] | Sequence[str], otherwise: str = "") -> None:
        """Report a key that nothing describes."""
        names = list(known)
        hint = unspaced(key, names) or called_here(key, names) or self.report.nearest(key, names)
        hint = hint or otherwise or _listed(names)
        self.report.error(at, f"unknown key {key!r}", hint)

    def meant(self, keys: Iterable[str], known: Sequence[str]) -> set[str]:
        """Which keys are probably meant by those that nothing describes, and so do not lack."""
        unknown = [key for key in keys if key not in known]
        ways = (behind, name_here, numbered_by, self.report.guess)
        return {next(filter(None, (way(key, known) for way in ways)), "") for key in unknown}

    def _constant(self, row: Attr, raw: object, node: Node, key: str = "") -> Value:
        if raw is None and row.nullable:
            return None
        try:
            if raw is None:
                raise ValueError(f"expected {row.type.expected}, not null")
            return row.type.parse(raw)
        except ValueError as error:
            self._fail(key or row.name, node, error, shows=raw is not None)
            return None

    def _fail(self, key: str, node: Node, error: ValueError, more: str = "", *, shows: bool = False) -> None:
        """Report all that is wrong with a value."""
        self._failed.add(node.at)
        for one in each(error):
            self._wrong(key, node, one, more, shows=shows)

    def _wrong(self, key: str, node: Node, error: ValueError, more: str, *, shows: bool) -> None:
        """Report what is wrong where it is, which may be deep inside the value."""
        place, rest = node, f"{error}{more}"
        items = iter(getattr(error, "items", ()))
        while not isinstance(place, Scalar):
            if isinstance(place, SequenceNode):
                item = next(items, len(place.items))
                if item >= len(place.items) or any(map(_is_several, place.items)):
                    break
                place = place.items[item]
                continue
            inner, colon, behind = rest.partition(": ")
            if not colon or inner not in place.entries:
                break
            key, place, rest = inner, place.entries[inner].value, behind
        if isinstance(error, UnknownKeyError):
            self.unknown(error.key, _place_of(error.key, place) or place.at, error.known)
            return
        hint, what = meant_range(place) or _without_zone(place, key), kind_of(place)
        told = rest.endswith("beside it") or ";" in rest or what in rest or (hint and not isinstance(place, Scalar))
        told = told or (isinstance(place, MappingNode) and "expected" not in rest)  # what is missing there
        told = told or (rest.endswith(f"not {place.text!r}") if isinstance(place, Scalar) else ", not " in rest)
        if shows and not told and not (isinstance(place, Scalar) and place.null):
            rest += f", not {what}"
        self.report.error(place.at, f"{key}: {rest}", hint)


def _is_several(node: Node) -> bool:
    """Whether a list has several items for this one."""
    return isinstance(node, Scalar) and "[" in node.text


def meant_range(node: Node) -> str:
    """What was probably meant by a range or reference that YAML read as something else."""
    if isinstance(node, MappingNode) and len(node.entries) == 1:
        (name, entry), *_ = node.entries.items()
        if isinstance(entry.value, Scalar) and entry.value.null:
            return f'YAML reads {{{name}}} as a mapping: put it in quotes, "{{{name}}}"'
    items = node.items if isinstance(node, SequenceNode) else [node]
    if isinstance(node, Scalar) and node.text == "None":
        return "nothing is null in YAML, and ${value | yaml} writes it so"
    words = [word for one in items if isinstance(one, Scalar) for word in SEPARATOR.split(one.text)]
    if all(map(_NUMBERS.fullmatch, words)) and any(map(_SPAN.fullmatch, words)):
        return f'a range has brackets, and quotes for YAML: "[{",".join(words)}]"'
    return ""


def _without_zone(node: Node, key: str) -> str:
    """What to write in place of an address with the name of a link behind it, as in ``fe80::1%eth0``; or nothing."""
    found = _ZONED.fullmatch(node.text) if isinstance(node, Scalar) else None
    if not found:
        return ""
    link = "it stands under its link" if key == "address" else f"the link is its 'dev': {found[2]}"
    return f"an address is written without '%{found[2]}': {link}"


def _place_of(key: str, node: Node) -> int:
    """Where a key is first written in a value; 0 if it is not."""
    if isinstance(node, Scalar):
        return 0
    if isinstance(node, MappingNode) and key in node.entries:
        return node.entries[key].at
    inner = node.items if isinstance(node, SequenceNode) else [entry.value for entry in node.entries.values()]
    return next((place for one in inner if (place := _place_of(key, one))), 0)


def _shown(value: object) -> str:
    return f", not {value!r}" if isinstance(value, str | int) and value != "" else ""


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "there is none here, as in {}"
    return "known are " + ", ".join(sorted(names)) if len(names) <= 12 else ""
