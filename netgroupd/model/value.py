# SPDX-License-Identifier: GPL-2.0-or-later
"""The types a value can have: how it is written, checked, and laid out for the kernel.

A value is what ``ip`` prints: a number, a word, a canonical address.  A type
turns what a file says into that form or says what it expected, describes itself
as JSON Schema, and packs and unpacks the payload of one netlink attribute.
A type without ``pack`` is laid out by code of its own in ``kernel/``.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import methodcaller
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "int | str | bool | tuple[Value, ...] | Mapping[str, Value] | None"


class Type(NamedTuple):
    """What one attribute accepts; ``parse`` raises ValueError("expected …")."""

    expected: str
    parse: Callable[[object], Value]
    schema: Mapping[str, object]
    pack: Callable[[Value], bytes] | None = None
    unpack: Callable[[bytes], Value] | None = None
    ref: str = ""  # the class of object that the value names, "link" or "group"
    text: Callable[[Value], str] | None = None  # how one reads a value, where it is kept as the kernel has it


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,20}|-?[0-9]{1,30}")
_FORMATS = {8: "B", 16: "H", 32: "I", 64: "Q"}


def _whole(raw: object) -> int | None:
    """Read a number as people write it: 22 and 022 are 22, 0x16 is too."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int):
        return raw
    if isinstance(raw, str) and _NUMBER.fullmatch(raw):
        return int(raw, 16) if raw[:2] in ("0x", "0X") else int(raw)
    return None


def number(
    bits: int, low: int = 0, high: int | None = None, *, order: str = "=", scale: int = 1, unit: str = ""
) -> Type:
    """A whole number of ``bits``, of a ``unit``; ``order`` ">" is network order; the wire holds value × scale."""
    top = (1 << bits) - 1 if high is None else high
    signed = low < 0
    code = struct.Struct(order + (_FORMATS[bits].lower() if signed else _FORMATS[bits]))
    expected = f"a whole number from {low} to {top}" + (f", in {unit}" if unit else "")

    def parse(raw: object) -> Value:
        got = _whole(raw)
        if got is None or not low <= got <= top:
            raise ValueError(f"expected {expected}")
        return got

    def pack(value: Value) -> bytes:
        assert isinstance(value, int)
        return code.pack(value * scale)

    def unpack(payload: bytes) -> Value:
        got: int = code.unpack_from(payload)[0]
        return got // scale

    schema = {"type": "integer", "minimum": low, "maximum": top}
    return Type(expected, parse, schema, pack, unpack)


_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def flag(bits: int = 8) -> Type:
    """On or off."""
    code = struct.Struct("=" + _FORMATS[bits])
    expected = "true or false"

    def parse(raw: object) -> Value:
        if isinstance(raw, bool):
            return raw
        word = str(raw).lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise ValueError(f"expected {expected}")

    def pack(value: Value) -> bytes:
        return code.pack(bool(value))

    def unpack(payload: bytes) -> Value:
        return bool(code.unpack_from(payload)[0])

    return Type(expected, parse, {"type": "boolean"}, pack, unpack)


def word(bits: int, names: dict[str, int], *, order: str = "=") -> Type:
    """One of ``names``; a number that has no name stays a number."""
    code = struct.Struct(order + _FORMATS[bits])
    by_number = {names[name]: name for name in reversed(names)}
    expected = "one of " + ", ".join(names)

    def parse(raw: object) -> Value:
        if isinstance(raw, bool):  # YAML reads on and off as true and false
            raw = "on" if raw else "off"
        if isinstance(raw, str) and raw.lower() in names:
            return by_number[names[raw.lower()]]
        if (got := _whole(raw)) is not None and got in by_number:
            return by_number[got]
        raise ValueError(f"expected {expected}")

    def pack(value: Value) -> bytes:
        return code.pack(names[value] if isinstance(value, str) else value)

    def unpack(payload: bytes) -> Value:
        got: int = code.unpack_from(payload)[0]
        return by_number.get(got, got)

    return Type(expected, parse, {"enum": list(names)}, pack, unpack)


def string(longest: int = 255, pattern: str = "", expected: str = "") -> Type:
    """A text of at most ``longest`` bytes, NUL-terminated on the wire."""
    shape = re.compile(pattern) if pattern else None
    told = expected or f"a text of at most {longest} characters"

    def parse(raw: object) -> Value:
        got = raw if isinstance(raw, str) else str(raw) if isinstance(raw, int) else None
        if got is None or len(got.encode(errors="replace")) > longest or "\0" in got:
            raise ValueError(f"expected {told}")
        if shape and not shape.fullmatch(got):
            raise ValueError(f"expected {told}")
        return got

    def pack(value: Value) -> bytes:
        return str(value).encode(errors="surrogateescape") + b"\0"

    def unpack(payload: bytes) -> Value:
        return bytes(payload).rstrip(b"\0").decode(errors="surrogateescape")

    return Type(told, parse, {"type": "string", "maxLength": longest}, pack, unpack)


