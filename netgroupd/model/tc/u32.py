# SPDX-License-Identifier: GPL-2.0-or-later
"""What the u32 classifier matches, and its hash tables.

A rule matches 32-bit words at offsets, like "0x0a000000/0xff000000 at 16".  A
hash table is a rule of its own, ``table`` with a ``divisor``: how many buckets
it has.  Other rules of its preference are in one of its buckets (``table``,
``bucket``), or lead to it (``link``), where ``hashkey`` says which bits choose
the bucket and ``offset`` how far on the next header is.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from netgroupd.model.rule import PROTOCOLS
from netgroupd.model.tc.masked import masked_number
from netgroupd.model.value import NAME, Type, Value, number, record, split_prefix

_WORD = re.compile(r"(?:0x)?([0-9a-fA-F]{1,8})/(?:0x)?([0-9a-fA-F]{1,8}) at (nexthdr\+)?(-?[0-9]{1,5})", re.IGNORECASE)
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,4}|[0-9]{1,5}")
_FIELDS = {"ip src": 12, "ip dst": 16}
_FIELDS6 = {"ip6 src": 8, "ip6 dst": 24}


class _Place(NamedTuple):
    """Where a field of less than a word is: the word, its first byte in that, and how many it has."""

    offset: int
    first: int
    width: int
    nexthdr: bool = False


_BYTES = {
    "ip protocol": _Place(8, 1, 1),
    "ip tos": _Place(0, 1, 1),
    "ip sport": _Place(20, 0, 2),
    "ip dport": _Place(20, 2, 2),
    "tcp src": _Place(0, 0, 2, nexthdr=True),
    "tcp dst": _Place(0, 2, 2, nexthdr=True),
    "udp src": _Place(0, 0, 2, nexthdr=True),
    "udp dst": _Place(0, 2, 2, nexthdr=True),
    "icmp type": _Place(0, 0, 1, nexthdr=True),
    "icmp code": _Place(0, 1, 1, nexthdr=True),
}
_MOST_WORDS = 128
_EXPECTED = (
    'words like "0x0a000000/0xff000000 at 16", or "… at nexthdr+0", or a mapping of '
    + ", ".join((*_FIELDS, *_FIELDS6, *_BYTES))
    + " to their values"
)


class Word(NamedTuple):
    """A word, of the header that a ``link`` led to if it is of the next one."""

    value: int
    mask: int
    offset: int
    nexthdr: bool = False

    def __str__(self) -> str:
        return f"0x{self.value:08x}/0x{self.mask:08x} at {'nexthdr+' if self.nexthdr else ''}{self.offset}"


def read_word(text: str) -> Word:
    """A word out of its text; raises ValueError."""
    if not (found := _WORD.fullmatch(text)):
        raise ValueError(f"expected {_EXPECTED}")
    value, mask = int(found[1], 16), int(found[2], 16)
    return Word(value & mask, mask, int(found[4]), bool(found[3]))


def _addressed(name: str, said: str) -> tuple[Word, ...]:
    """An address in one word or four; those of which no bit counts are left out."""
    whole, length = split_prefix(said)
    six = name in _FIELDS6
    if len(whole) != (16 if six else 4):
        raise ValueError(f"expected an IPv{6 if six else 4} network for {name}")
    start = _FIELDS6[name] if six else _FIELDS[name]
    bits = 8 * len(whole)
    masks = (((1 << length) - 1) << (bits - length)).to_bytes(len(whole), "big")
    words: list[Word] = []
    for at in range(0, len(whole), 4):
        mask = int.from_bytes(masks[at : at + 4], "big")
        if mask or not words:
            words.append(Word(int.from_bytes(whole[at : at + 4], "big") & mask, mask, start + at))
    return tuple(words)


def _field(name: str, said: str) -> tuple[Word, ...]:
    if name in _FIELDS or name in _FIELDS6:
        return _addressed(name, said)
    if name not in _BYTES:
        raise ValueError(f"expected {_EXPECTED}, not {name!r}")
    place = _BYTES[name]
    shift = 8 * (4 - place.first - place.width)
    whole_field = (1 << 8 * place.width) - 1
    number_ = _of_field(name, said)
    if not 0 <= number_ <= whole_field:
        raise ValueError(f"expected a number up to {whole_field} for {name}, not {said!r}")
    return (Word(number_ << shift, whole_field << shift, place.offset, place.nexthdr),)


def _of_field(name: str, said: str) -> int:
    """A number as it is written, of a protocol its name too; -1 for what is none."""
    if name == "ip protocol" and said in PROTOCOLS:
        return PROTOCOLS[said]
    return int(said, 16 if said[1:2] == "x" else 10) if _NUMBER.fullmatch(said) else -1


def _parse_words(raw: object) -> Value:
    if isinstance(raw, Mapping):
        words = tuple(word for name, said in raw.items() for word in _field(str(name), str(said)))
    else:
        words = tuple(read_word(str(row)) for row in (raw if isinstance(raw, list | tuple) else (raw,)))
    if len(words) > _MOST_WORDS:
        raise ValueError(f"expected at most {_MOST_WORDS} words, not {len(words)}")
    return tuple(map(str, words))


_SELECTOR = Type(_EXPECTED, _parse_words, {"oneOf": [{"type": ["string", "object"]}, {"type": "array"}]})

_HASHKEY = re.compile(r"(?:0x)?([0-9a-fA-F]{1,8}) at (-?[0-9]{1,5})")
_HASHKEY_EXPECTED = 'a mask and where it is, like "0x000000ff at 16"'


def read_hashkey(text: str) -> tuple[int, int]:
    """The mask that chooses a bucket, and the offset of its word; raises ValueError."""
    if not (found := _HASHKEY.fullmatch(text)) or not int(found[1], 16):
        raise ValueError(f"expected {_HASHKEY_EXPECTED}")
    return int(found[1], 16), int(found[2])


def hashkey_text(mask: int, offset: int) -> str:
    """A mask and where it is, as it is written."""
    return f"0x{mask:08x} at {offset}"


class Offset(NamedTuple):
    """How far on the next header is: bits of 16 at a place, shifted to the right, and a fixed part; "" says none.

    With ``eat`` the offsets behind count from there, otherwise those of nexthdr+ alone.
    """

    mask: int = 0
    at: int = 0
    shift: int = 0
    plus: int = 0
    eat: bool = False

    def __str__(self) -> str:
        varying = [f"mask 0x{self.mask:04x} at {self.at} shift {self.shift}"] if self.mask else []
        fixed = [f"plus {self.plus}"] if self.plus or not (self.mask or self.eat) else []
        return " ".join([*varying, *fixed, *(["eat"] if self.eat else [])])


_OFFSET = re.compile(
    r"(?:mask (?:0x)?([0-9a-fA-F]{1,4}) at ([0-9]{1,4}) shift ([0-9]|1[0-5]))? ?(?:plus ([0-9]{1,4}))? ?(eat)?"
)
_OFFSET_EXPECTED = (
    'an offset like "mask 0x0f00 at 0 shift 6", behind an IPv4 header, or "plus 40 eat", behind an IPv6 one'
)


def read_offset(text: str) -> Offset:
    """An offset out of its text; raises ValueError."""
    found = _OFFSET.fullmatch(text)
    if not found or not text.strip():
        raise ValueError(f"expected {_OFFSET_EXPECTED}")
    mask, at, shift, plus, eat = found.groups()
    offset = Offset(int(mask or "0", 16), int(at or 0), int(shift or 0), int(plus or 0), bool(eat))
    if not (offset.mask or offset.plus or offset.eat):
        raise ValueError(f"expected {_OFFSET_EXPECTED}")
    return offset


_TABLE = number(16, 1, 0x7FF)
_DIVISORS = tuple(1 << bits for bits in range(9))
_DIVISOR_EXPECTED = f"how many buckets: one of {', '.join(map(str, _DIVISORS))}"


def _parse_divisor(raw: object) -> Value:
    got = number(16).parse(raw)
    if got not in _DIVISORS:
        raise ValueError(f"expected {_DIVISOR_EXPECTED}")
    return got


U32_FIELDS: Mapping[str, Type] = {
    "match": _SELECTOR,
    "indev": NAME,
    "mark": masked_number(32, order="little", hexadecimal=True),
    "table": _TABLE,
    "bucket": number(16, 0, 255),
    "divisor": Type(_DIVISOR_EXPECTED, _parse_divisor, {"enum": list(_DIVISORS)}),
    "link": _TABLE,
    "hashkey": Type(_HASHKEY_EXPECTED, lambda raw: hashkey_text(*read_hashkey(str(raw))), {"type": "string"}),
    "offset": Type(_OFFSET_EXPECTED, lambda raw: str(read_offset(str(raw))), {"type": "string"}),
}
_RECORD = record(U32_FIELDS)
_NOTHING: Mapping[str, Value] = {"match": (), "mark": "0x0/0x0"}  # not told, for every packet fits


def _parse(raw: object) -> Value:
    match = _RECORD.parse(raw)
    assert isinstance(match, Mapping)
    vain = {name for name, nothing in _NOTHING.items() if match.get(name) == nothing}
    match = {name: value for name, value in match.items() if name not in vain}
    if "divisor" in match:
        if match.keys() != {"divisor", "table"}:
            raise ValueError("divisor: expected table beside it and nothing else, for that makes a hash table")
        return match
    for name, other in (("bucket", "table"), ("hashkey", "link"), ("offset", "link")):
        if name in match and other not in match:
            raise ValueError(f"{name}: expected {other} beside it")
    table, link = match.get("table"), match.get("link")
    if isinstance(table, int) and isinstance(link, int) and link <= table:
        raise ValueError("link: expected a table of a higher number than the one that the rule is in")
    return {"bucket": 0, **match} if table else match


U32_RULE = _RECORD._replace(parse=_parse)
