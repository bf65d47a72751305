# SPDX-License-Identifier: GPL-2.0-or-later
"""Values and folded patterns -> YAML in netgroupd's language of ranges and references."""

import re
from collections.abc import Mapping, Sequence, Set

from netgroupd.model.value import Value
from netgroupd.plan.fold import Pattern, Piece, Term, form_text, range_text

_PLAIN = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_PLAIN_KEY = re.compile(r"[A-Za-z_](?:[\w.-]|\[[\w=,/-]+\])*", re.ASCII)
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LETTERS = "abcdefgh"
COUNTED = "v"
"""The letter of a range inside of a text that has others around it; what it counts stays together there."""
_TWICE = {letter: letter * 2 for letter in "{}[]"}  # alone they are ranges and references
# Those without digits, for numbers are what ranges are made of.
_ESCAPES = dict(zip('\\"\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029', '\\"abtnvfreN_LP', strict=True))
_WRITTEN = str.maketrans(_TWICE | {letter: f"\\{name}" for letter, name in _ESCAPES.items()})
_PARTS = {"ip4": (4, 8, "{}"), "ip6": (8, 16, "{:x}"), "mac": (6, 8, "{:02x}")}  # how many, of how many bits
_UNWRITTEN = re.compile(r"[\0-\x06\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def quoted(value: Value) -> str:
    """A value in flow style with every text and number quoted, so that references can be put into it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(quoted, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {quoted(inner)}" for name, inner in value.items()) + "}"
    return f'"{str(value).translate(_WRITTEN)}"'


def key_text(name: str) -> str:
    """The key of a mapping, quoted unless it is plain: behind a letter ranges are."""
    plain = _WHOLE.fullmatch(name) or (_PLAIN_KEY.fullmatch(name) and name.lower() not in _WORDS)
    return name if plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_sayable(value: Value) -> bool:
    """Whether every text in a value can be written: bytes that are no text cannot."""
    if isinstance(value, str):
        return value.isprintable() or not _UNWRITTEN.search(value)
    if isinstance(value, tuple):
        return all(map(is_sayable, value))
    return not isinstance(value, Mapping) or all(map(is_sayable, value.values()))


def unquoted(text: str) -> str:
    """Take the quotes off what is plain without them."""

    def plain(match: re.Match[str]) -> str:
        inner = match[1]
        if _WHOLE.fullmatch(inner) or (_PLAIN.fullmatch(inner) and inner.lower() not in _WORDS):
            return inner
        return match[0]

    return _QUOTED.sub(plain, text)


def texts_of(pattern: Pattern, letters: str = _LETTERS) -> list[str]:
    """The texts of a pattern: the name with its ranges, and the others with references to them."""
    named = _named(pattern, letters)
    name = "".join(piece if isinstance(piece, str) else _range(piece, pattern, named) for piece in pattern.fields[0])
    others = ("".join(_piece(piece, pattern, named) for piece in field) for field in pattern.fields[1:])
    return [name, *others]


def _named(pattern: Pattern, letters: str) -> dict[int, str]:
    """A letter for each range that a text refers to."""
    used = {
        dimension
        for field in pattern.fields[1:]
        for piece in field
        if isinstance(piece, Term)
        for dimension, _ in piece.strides
        if len(pattern.dimensions[dimension]) > 1
    }
    return {dimension: letters[number] for number, dimension in enumerate(sorted(used))}


def _range(term: Term, pattern: Pattern, named: Mapping[int, str]) -> str:
    dimension = term.strides[0][0]
    values = pattern.dimensions[dimension]
    if len(values) == 1:
        return form_text(term.form, values[0])
    label = f"{named[dimension]}=" if dimension in named else ""
    return f"[{label}{range_text(values, term.form)}]"


def _piece(piece: Piece, pattern: Pattern, named: Mapping[int, str]) -> str:
    if isinstance(piece, str):
        return piece
    low = [values[0] for values in pattern.dimensions]
    moving = [(dimension, stride) for dimension, stride in piece.strides if dimension in named]
    if not moving:
        return form_text(piece.form, piece.at(low))
    width = f":{piece.form}" if piece.form.isdigit() else ""
    if len(moving) == 1 and moving[0][1] == 1 and piece.form not in ("mac", "ip4", "ip6"):
        away = piece.at(low) - low[moving[0][0]]
        shift = f" + {away}" if away > 0 else f" - {-away}" if away else ""
        return f"{{{named[moving[0][0]]}{shift}{width}}}"
    if parts := _in_parts(piece, pattern, dict(moving), named):
        return parts
    grown = "".join(_growth(named[dimension], low[dimension], stride) for dimension, stride in moving)
    return f"{{{form_text(piece.form if not width else '', piece.at(low))}{grown}{width}}}"


def _in_parts(term: Term, pattern: Pattern, moving: Mapping[int, int], named: Mapping[int, str]) -> str:
    """An address in which each range counts a part of its own up by one, as ``10.0.{a}.1``; "" for any other."""
    if term.form not in _PARTS:
        return ""
    count, bits, hexadecimal = _PARTS[term.form]
    base = term.at([values[0] for values in pattern.dimensions])
    parts = [base >> bits * (count - 1 - at) & (1 << bits) - 1 for at in range(count)]
    written = [hexadecimal.format(part) for part in parts]
    told = set[int]()
    for dimension, stride in moving.items():
        at = count - 1 - (stride.bit_length() - 1) // bits
        values = pattern.dimensions[dimension]
        if stride != 1 << bits * (count - 1 - at) or at in told or parts[at] + values[-1] - values[0] >> bits:
            return ""
        told.add(at)
        written[at] = _counted(named[dimension], values, parts[at], hexadecimal)
    return ".".join(written) if term.form == "ip4" else _with_colons(written, told, shortened=term.form == "ip6")


def _counted(letter: str, values: Sequence[int], first: int, form: str) -> str:
    """A part of an address that is ``first`` at the first of ``values``, and counts up with them."""
    away = first - values[0]
    if all(form.format(value + away) == str(value) for value in values):
        return f"{{{letter}}}"
    shift = f" + {away}" if away > 0 else f" - {-away}" if away else ""
    return f"{{{letter}{shift}{form[1:-1]}}}"


def _with_colons(parts: Sequence[str], told: Set[int], *, shortened: bool) -> str:
    zeros = "".join("0" if part == "0" and at not in told else "-" for at, part in enumerate(parts))
    longest = max(re.findall("0+", zeros), default="", key=len)
    if not shortened or len(longest) < 2:
        return ":".join(parts)
    start = zeros.index(longest)
    return f"{':'.join(parts[:start])}::{':'.join(parts[start + len(longest) :])}"


def _growth(letter: str, low: int, stride: int) -> str:
    sign = "+" if stride > 0 else "-"
    shifted = f"({letter} - {low})" if low else letter
    return f" {sign} {shifted}" + (f" * {abs(stride)}" if abs(stride) != 1 else "")