def mac_text(payload: bytes) -> str:
    """Six bytes as 02:00:00:00:00:01."""
    return bytes(payload).hex(":")


NO_MAC = "00:00:00:00:00:00"
"""What the kernel tells of a bridge whose last port has gone, and takes for no link."""

MAC_TEXT = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


def _parse_mac(raw: object) -> Value:
    got = str(raw).lower().replace("-", ":")
    if not MAC_TEXT.fullmatch(got):
        raise ValueError("expected a MAC address like 02:00:00:00:00:01")
    return got


MAC = Type(
    "a MAC address like 02:00:00:00:00:01",
    _parse_mac,
    {"type": "string", "pattern": "^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$"},
    lambda value: bytes.fromhex(str(value).replace(":", "")),
    methodcaller("hex", ":"),
)


def ip_bytes(text: str) -> bytes:
    """An address as the kernel holds it; raises ValueError."""
    try:
        return inet_pton(AF_INET6 if ":" in text else AF_INET, text)
    except (OSError, ValueError):  # the latter for a NUL inside
        raise ValueError("expected an IPv4 or IPv6 address") from None


def is_multicast(address: bytes) -> bool:
    """Whether an IP address is that of a group."""
    return address[0] == 0xFF if len(address) == 16 else address[0] >> 4 == 0xE


def ip_text(payload: bytes) -> str:
    """Four or sixteen bytes as the address that ``ip`` prints."""
    return inet_ntop(AF_INET if len(payload) == 4 else AF_INET6, payload)


def ip(version: int = 0) -> Type:
    """An address of IP ``version`` 4 or 6, or of either (0), in its canonical text."""
    name = f"IPv{version}" if version else "IPv4 or IPv6"
    expected = f"an {name} address"

    def parse(raw: object) -> Value:
        try:
            got = ip_bytes(str(raw))
        except ValueError:
            raise ValueError(f"expected {expected}") from None
        if version and len(got) != (4 if version == 4 else 16):
            raise ValueError(f"expected {expected}")
        return ip_text(got)

    return Type(expected, parse, {"type": "string"}, lambda value: ip_bytes(str(value)), ip_text)


def split_prefix(text: str) -> tuple[bytes, int]:
    """10.0.0.1/24 as its bytes and length; a missing length means the whole address."""
    address, slash, length = text.partition("/")
    payload = ip_bytes(address)
    whole = len(payload) * 8
    if not slash:
        return payload, whole
    if not length.isascii() or not length.isdigit() or int(length) > whole:
        mask = ", as 24 for 255.255.255.0" if "." in length else ""
        raise ValueError(f"expected a prefix length from 0 to {whole}{mask}")
    return payload, int(length)


def holds(network: str, address: bytes) -> bool:
    """Whether a network has an address, which is as the kernel holds it."""
    first, length = split_prefix(network)
    apart = int.from_bytes(first, "big") ^ int.from_bytes(address, "big")
    return len(first) == len(address) and apart >> (len(first) * 8 - length) == 0


def prefix(*, network: bool) -> Type:
    """An address with its length; as a ``network`` the host bits must be zero."""
    expected = "a network like 10.0.0.0/8" if network else "an address like 10.0.0.1/24"

    def parse(raw: object) -> Value:
        if network and raw == "default":
            return "default"
        payload, length = split_prefix(str(raw))
        spare = len(payload) * 8 - length
        if network and (behind := int.from_bytes(payload, "big") & ((1 << spare) - 1)):
            first = int.from_bytes(payload, "big") - behind
            meant = f"{ip_text(first.to_bytes(len(payload), 'big'))}/{length}"
            raise ValueError(f"expected a network, and bits are set behind /{length}; it is {meant}")
        return f"{ip_text(payload)}/{length}"

    return Type(expected, parse, {"type": "string"})


def names(cls: str, expected: str) -> Type:
    """The name of another object; the kernel wants its number, so ``kernel/`` packs it."""
    longest, unit = (15, "bytes") if cls == "link" else (63, "characters")

    def parse(raw: object) -> Value:
        if not isinstance(raw, str | int) or isinstance(raw, bool) or not str(raw):
            raise ValueError(f"expected {expected}")
        got = str(raw)
        size = len(got.encode(errors="replace")) if cls == "link" else len(got)
        if size > longest:
            raise ValueError(f"expected {expected}: {got!r} has over {longest} {unit}")
        return got

    return Type(expected, parse, {"type": "string"}, ref=cls)


