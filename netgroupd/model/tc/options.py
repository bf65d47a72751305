# SPDX-License-Identifier: GPL-2.0-or-later
"""What flower matches in nests of attributes: options of tunnels, entries of an MPLS stack, CFM.

Options of tunnels are fields between colons, and behind a slash the masks of all
of them: 1:9/0xff:0x3f.  Those of Geneve are hexadecimal without 0x, and there may
be several, between commas.  The others are words with numbers: depth 2 label 100.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from netgroupd.model.value import Type, Value, several

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_HEX = re.compile(r"([0-9a-fA-F]{2})+")
_GBP = 0x48FFFF  # the bits of it that the kernel keeps


class Field(NamedTuple):
    """One field of an option: its attribute, its bytes (0: as many as are said), and all bits that it has."""

    name: str
    number: int
    size: int
    full: int = 0
    order: str = "big"
    exact: bool = False


class Fields(NamedTuple):
    """One kind of option: its attribute, and its fields, which may depend on the first of them."""

    number: int
    of: Callable[[int], tuple[Field, ...]]


Masked = tuple[tuple[Field, int, int], ...]  # each with its value and its mask; of bytes as their number

_VER = Field("ver", 1, 1, 0xFF, exact=True)
_ERSPAN = {
    1: (_VER, Field("index", 2, 4, 0xFFFFFFFF)),
    2: (_VER, Field("dir", 3, 1, 1), Field("hwid", 4, 1, 0x3F)),
}
_VXLAN = (Field("gbp", 1, 4, _GBP, "little"),)
_GTP = (Field("pdu_type", 1, 1, 0xFF), Field("qfi", 2, 1, 0xFF))
_PFCP = (Field("type", 1, 1, 0xFF), Field("seid", 2, 8, (1 << 64) - 1))
TUNNELS = {
    "vxlan_opts": Fields(2, lambda _first: _VXLAN),
    "erspan_opts": Fields(3, lambda first: _ERSPAN.get(first, ())),
    "gtp_opts": Fields(4, lambda _first: _GTP),
    "pfcp_opts": Fields(5, lambda _first: _PFCP),
}


class Geneve(NamedTuple):
    """One option of Geneve: class, type and data, as it is and as mask."""

    value: tuple[bytes, bytes, bytes]
    mask: tuple[bytes, bytes, bytes]


def read_geneve(text: str) -> list[Geneve]:
    """0102:80:00880022/ffff:ff:ffffffff, and more behind commas; raises ValueError."""
    value, slash, mask = text.partition("/")
    options = [_hexadecimal(one) for one in value.split(",")]
    if sum(_GENEVE_HEADER + len(data) for _, _, data in options) > _MOST_GENEVE:
        raise ValueError(f"expected options of Geneve of {_MOST_GENEVE} bytes in all at most")
    masks = [_hexadecimal(one) for one in mask.split(",")] if slash else [ones(one) for one in options]
    if [list(map(len, one)) for one in options] != [list(map(len, one)) for one in masks]:
        raise ValueError(f"expected {_GENEVE}: a mask is as long as what it is for")
    return [Geneve(*pair) for pair in zip(options, masks, strict=True)]


def geneve_text(options: list[Geneve]) -> str:
    """Options of Geneve as they are written."""

    def told(parts: tuple[bytes, bytes, bytes]) -> str:
        return ":".join(part.hex() for part in parts)

    text = ",".join(told(one.value) for one in options)
    whole = all(one.mask == ones(one.value) for one in options)
    return text if whole else f"{text}/{','.join(told(one.mask) for one in options)}"


def ones(parts: tuple[bytes, bytes, bytes]) -> tuple[bytes, bytes, bytes]:
    """The mask of an option all of which counts."""
    first, second, third = (b"\xff" * len(part) for part in parts)
    return first, second, third


def _hexadecimal(text: str) -> tuple[bytes, bytes, bytes]:
    parts = text.split(":")
    if len(parts) != 3 or not all(_HEX.fullmatch(part) for part in parts):
        raise ValueError(f"expected {_GENEVE}")
    cls, kind, data = map(bytes.fromhex, parts)
    if (len(cls), len(kind)) != (2, 1) or len(data) % 4 or len(data) > 124:
        raise ValueError(f"expected {_GENEVE}")
    return cls, kind, data


def read_fields(name: str, text: str) -> Masked:
    """What an option of a tunnel says; raises ValueError."""
    said, slash, masks = text.partition("/")
    values = _numbers(name, said)
    fields = TUNNELS[name].of(values[0])
    given = _numbers(name, masks) if slash else [field.full for field in fields]
    if not len(fields) == len(values) == len(given):
        raise ValueError(f"expected {_expected(name)}")
    for field, value, mask in zip(fields, values, given, strict=True):
        if (value | mask) & ~field.full or (field.exact and mask != field.full):
            raise ValueError(f"expected {_expected(name)}: {field.name} has the bits {field.full:#x}")
        if value & ~mask:
            raise ValueError(f"expected {_expected(name)}: {field.name} has bits that the mask leaves out")
    return tuple(zip(fields, values, given, strict=True))


def fields_text(masked: Masked) -> str:
    """An option of a tunnel as it is written."""
    text = ":".join(str(value) for _, value, _ in masked)
    whole = all(mask == field.full for field, _, mask in masked)
    return text if whole else f"{text}/{':'.join(f'{mask:#x}' for *_, mask in masked)}"


def _numbers(name: str, text: str) -> list[int]:
    parts = text.split(":")
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"expected {_expected(name)}")
    return [int(part, 16 if part[:2].lower() == "0x" else 10) for part in parts]


def _expected(name: str) -> str:
    forms = _ERSPAN.values() if name == "erspan_opts" else [TUNNELS[name].of(0)]
    return " or ".join(":".join(field.name for field in form) for form in forms) + ", with masks behind a slash"


_GENEVE_HEADER, _MOST_GENEVE = 4, 252
_GENEVE = "class:type:data in hexadecimal, data of 4 to 124 bytes in fours, with masks behind a slash"

LSE = {"depth": (1, 7), "ttl": (0, 255), "bos": (0, 1), "tc": (0, 7), "label": (0, (1 << 20) - 1)}
CFM = {"mdl": (0, 7), "op": (0, 255)}


def read_words(text: str, known: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Words with numbers, in the order of ``known``; raises ValueError."""
    parts = text.split()
    said = dict(zip(parts[::2], parts[1::2], strict=False))
    right = len(parts) == 2 * len(said) > 0 and said.keys() <= known.keys()
    if not right or not all(_NUMBER.fullmatch(value) for value in said.values()):
        raise ValueError(f"expected words with numbers: {', '.join(known)}")
    got = {}
    for name, (low, high) in known.items():
        if name in said:
            got[name] = int(said[name], 0 if said[name][:2].lower() == "0x" else 10)
            if not low <= got[name] <= high:
                raise ValueError(f"expected {name} from {low} to {high}")
    return got


