# SPDX-License-Identifier: GPL-2.0-or-later
"""The range notations of ifupdown2: port lists and VLAN lists, expanded and folded back.

``swp1-6``, ``swp[1-6].100``, ``glob swp1-6.100 bond0`` are names;
``1000-1100,2000`` and ``1000-1100 2000`` are numbers.
"""

import re
from collections.abc import Iterable
from itertools import product

LIMIT = 1_000_000
_BRACKETS = re.compile(r"\[(\d+)-(\d+)\]")
_DASH = re.compile(r"(\D(?:.*?\D)?)(\d+)-(\d+)(\D.*)?")
SEPARATOR = re.compile(r"[\s,]+")
_SPAN = re.compile(r"(\d+)(?:-(\d+))?")


def names(text: str) -> tuple[str, ...]:
    """Expand a port list.

    Raises:
        ValueError: A range runs backwards or is larger than anything real.
    """
    words = (word for word in SEPARATOR.split(text.strip()) if word not in ("", "glob"))
    return tuple(name for word in words for name in _names_of(word))


def in_brackets(word: str) -> tuple[str, ...]:
    """Expand a name as `auto` and `iface` have it, where a dash without brackets is a dash: bond1-2.

    Raises:
        ValueError: A range runs backwards or is larger than anything real.
    """
    return tuple(_names_of(word)) if "[" in word else (word,)


def _names_of(word: str) -> list[str]:
    pieces = _BRACKETS.split(word)
    if len(pieces) > 1:
        literals, spans = pieces[::3], list(zip(pieces[1::3], pieces[2::3], strict=True))
    elif dashed := _DASH.fullmatch(word):
        literals, spans = [dashed[1], dashed[4] or ""], [(dashed[2], dashed[3])]
    else:
        return [word]
    ranges = [_span(int(first), int(last), word) for first, last in spans]
    size = 1
    for span in ranges:
        size *= len(span)
    if size > LIMIT:
        raise ValueError(f"{word} stands for {size} names; the limit is {LIMIT}")
    tails = literals[1:]
    return [
        literals[0] + "".join(f"{number}{tail}" for number, tail in zip(choice, tails, strict=True))
        for choice in product(*ranges)
    ]


def numbers(text: str | int) -> tuple[int, ...]:
    """Expand a VLAN list, in the order written.

    Raises:
        ValueError: It is not a list of numbers and ranges.
    """
    found: list[int] = []
    for word in SEPARATOR.split(str(text).strip()):
        if not word:
            continue
        span = _SPAN.fullmatch(word)
        if not span:
            raise ValueError(f"{word!r} is neither a number nor a range such as 1000-1100")
        found.extend(_span(int(span[1]), int(span[2] or span[1]), word))
    return tuple(found)


def fold(values: Iterable[int]) -> str:
    """Write numbers as a list of ranges, in order: the reverse of ``numbers``."""
    spans: list[list[int]] = []
    for value in sorted(set(values)):
        if spans and value == spans[-1][1] + 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _span(first: int, last: int, word: str) -> range:
    if last < first:
        raise ValueError(f"{word} runs backwards: {first} is greater than {last}")
    if last - first >= LIMIT:
        raise ValueError(f"{word} stands for {last - first + 1} numbers; the limit is {LIMIT}")
    return range(first, last + 1)
