# SPDX-License-Identifier: GPL-2.0-or-later
"""Rewriting of packet fields: {ip ttl: 64} as the 32-bit words that the kernel rewrites.

A word is written as header, offset, mask and value, both in the order of the
packet: "ip 8 set 0x40000000/0xff000000".  That is what an action holds and what a
dump brings; the names of fields are for files.  Where the place depends on the packet,
what is added to it stands behind: "at 0/0xf>>2", bits of a byte, and how far they are shifted.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.value import MAC_TEXT, Type, Value, ip_bytes

HEADERS = {"network": 0, "eth": 1, "ip": 2, "ip6": 3, "tcp": 4, "udp": 5}
COMMANDS = {"set": 0, "add": 1}


class _Field(NamedTuple):
    header: str
    offset: int
    width: int
    mask: int = 0  # the bits of its word, where it is not whole bytes


_FIELDS = {
    "eth dst": _Field("eth", 0, 6),
    "eth src": _Field("eth", 6, 6),
    "eth type": _Field("eth", 12, 2),
    "ip dsfield": _Field("ip", 1, 1),
    "ip ttl": _Field("ip", 8, 1),
    "ip protocol": _Field("ip", 9, 1),
    "ip src": _Field("ip", 12, 4),
    "ip dst": _Field("ip", 16, 4),
    "ip6 traffic_class": _Field("ip6", 0, 4, 0x0FF00000),
    "ip6 flow_lbl": _Field("ip6", 0, 4, 0x000FFFFF),
    "ip6 nexthdr": _Field("ip6", 6, 1),
    "ip6 hoplimit": _Field("ip6", 7, 1),
    "ip6 src": _Field("ip6", 8, 16),
    "ip6 dst": _Field("ip6", 24, 16),
    "tcp sport": _Field("tcp", 0, 2),
    "tcp dport": _Field("tcp", 2, 2),
    "tcp flags": _Field("tcp", 13, 1),
    "udp sport": _Field("udp", 0, 2),
    "udp dport": _Field("udp", 2, 2),
}
_EXPECTED = "a mapping of fields to what they become: " + ", ".join(_FIELDS)
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,8}|[0-9]{1,10}")
_MOST = 255  # words
_MOST_OFFSET = 0xFFFFFFFC
_WORD = re.compile(
    r"(\w+) (\d+) (set|add) 0x([0-9a-f]{8})/0x([0-9a-f]{8})(?: at (\d{1,10})/0x([0-9a-f]{1,8})>>(\d{1,2}))?"
)
_MOST_AT, _MOST_SHIFT = 0xFFFFFFFF, 31


class Word(NamedTuple):
    """One rewritten word; ``mask`` are the bits that change.

    With ``moved`` it is further behind, by these bits of the byte ``at``, shifted.
    """

    header: str
    offset: int
    command: str
    value: int
    mask: int
    at: int = 0
    moved: int = 0
    shift: int = 0

    def __str__(self) -> str:
        further = f" at {self.at}/{self.moved:#x}>>{self.shift}" if self.moved else ""
        return f"{self.header} {self.offset} {self.command} {self.value:#010x}/{self.mask:#010x}{further}"


def read_word(text: str) -> Word:
    """A word from its text; raises ValueError."""
    if not (found := _WORD.fullmatch(text)) or found[1] not in HEADERS:
        raise ValueError("expected a word like ip 8 set 0x40000000/0xff000000")
    offset = int(found[2]) if len(found[2]) <= len(str(_MOST_OFFSET)) else _MOST_OFFSET + 1
    if offset > _MOST_OFFSET or offset % 4:
        raise ValueError(f"expected a word at a multiple of 4 up to {_MOST_OFFSET}, not at {found[2]}")
    at, moved, shift = int(found[6] or 0), int(found[7] or "0", 16), int(found[8] or 0)
    if at > _MOST_AT or shift > _MOST_SHIFT:
        raise ValueError(f"expected a byte up to {_MOST_AT} and a shift up to {_MOST_SHIFT}, not {text!r}")
    return Word(found[1], offset, found[3], int(found[4], 16), int(found[5], 16), at, moved, shift)


def _payload(name: str, width: int, said: str) -> bytes:
    text = said.lower()
    if width == 6 and MAC_TEXT.fullmatch(text):
        return bytes.fromhex(text.replace(":", ""))
    base = 16 if text.startswith("0x") else 10
    got = ip_bytes(said) if width in (4, 16) else int(text, base).to_bytes(width, "big")
    if len(got) != width:
        raise ValueError(f"expected an address of {width} bytes for {name}")
    return got


def _shifted(name: str, said: str, mask: int) -> int:
    """A number where its bits are in their word."""
    lowest = mask & -mask
    most = mask // lowest
    number = int(said, 16 if said.startswith("0x") else 10) if _NUMBER.fullmatch(said) else most + 1
    if number > most:
        raise ValueError(f"expected a number up to {most} for {name}, not {said!r}")
    return number * lowest


def _words(name: str, said: str) -> Iterator[Word]:
    """The words that hold a field, each with only the field's own bits."""
    header, offset, width, bits = _FIELDS[name]
    command, _, amount = said.partition(" ")
    if command not in COMMANDS or not amount:
        command, amount = "set", said
    if bits:
        yield Word(header, offset, command, _shifted(name, amount, bits), bits)
        return
    try:
        got = _payload(name, width, amount)
    except (ValueError, OverflowError):
        raise ValueError(f"expected a value of {width} bytes for {name}, not {amount!r}") from None
    start, end = offset & ~3, (offset + width + 3) & ~3
    value = bytes(offset - start) + got + bytes(end - offset - width)
    mask = bytes(offset - start) + b"\xff" * width + bytes(end - offset - width)
    for at in range(0, end - start, 4):
        yield Word(
            header,
            start + at,
            command,
            int.from_bytes(value[at : at + 4], "big"),
            int.from_bytes(mask[at : at + 4], "big"),
        )


def _parse(raw: object) -> Value:
    if isinstance(raw, Mapping):
        if not raw:
            raise ValueError(f"expected {_EXPECTED}")
        if unknown := [name for name in raw if name not in _FIELDS]:
            raise ValueError(f"expected {_EXPECTED}, not {unknown[0]!r}")
        return tuple(str(word) for name, said in raw.items() for word in _words(str(name), str(said)))
    rows = raw if isinstance(raw, list | tuple) else (raw,)
    if not 0 < len(rows) <= _MOST:
        raise ValueError(f"expected 1 to {_MOST} words, not {len(rows)}")
    return tuple(str(read_word(str(row))) for row in rows)


MUNGE = Type(
    _EXPECTED,
    _parse,
    {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "string"}}]},
)
