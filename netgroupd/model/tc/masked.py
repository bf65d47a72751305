# SPDX-License-Identifier: GPL-2.0-or-later
"""Values with a mask, as classifiers match them: 10.0.0.0/8, 0x10/0xf0, 02:00:00:00:00:00/ff:ff:ff:00:00:00.

A packed value is the value and then its mask, both of one width.  The canonical
text leaves out a mask of all ones, and writes that of an address as a length
where it can.
"""

import re
from collections.abc import Callable
from contextlib import suppress

from netgroupd.model.value import MAC_TEXT, Type, Value, ip_bytes, ip_text, mac_text, split_prefix

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,32}|[0-9]{1,39}")


def halves(packed: bytes) -> tuple[bytes, bytes]:
    """The value and the mask of a packed value."""
    middle = len(packed) // 2
    return packed[:middle], packed[middle:]


def kept(value: bytes, mask: bytes) -> bytes:
    """The value without the bits that the mask leaves out: the kernel takes, and tells, 10.0.0.5/24."""
    bits = int.from_bytes(value, "big") & int.from_bytes(mask, "big")
    return bits.to_bytes(len(value), "big")


def _combine(whole: bytes, mask: bytes, expected: str) -> bytes:
    bits = int.from_bytes(whole, "big")
    if bits & ~int.from_bytes(mask, "big"):
        raise ValueError(f"expected {expected}: the value has bits that the mask leaves out")
    return whole + mask


def _typed(expected: str, read: Callable[[str], bytes], write: Callable[[bytes], Value]) -> Type:
    def parse(raw: object) -> Value:
        try:
            return write(read(str(raw)))
        except ValueError as error:
            said = str(error) if str(error).startswith("expected") else f"expected {expected}"
            # Which it is of the thousands that a range makes, where nothing more is said of it.
            raise ValueError(f"{said}, not {raw!r}" if said.endswith(expected) else said) from None

    return Type(expected, parse, {"type": ["string", "integer"]}, lambda value: read(str(value)), write)


class _Reader:
    """Text -> value and mask."""

    def __init__(self, width: int, order: str, expected: str) -> None:
        self.width, self.order, self.expected = width, order, expected

    def number(self, text: str) -> bytes:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"expected {self.expected}")
        number = int(text, 16 if text[:2].lower() == "0x" else 10)
        if number >> (8 * self.width):
            raise ValueError(f"expected {self.expected}: {text} has over {8 * self.width} bits")
        return number.to_bytes(self.width, "big")

    def __call__(self, text: str) -> bytes:
        value, slash, mask = text.partition("/")
        packed = _combine(self.number(value), self.number(mask) if slash else b"\xff" * self.width, self.expected)
        return packed if self.order == "big" else b"".join(half[::-1] for half in halves(packed))


class _Writer:
    """Value and mask -> canonical text."""

    def __init__(self, order: str, *, hexadecimal: bool) -> None:
        self.order, self.hexadecimal = order, hexadecimal

    def __call__(self, packed: bytes) -> Value:
        value, mask = (half if self.order == "big" else half[::-1] for half in halves(packed))
        number = int.from_bytes(value, "big")
        if mask == b"\xff" * len(mask):
            return hex(number) if self.hexadecimal else number
        return f"{hex(number)}/{hex(int.from_bytes(mask, 'big'))}"


def masked_number(bits: int, *, order: str = "big", hexadecimal: bool = False) -> Type:
    """A number of ``bits``, with a mask behind a slash if not all of it counts."""
    expected = f"a number of {bits} bits, or one with a mask like 0x10/0xf0"
    return _typed(expected, _Reader(bits // 8, order, expected), _Writer(order, hexadecimal=hexadecimal))


def _read_mac(text: str) -> bytes:
    value, slash, mask = text.lower().replace("-", ":").partition("/")
    parts = [part for part in (value, mask) if part]
    if not all(MAC_TEXT.fullmatch(part) for part in parts) or len(parts) != 1 + bool(slash):
        raise ValueError("expected a MAC address, with a mask behind a slash if not all of it counts")
    whole, kept = bytes.fromhex(value.replace(":", "")), bytes.fromhex(mask.replace(":", "")) or b"\xff" * 6
    return _combine(whole, kept, "a MAC address")


def _write_mac(packed: bytes) -> Value:
    value, mask = halves(packed)
    return mac_text(value) if mask == b"\xff" * 6 else f"{mac_text(value)}/{mac_text(mask)}"


def _read_ip(text: str) -> bytes:
    address, _, tail = text.partition("/")
    if "." in tail or ":" in tail:
        whole, mask = ip_bytes(address), _mask_of(address, tail)
    else:
        whole, length = split_prefix(text)
        bits = 8 * len(whole)
        mask = (((1 << length) - 1) << (bits - length)).to_bytes(len(whole), "big")
    if any(byte & ~kept for byte, kept in zip(whole, mask, strict=True)):
        meant = bytes(byte & kept for byte, kept in zip(whole, mask, strict=True))
        told = f"{ip_text(meant)}/{tail} or {ip_text(whole)}"
        raise ValueError(f"expected {told}: {text} has bits that the mask leaves out")
    return whole + mask


def _mask_of(address: str, tail: str) -> bytes:
    """A mask that is written like an address of the same family."""
    with suppress(ValueError):
        if len(mask := ip_bytes(tail)) == len(ip_bytes(address)):
            return mask
    usual = "ffff:ffff::" if ":" in address else "255.255.0.0"
    raise ValueError(f"expected a mask behind the slash like {usual}, or a length, not {tail!r}")


def _write_ip(packed: bytes) -> Value:
    value, mask = halves(packed)
    if mask == b"\xff" * len(mask):
        return ip_text(value)
    bits = format(int.from_bytes(mask, "big"), f"0{8 * len(mask)}b")
    length = len(bits.rstrip("0"))
    if "0" in bits[:length]:
        return f"{ip_text(value)}/{ip_text(mask)}"
    return f"{ip_text(value)}/{length}"


MASKED_MAC = _typed(
    "a MAC address, with a mask behind a slash if not all of it counts",
    _read_mac,
    _write_mac,
)
_SOME_IP = _typed(
    "an address, with a length or mask behind a slash if not all of it counts",
    _read_ip,
    _write_ip,
)


def _parse_ip(raw: object) -> Value:
    """Whole addresses have a shorter way: they are what ranges make thousands of."""
    if isinstance(raw, str) and "/" not in raw:
        try:
            return ip_text(ip_bytes(raw))
        except ValueError:
            raise ValueError(f"expected {_SOME_IP.expected}, not {raw!r}") from None
    return _SOME_IP.parse(raw)


MASKED_IP = _SOME_IP._replace(parse=_parse_ip)
