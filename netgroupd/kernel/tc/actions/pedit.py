# SPDX-License-Identifier: GPL-2.0-or-later
"""The action pedit: words to rewrite, as a table of keys and one of what the keys are.

`tc` without `ex` makes one without the second: its words are all set, in the network header.
"""

import struct
from collections.abc import Mapping

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attributes, nest, u16, walk
from netgroupd.model.tc.pedit import COMMANDS, HEADERS, Word, read_word
from netgroupd.model.value import Value

_KEYS_EX, _KEY_EX = 5, 6
_HTYPE, _CMD = 1, 2
_COUNT = struct.Struct("=BBH")  # keys, flags, -
# The kernel keeps the bits of the mask and writes the value over the others.
_KEY = struct.Struct(">IIIIII")  # mask, value, offset, at, offset mask, shift
_PLACE = struct.Struct("=IIII")  # the last four of these, which are in the order of the host
_COUNT_SIZE = 4
_SET_IN_NETWORK = {_HTYPE: memoryview(b"\0"), _CMD: memoryview(b"\0")}
_HEADER_NAMES = {number: name for name, number in HEADERS.items()}
_COMMAND_NAMES = {number: name for name, number in COMMANDS.items()}


def _words(fields: Mapping[str, Value]) -> list[Word]:
    munge = fields["munge"]
    assert isinstance(munge, tuple)
    return [read_word(str(text)) for text in munge]


def pack(fields: Mapping[str, Value], _names: Names) -> tuple[bytes, bytes]:
    """What follows the common structure, and the attributes beside it."""
    words = _words(fields)
    keys = b"".join(
        struct.pack(">II", one.mask ^ 0xFFFFFFFF, one.value) + _PLACE.pack(one.offset, one.at, one.moved, one.shift)
        for one in words
    )
    more = nest(
        _KEYS_EX,
        *(nest(_KEY_EX, u16(_HTYPE, HEADERS[word.header]), u16(_CMD, COMMANDS[word.command])) for word in words),
    )
    return _COUNT.pack(len(words), 0, 0) + keys, more


def unpack(rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    """The words that a dump tells of."""
    count = _COUNT.unpack_from(rest)[0]
    told = found.get(_KEYS_EX, memoryview(b""))
    kinds = [attributes(told, start, end) for _, start, end in walk(told)] or [_SET_IN_NETWORK] * count
    words = []
    for place, kind in zip(range(count), kinds, strict=False):
        at = _COUNT_SIZE + _KEY.size * place
        kept, value = struct.unpack_from(">II", rest, at)
        offset, *moved = _PLACE.unpack_from(rest, at + 8)
        header = _HEADER_NAMES[int.from_bytes(kind[_HTYPE], "little")]
        command = _COMMAND_NAMES[int.from_bytes(kind[_CMD], "little")]
        words.append(str(Word(header, offset, command, value, kept ^ 0xFFFFFFFF, *moved)))
    return {"munge": tuple(words)}
