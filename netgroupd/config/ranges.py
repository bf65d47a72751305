# SPDX-License-Identifier: GPL-2.0-or-later
"""``swp[1-6].{v}``: a text with ranges and references -> the texts it stands for.

``[1-6]``, ``[1,3,10-20]``, ``[v=1-6]``, ``[001-100]``, ``[0-100/10]``: several
ranges in a text multiply.  ``{…}`` refers to the values of ranges, of this text
or of what it is written under.  ``[[``, ``]]``, ``{{`` and ``}}`` stand for one of
each, as text.  A text is compiled once and evaluated for each instance; its size
is known before anything is built.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, product
from math import prod
from operator import itemgetter
from typing import NamedTuple

from netgroupd.config.expression import BadTextError, Env, Field, compile_field

LIMIT = 2_000_000  # a million rules, and as much again for what they are on
_MOST_PIECES = 32
_PIECE = re.compile(r"\[\[|\]\]|\{\{|\}\}|\[([^\[\]:]*)\]|\{([^{}]*)\}|[\[\]{}]")
_TWICE = frozenset({"[[", "]]", "{{", "}}"})
_NAMED = re.compile(r"\s*(?:([A-Za-z_]\w*)\s*=)?(.*)", re.DOTALL | re.ASCII)
_SPAN = re.compile(r"\s*([0-9]{1,15})\s*(?:-\s*([0-9]{1,15})\s*(?:/\s*([0-9]{1,15})\s*)?)?", re.ASCII)


class Range(NamedTuple):
    """The numbers between one pair of brackets; ``width`` is the digits that zeros fill up."""

    name: str
    spans: tuple[range, ...]
    width: int

    @property
    def size(self) -> int:
        """How many numbers."""
        return sum(map(len, self.spans))


class Pattern(NamedTuple):
    """A compiled text: its own ``ranges``, and what it says given all the values."""

    text: str
    ranges: tuple[Range, ...]
    make: Callable[[Env], "int | str"]
    varies: bool

    @property
    def size(self) -> int:
        """How many texts it stands for."""
        return prod(one.size for one in self.ranges)

    def instances(self, env: Env = ()) -> Iterator[tuple[int | str, Env]]:
        """Each text with the values that gave it; ``env`` are those of the ranges around."""
        make = self.make
        if not self.ranges:
            yield make(env), env
            return
        for values in product(*(chain(*one.spans) for one in self.ranges)):
            inner = env + values
            yield make(inner), inner


def has_pattern(text: str) -> bool:
    """Whether a text needs compiling at all."""
    return "[" in text or "{" in text or "]" in text or "}" in text


def compile_text(text: str, scope: Sequence[Range] = ()) -> Pattern:
    """Read the ranges and references in ``text``, which stands under the ranges ``scope``.

    Raises:
        BadTextError: A bracket or brace holds something else.
    """
    if not has_pattern(text):
        return Pattern(text, (), lambda env: text, False)
    pieces = list(_PIECE.finditer(text))
    if len(pieces) > _MOST_PIECES:
        raise BadTextError(pieces[_MOST_PIECES].start(), f"over {_MOST_PIECES} ranges and references in one text")
    if all(piece[0] in _TWICE for piece in pieces):
        plain = _PIECE.sub(lambda piece: piece[0][0], text)
        return Pattern(text, (), lambda env: plain, False)
    own = tuple(_range_at(piece) for piece in pieces if piece[1] is not None)
    _check_names((*scope, *own), pieces)
    visible = (*scope, *own)
    names, widths = [one.name for one in visible], [one.width for one in visible]
    fields: list[Field] = []
    template = ""
    end = 0
    index = len(scope)
    for piece in pieces:
        if piece[0] in ("[", "]") and ":" in text:
            continue  # around an IPv6 address with a port, as in [2001:db8::1]:51820
        template += text[end : piece.start()].replace("%", "%%")
        end = piece.end()
        if piece[0] in _TWICE:
            template += piece[0][0]
        elif piece[1] is not None:
            template += f"%0{widths[index]}d"
            fields.append(itemgetter(index))
            index += 1
        elif piece[2] is not None:
            template += "%s"
            fields.append(_field(piece, names, widths))
        else:
            raise BadTextError(piece.start(), f"{piece[0]!r} has no counterpart; as text it is written twice")
    template += text[end:].replace("%", "%%")
    return Pattern(text, own, _maker(template, fields), True)


def _range_at(piece: "re.Match[str]") -> Range:
    try:
        return _parse_range(piece[1])
    except BadTextError as bad:
        raise BadTextError(piece.start(1) + bad.offset, str(bad)) from None


def _field(piece: "re.Match[str]", names: Sequence[str], widths: Sequence[int]) -> Field:
    try:
        return compile_field(piece[2], names, widths)
    except BadTextError as bad:
        raise BadTextError(piece.start(2) + bad.offset, str(bad)) from None


def _check_names(visible: Sequence[Range], pieces: Sequence["re.Match[str]"]) -> None:
    names = [one.name for one in visible if one.name]
    for piece in pieces:
        name = _NAMED.fullmatch(piece[1] or "")
        if name and name[1] and names.count(name[1]) > 1:
            raise BadTextError(piece.start(1), f"two ranges are named {name[1]!r}")


def _maker(template: str, fields: Sequence[Field]) -> Callable[[Env], "int | str"]:
    if template == "%s":
        return fields[0]  # one reference alone keeps its number, which saves reading it again
    if len(fields) == 1:
        only = fields[0]
        return lambda env: template % only(env)
    if len(fields) == 2:
        first, second = fields
        return lambda env: template % (first(env), second(env))
    return lambda env: template % tuple([field(env) for field in fields])


@lru_cache(maxsize=4096)
def _parse_range(body: str) -> Range:
    match = _NAMED.fullmatch(body)
    assert match
    spans = []
    width = 0
    offset = match.start(2)
    for item in match[2].split(","):
        found = _SPAN.fullmatch(item)
        if not found:
            raise BadTextError(offset, f"expected numbers like 1-6, 1,3,10-20, v=1-6 or 0-100/10, not {item.strip()!r}")
        spans.append(_span(found, offset))
        if found[1].startswith("0") and len(found[1]) > 1:
            width = max(width, len(found[1]))
        offset += len(item) + 1
    return Range(match[1] or "", tuple(spans), width)


def _span(found: "re.Match[str]", offset: int) -> range:
    first = int(found[1])
    last = int(found[2]) if found[2] else first
    step = int(found[3]) if found[3] else 1
    if last < first:
        raise BadTextError(offset, f"the range runs backwards; write {last}-{first}")
    if not step:
        raise BadTextError(offset, "a step of 0 never gets anywhere")
    return range(first, last + 1, step)


def referring(text: str, scope: Sequence[Range]) -> tuple[str, tuple[Range, ...]]:
    """Replace the ranges in a text by references to their places behind ``scope``.

    Raises:
        BadTextError: A bracket holds something else.
    """
    pieces = [piece for piece in _PIECE.finditer(text) if piece[1] is not None]
    if len(pieces) > _MOST_PIECES:
        raise BadTextError(pieces[_MOST_PIECES].start(), f"over {_MOST_PIECES} ranges in one text")
    found = tuple(_range_at(piece) for piece in pieces)
    _check_names((*scope, *found), pieces)
    numbers = iter(range(len(scope) + 1, len(scope) + len(found) + 1))
    return _PIECE.sub(lambda piece: piece[0] if piece[1] is None else f"{{{next(numbers)}}}", text), found