def words_text(said: Mapping[str, int]) -> str:
    """Words with their numbers."""
    return " ".join(f"{name} {value}" for name, value in said.items())


def _parse_lse(raw: object) -> Value:
    said = read_words(str(raw), LSE)
    if "depth" not in said:
        raise ValueError("expected the depth of the entry, as in: depth 2 label 100")
    return words_text(said)


_ENTRIES = several(Type("an entry like depth 2 label 100", _parse_lse, {"type": "string"}))


def _parse_stack(raw: object) -> Value:
    entries = _ENTRIES.parse(raw)
    assert isinstance(entries, tuple)
    by_depth = {read_words(str(entry), LSE)["depth"]: entry for entry in entries}
    if len(by_depth) < len(entries):
        raise ValueError("expected one entry for each depth")
    if max(by_depth, default=1) == 1:
        raise ValueError("expected an entry of depth 2 or more; the first has mpls_label and its like")
    return tuple(by_depth[depth] for depth in sorted(by_depth))


STACK = _ENTRIES._replace(parse=_parse_stack)
CFM_WORDS = Type("words with numbers: mdl, op", lambda raw: words_text(read_words(str(raw), CFM)), {"type": "string"})
GENEVE = Type(_GENEVE, lambda raw: geneve_text(read_geneve(str(raw))), {"type": "string"})


def tunnel(name: str) -> Type:
    """The type of one kind of options."""
    return Type(_expected(name), lambda raw: fields_text(read_fields(name, str(raw))), {"type": ["string", "integer"]})


def unmasked(plain: Type) -> Type:
    """Options that are set, not matched: all of their bits."""

    def parse(raw: object) -> Value:
        if "/" in str(raw):
            raise ValueError(f"expected options without a mask, not {raw!r}")
        return plain.parse(raw)

    return plain._replace(expected=plain.expected.replace(", with masks behind a slash", ""), parse=parse)
