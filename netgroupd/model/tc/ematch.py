# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the classifier basic: cmp(u8 at 9 layer network eq 6) and not u32(0x0a000000/0xff000000 at 16).

Each condition is a comparison of a number of a layer, of a word of the IP header,
of bytes of a layer, or of what the kernel knows of the packet besides, as in
meta(fwmark mask 0xf gt 3), or several in parentheses; perhaps behind ``not``.  They
are joined by ``and`` and ``or``, each with all that comes behind it: a and b or c is
a and (b or c), for the kernel goes on until it is decided.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from netgroupd.model.value import Type, Value

CONTAINER, CMP, NBYTE, U32, META = 0, 1, 2, 3, 4
AND, OR, NOT = 1, 2, 4
_MOST = 32  # the kernel's CONFIG_NET_EMATCH_STACK
_SIZES = {"u8": 1, "u16": 2, "u32": 4}
NETWORK = 1
_LAYERS = {"link": 0, "network": NETWORK, "transport": 2}
_SIGNS = {"eq": 0, "gt": 1, "lt": 2}
_N = "(0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})"
_CMP = re.compile(rf"cmp\(\s*(u8|u16|u32)\s+at\s+{_N}\s+layer\s+(\w+)\s+(?:mask\s+{_N}\s+)?(eq|gt|lt)\s+{_N}\s*\)")
_U32 = re.compile(rf"u32\(\s*{_N}\s*/\s*{_N}\s+at\s+{_N}\s*\)")
_NBYTE = re.compile(r"nbyte\(\s*0x((?:[0-9a-fA-F]{2}){1,64})\s+at\s+(\d{1,5})\s+layer\s+(\w+)\s*\)")
_META = re.compile(rf"meta\(\s*(\w+)\s+(?:shift\s+{_N}\s+)?(?:mask\s+{_N}\s+)?(eq|gt|lt)\s+([^\s()]{{1,15}})\s*\)")
_EXPECTED = (
    "conditions like cmp(u8 at 9 layer network eq 6), u32(VALUE/MASK at OFFSET), nbyte(0xBYTES at OFFSET layer LAYER)"
    " or meta(fwmark eq 5), joined by and, or, not and parentheses"
)
METAS = {
    **{name: number for number, name in enumerate(("random", "loadavg_1", "loadavg_5", "loadavg_15", "dev"), 1)},
    **{name: number for number, name in enumerate(("priority", "protocol", "pkt_type", "pkt_len", "data_len"), 6)},
    **{name: number for number, name in enumerate(("mac_len", "fwmark", "tc_index", "rt_classid", "rt_iif"), 11)},
    **{name: number for number, name in enumerate(("sk_family", "sk_state", "sk_reuse", "sk_bind_if"), 16)},
    **{name: number for number, name in enumerate(("sk_refcnt", "sk_shutdown", "sk_proto", "sk_type"), 20)},
    **{name: number for number, name in enumerate(("sk_rcvbuf", "sk_rmem", "sk_wmem", "sk_omem"), 24)},
    **{name: number for number, name in enumerate(("sk_wmem_queue", "sk_rcv_queue", "sk_snd_queue"), 28)},
    **{name: number for number, name in enumerate(("sk_err_queue", "sk_fwd_alloc", "sk_sndbuf"), 31)},
    **{name: number for number, name in enumerate(("vlan", "rxhash"), 46)},
}
_NAMED = frozenset({"dev", "sk_bind_if"})  # of links, by their names


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


class Bytes(NamedTuple):
    """Bytes of a layer, which must be these."""

    value: bytes
    offset: int
    layer: int

    def __str__(self) -> str:
        return f"nbyte(0x{self.value.hex()} at {self.offset} layer {_name(_LAYERS, self.layer)})"


class Meta(NamedTuple):
    """What the kernel knows of the packet beside a number, or beside the name of a link; no mask is 0."""

    what: int
    shift: int
    mask: int
    sign: int
    value: int | str

    def __str__(self) -> str:
        shift = f"shift {self.shift} " if self.shift else ""
        mask = f"mask {self.mask:#x} " if self.mask else ""
        return f"meta({_name(METAS, self.what)} {shift}{mask}{_name(_SIGNS, self.sign)} {self.value})"


Single: TypeAlias = Cmp | Word | Bytes | Meta


class Condition(NamedTuple):
    """One condition or several, whether it must not hold, and how the next one is joined (0 behind the last)."""

    of: "Single | tuple[Condition, ...]"
    inverted: bool
    joined: int


def _name(names: dict[str, int], number: int) -> str:
    return next((name for name, known in names.items() if known == number), str(number))


