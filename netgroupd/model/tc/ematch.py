# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the classifier basic: cmp(u8 at 9 layer network eq 6) and not u32(0x0a000000/0xff000000 at 16).

Each condition is a comparison of bytes of a layer, or of a word of the IP header,
perhaps behind ``not``.  They are joined by ``and`` and ``or``, each with all that comes
behind it: a and b or c is a and (b or c), for the kernel goes on until it is decided.
"""

import re
from typing import NamedTuple

from netgroupd.model.value import Type, Value

CMP, U32 = 1, 3
AND, OR, NOT = 1, 2, 4
_MOST = 32  # the kernel's CONFIG_NET_EMATCH_STACK
_SIZES = {"u8": 1, "u16": 2, "u32": 4}
_LAYERS = {"link": 0, "network": 1, "transport": 2}
_SIGNS = {"eq": 0, "gt": 1, "lt": 2}
_N = "(0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})"
_CMP = re.compile(rf"cmp\(\s*(u8|u16|u32)\s+at\s+{_N}\s+layer\s+(\w+)\s+(?:mask\s+{_N}\s+)?(eq|gt|lt)\s+{_N}\s*\)")
_U32 = re.compile(rf"u32\(\s*{_N}\s*/\s*{_N}\s+at\s+{_N}\s*\)")
_EXPECTED = "conditions like cmp(u8 at 9 layer network eq 6) or u32(VALUE/MASK at OFFSET), joined by and, or, not"


class Cmp(NamedTuple):
    """Bytes of a layer beside a value, as the kernel has it; what is not masked has mask 0."""

    size: int
    offset: int
    layer: int
    mask: int
    sign: int
    value: int

    def __str__(self) -> str:
        size, layer, sign = (_name(*pair) for pair in ((_SIZES, self.size), (_LAYERS, self.layer), (_SIGNS, self.sign)))
        mask = f" mask {self.mask:#x}" if self.mask else ""
        return f"cmp({size} at {self.offset} layer {layer}{mask} {sign} {self.value})"


class Word(NamedTuple):
    """A word of the IP header beside a value."""

    value: int
    mask: int
    offset: int

    def __str__(self) -> str:
        return f"u32({self.value:#010x}/{self.mask:#010x} at {self.offset})"


class Condition(NamedTuple):
    """One condition, whether it must not hold, and how the next one is joined (0 behind the last)."""

    of: Cmp | Word
    inverted: bool
    joined: int


def _name(names: dict[str, int], number: int) -> str:
    return next((name for name, known in names.items() if known == number), str(number))


def _number(text: str, bits: int) -> int:
    number = int(text, 16 if text[:2].lower() == "0x" else 10)
    if number >> bits:
        raise ValueError(f"expected {_EXPECTED}: {text} has over {bits} bits")
    return number


def _single(text: str) -> Cmp | Word:
    if found := _CMP.fullmatch(text):
        size, layer = _SIZES[found[1]], _LAYERS.get(found[3])
        if layer is None:
            raise ValueError(f"expected the layer {', '.join(_LAYERS)}, not {found[3]!r}")
        mask = _number(found[4], 8 * size) if found[4] else 0
        return Cmp(size, _number(found[2], 16), layer, mask, _SIGNS[found[5]], _number(found[6], 8 * size))
    if found := _U32.fullmatch(text):
        value, mask, offset = (_number(part, 32) for part in found.groups())
        if value & ~mask or offset % 4:
            raise ValueError(f"expected {_EXPECTED}: no bits that the mask leaves out, and an offset in fours")
        return Word(value, mask, offset)
    raise ValueError(f"expected {_EXPECTED}, not {text!r}")


def read_conditions(text: str) -> list[Condition]:
    """Conditions out of their text; raises ValueError."""
    parts = re.split(r"\s+(and|or)\s+", text.strip())
    if len(parts) > 2 * _MOST:
        raise ValueError(f"expected at most {_MOST} conditions")
    found = []
    for place in range(0, len(parts), 2):
        said = parts[place]
        bare = re.sub(r"^not\s+", "", said)
        joined = {"and": AND, "or": OR}[parts[place + 1]] if place + 1 < len(parts) else 0
        found.append(Condition(_single(bare), bare != said, joined))
    return found


def conditions_text(conditions: list[Condition]) -> str:
    """Conditions as they are written."""
    words = {AND: " and ", OR: " or ", 0: ""}
    return "".join(f"{'not ' * one.inverted}{one.of}{words[one.joined]}" for one in conditions)


def _parse(raw: object) -> Value:
    return conditions_text(read_conditions(str(raw)))


CONDITIONS = Type(_EXPECTED, _parse, {"type": "string"})
