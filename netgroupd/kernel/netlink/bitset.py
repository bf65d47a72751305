# SPDX-License-Identifier: GPL-2.0-or-later
"""Bitsets of ethtool's messages: compact, as numbers, or bit by bit, with names that only the kernel knows."""

from collections.abc import Iterable, Mapping

from netgroupd.kernel.netlink.message import attr, attributes, nest, text, u32, walk

_NOMASK, _SIZE, _BITS, _VALUE, _MASK = range(1, 6)
_BIT = 1
_BIT_NAME, _BIT_VALUE = 2, 3
_WORD = 4  # bytes


def compact(kind: int, size: int, value: int, mask: int) -> bytes:
    """So many bits, of which those in ``mask`` are set or cleared as in ``value``."""
    length = -(-size // 32) * _WORD
    parts = (attr(number, bits.to_bytes(length, "little")) for number, bits in ((_VALUE, value), (_MASK, mask)))
    return nest(kind, u32(_SIZE, size), *parts)


def unpack_compact(payload: memoryview) -> tuple[int, int]:
    """The bits that are set, and those that are spoken of."""
    told = attributes(payload)
    value, mask = (int.from_bytes(told.get(number, b""), "little") for number in (_VALUE, _MASK))
    return value, mask


def changed(kind: int, bits: Mapping[str, bool]) -> bytes:
    """Bits by name, each to be set or cleared; the others stay."""
    said = (nest(_BIT, text(_BIT_NAME, name), attr(_BIT_VALUE, b"") if on else b"") for name, on in bits.items())
    return nest(kind, nest(_BITS, *said))


def exactly(kind: int, names: Iterable[str]) -> bytes:
    """These bits set, by name, and all others cleared."""
    return nest(kind, attr(_NOMASK, b""), nest(_BITS, *(nest(_BIT, text(_BIT_NAME, name)) for name in names)))


def unpack_named(payload: memoryview) -> dict[str, bool]:
    """Every bit that is told of by name, and whether it is set; on a list without mask, each is."""
    told = attributes(payload)
    found: dict[str, bool] = {}
    for _, start, end in walk(told[_BITS]) if _BITS in told else ():
        bit = attributes(told[_BITS], start, end)
        name = bytes(bit[_BIT_NAME]).rstrip(b"\0").decode(errors="replace")
        found[name] = _NOMASK in told or _BIT_VALUE in bit
    return found