def _number(text: str, bits: int) -> int:
    number = int(text, 16 if text[:2].lower() == "0x" else 10)
    if number >> bits:
        raise ValueError(f"expected {_EXPECTED}: {text} has over {bits} bits")
    return number


def _layer(name: str) -> int:
    if name not in _LAYERS:
        raise ValueError(f"expected the layer {', '.join(_LAYERS)}, not {name!r}")
    return _LAYERS[name]


def _meta(what: str, shift: str | None, mask: str | None, sign: str, value: str) -> Meta:
    if what not in METAS:
        raise ValueError(f"expected meta of {', '.join(METAS)}, not {what!r}")
    told = _number(value, 32) if re.fullmatch(_N, value) else value
    if isinstance(told, str) and (what not in _NAMED or shift or mask):
        raise ValueError(f"expected {_EXPECTED}: a number for {what}, not {value!r}")
    return Meta(METAS[what], _number(shift or "0", 5), _number(mask or "0", 32), _SIGNS[sign], told)


def _single(text: str) -> Single:
    if found := _CMP.fullmatch(text):
        size, layer = _SIZES[found[1]], _layer(found[3])
        mask = _number(found[4], 8 * size) if found[4] else 0
        return Cmp(size, _number(found[2], 16), layer, mask, _SIGNS[found[5]], _number(found[6], 8 * size))
    if found := _NBYTE.fullmatch(text):
        return Bytes(bytes.fromhex(found[1]), _number(found[2], 16), _layer(found[3]))
    if found := _META.fullmatch(text):
        return _meta(*found.groups())
    if found := _U32.fullmatch(text):
        value, mask, offset = (_number(part, 32) for part in found.groups())
        if value & ~mask or offset % 4:
            raise ValueError(f"expected {_EXPECTED}: no bits that the mask leaves out, and an offset in fours")
        return Word(value, mask, offset)
    raise ValueError(f"expected {_EXPECTED}, not {text!r}")


_TOKEN = re.compile(r"\s*(?:(and|or|not)\b|([()])|(\w+\([^()]*\))|(\S+))")


def read_conditions(text: str) -> tuple[Condition, ...]:
    """Conditions out of their text; raises ValueError."""
    if text.count("(") > 2 * _MOST:  # one of each condition, and those around it
        raise ValueError(f"expected at most {_MOST} conditions")
    tokens = [found[0].strip() for found in _TOKEN.finditer(text)]
    conditions = _sequence(tokens)
    if tokens:
        raise ValueError(f"expected {_EXPECTED}, not {tokens[0]!r}")
    if sum(1 for _ in flat(conditions)) > _MOST:
        raise ValueError(f"expected at most {_MOST} conditions")
    return conditions


def _sequence(tokens: list[str]) -> tuple[Condition, ...]:
    """Take conditions off the front of the tokens, to the end or to a parenthesis that another one opened."""
    found = []
    while True:
        inverted = tokens[:1] == ["not"]
        del tokens[:inverted]
        if not tokens:
            raise ValueError(f"expected {_EXPECTED}: one is missing at the end")
        of: Single | tuple[Condition, ...]
        if tokens[0] == "(":
            del tokens[0]
            of = _sequence(tokens)
            if tokens[:1] != [")"]:
                raise ValueError(f"expected {_EXPECTED}: a parenthesis is not closed")
            del tokens[0]
        else:
            of = _single(tokens.pop(0))
        joined = {"and": AND, "or": OR}.get(tokens[0] if tokens else "", 0)
        found.append(Condition(of, inverted, joined))
        if not joined:
            return tuple(found)
        del tokens[0]


def flat(conditions: tuple[Condition, ...]) -> Iterator[tuple[Condition, int]]:
    """All of them as the kernel has them in one list, with the place where what is in parentheses begins, or 0."""
    waiting, taken = [conditions], len(conditions)
    for some in waiting:
        for one in some:
            begins = 0
            if type(one.of) is tuple:  # a condition alone is a tuple with names
                waiting.append(one.of)
                begins, taken = taken, taken + len(one.of)
            yield one, begins


def conditions_text(conditions: tuple[Condition, ...]) -> str:
    """Conditions as they are written."""
    words = {AND: " and ", OR: " or ", 0: ""}
    texts = ((f"({conditions_text(one.of)})" if type(one.of) is tuple else str(one.of), one) for one in conditions)
    return "".join(f"{'not ' * one.inverted}{text}{words[one.joined]}" for text, one in texts)


def _parse(raw: object) -> Value:
    return conditions_text(read_conditions(str(raw)))


CONDITIONS = Type(_EXPECTED, _parse, {"type": "string"})
