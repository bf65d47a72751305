# SPDX-License-Identifier: GPL-2.0-or-later
"""The words behind ``ip route add`` and its like -> attributes, by the same rows that describe our own."""

from collections.abc import Collection, Mapping, Sequence

from netgroupd.config.importer.attributes import mac
from netgroupd.config.importer.fold import Body
from netgroupd.model.attr import Attr
from netgroupd.model.value import FLAG, MAC

_ON, _OFF = ("on", "1"), ("off", "0")


def read(
    words: Sequence[str],
    rows: Mapping[str, Attr],
    aliases: Mapping[str, str] | None = None,
    ignored: Collection[str] = (),
) -> tuple[Body, list[str]]:
    """Take names and values off the words; what is left stands alone, as the destination of a route may.

    Raises:
        ValueError: A value is missing, or is none of its attribute.
    """
    body: Body = {}
    left: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        key = (aliases or {}).get(word, word)
        if word in ignored and waiting:
            waiting.pop(0)
        elif key in rows and rows[key].type is FLAG:
            body[key] = waiting.pop(0) in _ON if waiting and waiting[0] in (*_ON, *_OFF) else True
        elif key in rows:
            if not waiting:
                raise ValueError(f"{word} needs a value")
            body[key] = _valid(word, rows[key], number(waiting.pop(0)))
        elif word.startswith("no") and (row := rows.get(word[2:])) and row.type is FLAG:
            body[word[2:]] = False
        else:
            left.append(word)
    return body, left


def take(words: list[str], name: str) -> str | None:
    """Take one name and its value off the words; None if it is not among them."""
    if name not in words[:-1]:
        return None
    at = words.index(name)
    value = words.pop(at + 1)
    del words[at]
    return value


def split(words: Sequence[str], separator: str) -> list[list[str]]:
    """What stands before the first separator, and behind each."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            found.append([])
        else:
            found[-1].append(word)
    return found


def alone(left: Sequence[str], what: str) -> str:
    """Give the one word that stands alone.

    Raises:
        ValueError: There is none, or more than that.
    """
    if not left:
        raise ValueError(f"it names no {what}")
    refuse(left[1:])
    return left[0]


def refuse(left: Sequence[str]) -> None:
    """See to it that nothing is left.

    Raises:
        ValueError: Something is.
    """
    if left:
        raise ValueError(f"no equivalent of {' '.join(left)}")


def number(word: str) -> int | str:
    """Read a number as one."""
    return int(word) if word.isdecimal() and word.isascii() else word


def _valid(word: str, row: Attr, value: int | str) -> int | str | bool:
    """Read a value, and write it as our own files do where `ip` takes capitals, short MAC addresses and 0 or 1."""
    written = mac(str(value)) if row.type is MAC else value
    try:
        parsed = row.type.parse(written)
        if isinstance(parsed, bool):
            return parsed
        if isinstance(parsed, str):
            written = str(written)  # a link may be called 7
        if isinstance(written, str) and row.type.parse(written.lower()) == parsed:
            return written.lower()
    except ValueError as error:
        raise ValueError(f"{word} {value}: {error}") from None
    return written
