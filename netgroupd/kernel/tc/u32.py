# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the u32 classifier as attributes, and back.

Handles begin with the number of a hash table, then a bucket of it.  Every preference has
a table of its own, of one bucket, whose number the kernel gives; those of the
configuration are below all of these.
"""

import struct
from collections.abc import Callable, Iterator, Mapping

from netgroupd.kernel.netlink.message import attr, text, u32, walk
from netgroupd.model.tc.u32 import U32_FIELDS, Offset, Word, hashkey_text, read_hashkey, read_offset, read_word
from netgroupd.model.value import Value

Match = tuple[tuple[str, Value], ...]
Found = Mapping[int, memoryview]

OF_RULE = 0xFFF
"""What of a handle is a rule's own in its bucket; the kernel may give a preference a table of another number."""
HASH, LINK, DIVISOR, SEL, INDEV, MARK = 2, 3, 4, 5, 8, 10
_COUNTS, _MARK_SIZE = 9, 8  # a mark is a value and a mask, and how many packets had it
_SELECTOR = struct.Struct("=BBBx2sHhh4s")  # flags, shift, keys, mask of 16 bits, plus, at; of the hash: at, mask
_KEY = struct.Struct(">II")
_WHERE = struct.Struct("=ii")
_KEY_SIZE = _KEY.size + _WHERE.size
_TERMINAL, _OFFSET, _VARYING, _EAT = 1, 2, 4, 8
_TABLE_SHIFT, _BUCKET_SHIFT = 20, 12
_OF_THE_KERNEL = 0x800


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def handle(match: Match) -> int:
    """That of a table, which a file gives; 0 for a rule, which gets its own from the kernel."""
    said = dict(match)
    return _number(said["table"]) << _TABLE_SHIFT if "divisor" in said else 0


def pack(match: Match) -> bytes:
    """The attributes of a rule, or of a table."""
    said = dict(match)
    if "divisor" in said:
        return u32(DIVISOR, _number(said["divisor"]))
    parts = [attr(SEL, _pack_selector(said))]
    if "table" in said:
        parts.append(u32(HASH, _number(said["table"]) << _TABLE_SHIFT | _number(said["bucket"]) << _BUCKET_SHIFT))
    if "link" in said:
        parts.append(u32(LINK, _number(said["link"]) << _TABLE_SHIFT))
    if "indev" in said:
        parts.append(text(INDEV, str(said["indev"])))
    if "mark" in said:
        pack_mark = U32_FIELDS["mark"].pack
        assert pack_mark
        parts.append(attr(MARK, pack_mark(said["mark"]) + bytes(4)))
    return b"".join(parts)


def _pack_selector(said: Mapping[str, Value]) -> bytes:
    words = said.get("match", ())
    assert isinstance(words, tuple)
    keys = [read_word(str(word)) for word in words]
    offset = read_offset(str(said["offset"])) if "offset" in said else Offset()
    mask, at = read_hashkey(str(said["hashkey"])) if "hashkey" in said else (0, 0)
    # What the table does not decide goes on to the next rule.
    flags = (0 if "link" in said else _TERMINAL) | (_OFFSET if offset.plus else 0)
    flags |= (_VARYING if offset.mask else 0) | (_EAT if offset.eat else 0)
    varying = offset.mask.to_bytes(2, "big")
    head = _SELECTOR.pack(flags, offset.shift, len(keys), varying, offset.plus, offset.at, at, mask.to_bytes(4, "big"))
    return head + b"".join(
        _KEY.pack(key.mask, key.value) + _WHERE.pack(key.offset, -1 if key.nexthdr else 0) for key in keys
    )


def unpack(found: Found, number: int) -> dict[str, Value]:
    """What a rule matches and where it is, or what a table is."""
    if SEL not in found:
        return {"table": number >> _TABLE_SHIFT, "divisor": int.from_bytes(found[DIVISOR], "little")}
    match = _unpack_selector(found[SEL])
    place = int.from_bytes(found[HASH], "little") if HASH in found else 0
    if 0 < (table := place >> _TABLE_SHIFT) < _OF_THE_KERNEL:
        match |= {"table": table, "bucket": place >> _BUCKET_SHIFT & 0xFF}
    if LINK in found:
        match["link"] = int.from_bytes(found[LINK], "little") >> _TABLE_SHIFT
    if INDEV in found:
        match["indev"] = bytes(found[INDEV]).rstrip(b"\0").decode()
    if MARK in found:
        unpack_mark = U32_FIELDS["mark"].unpack
        assert unpack_mark
        match["mark"] = unpack_mark(bytes(found[MARK][:8]))
    return match


def _unpack_words(payload: bytes | memoryview) -> tuple[str, ...]:
    words = []
    for start in range(0, len(payload), _KEY_SIZE):
        mask, value = _KEY.unpack_from(payload, start)
        offset, next_mask = _WHERE.unpack_from(payload, start + _KEY.size)
        words.append(str(Word(value, mask, offset, bool(next_mask))))
    return tuple(words)


def _unpack_selector(payload: memoryview) -> dict[str, Value]:
    flags, shift, _, varying, plus, at, hash_at, hash_mask = _SELECTOR.unpack_from(payload)
    words = _unpack_words(payload[_SELECTOR.size :])
    match: dict[str, Value] = {"match": words} if words else {}
    if flags & (_OFFSET | _VARYING | _EAT):
        moved = Offset(plus=plus if flags & _OFFSET else 0, eat=bool(flags & _EAT))
        if flags & _VARYING:
            moved = moved._replace(mask=int.from_bytes(varying, "big"), at=at, shift=shift)
        match["offset"] = str(moved)
    if any(hash_mask):
        match["hashkey"] = hashkey_text(int.from_bytes(hash_mask, "big"), hash_at)
    return match


def is_own_table(found: Found, number: int) -> bool:
    """Whether it is the table that the kernel made for a preference."""
    return SEL not in found and number >> _TABLE_SHIFT >= _OF_THE_KERNEL


def values(payload: memoryview, start: int, end: int) -> Iterator[tuple[int, int, str, Callable[[bytes], Value]]]:
    """Where the words are that a rule matches, of what, and how to read others."""
    for number, first, last in walk(payload, start, end):
        if number == SEL and last - first > _SELECTOR.size:
            yield first + _SELECTOR.size, last, "match", _unpack_words


def counts(payload: memoryview, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where it says how often a rule was asked, and how often it matched."""
    for number, first, last in walk(payload, start, end):
        if number == _COUNTS:
            yield first, last
        elif number == MARK:
            yield first + _MARK_SIZE, last
