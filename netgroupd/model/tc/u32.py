# SPDX-License-Identifier: GPL-2.0-or-later
"""What the u32 classifier matches: 32-bit words at offsets, like "0x0a000000/0xff000000 at 16"."""

import re
from collections.abc import Mapping

from netgroupd.model.value import Type, Value, split_prefix

_WORD = re.compile(r"(?:0x)?([0-9a-fA-F]{1,8})/(?:0x)?([0-9a-fA-F]{1,8}) at (-?[0-9]{1,5})")
_FIELDS = {"ip src": 12, "ip dst": 16}
_BYTES = {"ip protocol": (8, 1, 1), "ip tos": (0, 1, 1), "ip sport": (20, 0, 2), "ip dport": (20, 2, 2)}
_EXPECTED = (
    'words like "0x0a000000/0xff000000 at 16", or a mapping of ' + ", ".join((*_FIELDS, *_BYTES)) + " to their values"
)


def word_text(value: int, mask: int, offset: int) -> str:
    """A word as it is kept."""
    return f"0x{value:08x}/0x{mask:08x} at {offset}"


def read_word(text: str) -> tuple[int, int, int]:
    """Value, mask and offset; raises ValueError."""
    if not (found := _WORD.fullmatch(text)):
        raise ValueError(f"expected {_EXPECTED}")
    value, mask = int(found[1], 16), int(found[2], 16)
    return value & mask, mask, int(found[3])


def _field(name: str, said: str) -> str:
    if name in _FIELDS:
        whole, length = split_prefix(said)
        if len(whole) != 4:
            raise ValueError(f"expected an IPv4 network for {name}")
        mask = (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
        return word_text(int.from_bytes(whole, "big") & mask, mask, _FIELDS[name])
    if name not in _BYTES:
        raise ValueError(f"expected {_EXPECTED}, not {name!r}")
    offset, place, width = _BYTES[name]
    shift = 8 * (4 - place - width)
    whole_field = (1 << 8 * width) - 1
    number = int(said, 16 if said.startswith("0x") else 10)
    if not 0 <= number <= whole_field:
        raise ValueError(f"expected a number up to {whole_field} for {name}")
    return word_text(number << shift, whole_field << shift, offset)


def _parse(raw: object) -> Value:
    if isinstance(raw, Mapping):
        return tuple(_field(str(name), str(said)) for name, said in raw.items())
    rows = raw if isinstance(raw, list | tuple) else (raw,)
    return tuple(word_text(*read_word(str(row))) for row in rows)


SELECTOR = Type(_EXPECTED, _parse, {"oneOf": [{"type": ["string", "object"]}, {"type": "array"}]})