class InsideError(ValueError):
    """Something inside a value is wrong; ``items`` are the places in the lists on the way to it, from 0."""

    def __init__(self, message: str, items: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.items = items


class UnknownKeyError(InsideError):
    """A mapping has a key that is none of those known."""

    def __init__(self, message: str, key: str, known: tuple[str, ...], items: tuple[int, ...] = ()) -> None:
        super().__init__(message, items)
        self.key = key
        self.known = known


class ManifoldError(ValueError):
    """More than one thing inside a value is wrong; the message is that of the first."""

    def __init__(self, errors: Sequence[ValueError]) -> None:
        super().__init__(str(errors[0]))
        self.errors = errors


def each(error: ValueError) -> Sequence[ValueError]:
    """Everything that is wrong."""
    return error.errors if isinstance(error, ManifoldError) else (error,)


def inside(error: ValueError, before: str = "", *place: int) -> Iterator[InsideError]:
    """The same, with the way to it from outside."""
    for one in each(error):
        items = (*place, *getattr(one, "items", ()))
        if isinstance(one, UnknownKeyError):
            yield UnknownKeyError(f"{before}{one}", one.key, one.known, items)
        else:
            yield InsideError(f"{before}{one}", items)


def raise_each(errors: Sequence[ValueError]) -> None:
    if errors:
        raise errors[0] if len(errors) == 1 else ManifoldError(errors)


def forget_way(error: BaseException | None) -> None:
    """Let go of where something wrong was found.

    What found it holds what was wrong, which holds that way: nothing of it goes before the collector looks, which is
    held while a million instances of one slip are read.
    """
    while error is not None:
        error.__traceback__, error = None, error.__context__


def several(item: Type, *, unique: bool = False, ordered: bool = True) -> Type:
    """A list of ``item``; one item alone is a list too.  Without ``ordered`` it is a set, kept sorted."""

    def parse(raw: object) -> Value:
        if not isinstance(raw, list | tuple):
            return (item.parse(raw),)
        got: tuple[Value, ...] = ()
        try:
            got = tuple(map(item.parse, raw))
        except ValueError:
            raise_each([one for place, row in enumerate(raw) for one in _wrong(item, row, place)])
        if not ordered:
            return tuple(sorted(set(got), key=str))
        return tuple(dict.fromkeys(got)) if unique else got

    schema = {"oneOf": [item.schema, {"type": "array", "items": item.schema}]}
    return Type(f"a list of {item.expected}", parse, schema, ref=item.ref)


def _wrong(item: Type, raw: object, place: int) -> Iterator[InsideError]:
    try:
        item.parse(raw)
    except ValueError as error:
        yield from inside(error, "", place)


def record(rows: Mapping[str, Type], required: frozenset[str] = frozenset()) -> Type:
    """A mapping with the keys ``rows``; what is not mentioned stays out of it."""
    expected = "a mapping of " + ", ".join(rows) if rows else "{}, for nothing more can be said"
    names = rows.keys()

    def parse(raw: object) -> Value:
        if not isinstance(raw, Mapping):
            raise ValueError(f"expected {expected}")
        errors: list[ValueError] = [
            UnknownKeyError(f"expected {expected}, not {key!r}", str(key), tuple(rows))
            for key in (() if raw.keys() <= names else raw)
            if key not in rows
        ]
        if not errors and not required <= raw.keys():
            errors.append(ValueError(f"{min(required - raw.keys())!r} is missing"))
        got: dict[str, Value] = {}
        for key, value in raw.items():
            try:
                got[key] = rows[key].parse(value) if key in names else None
            except ValueError as error:
                errors += inside(error, f"{key}: ")
        raise_each(errors)
        return got

    schema = {
        "type": "object",
        "properties": {key: row.schema for key, row in rows.items()},
        "required": sorted(required),
        "additionalProperties": False,
    }
    return Type(expected, parse, schema)


FLAG = flag()
U8 = number(8)
U16 = number(16)
U32 = number(32)
U64 = number(64)
S32 = number(32, -(1 << 31), (1 << 31) - 1)
PORT = number(16, order=">")
NAME = string(15, r"[^\s/:]{1,15}", "a name of 1 to 15 characters without blanks, / and :")
IP = ip()
IP4 = ip(4)
IP6 = ip(6)
ADDRESS = prefix(network=False)
NETWORK = prefix(network=True)
LINK = names("link", "the name of a link")
GROUP = names("group", "the name or number of a group")
