# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates, sizes, times and shares in ``tc``'s words: ``100mbit``, ``15k``, ``10ms``, ``0.3%``.

A number alone is what the kernel holds: bytes per second (where ``tc`` takes
bits), bytes, microseconds.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from netgroupd.model.value import Type, Value, number

Unit: TypeAlias = tuple[int, int]
"""What one of it is, as a fraction."""

_WORD = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,9}))?\s*([a-z]*)", re.ASCII)

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
RATES: dict[str, Unit] = {
    f"{letter}{binary}{unit}": (base**power, per)
    for letter, power in _POWERS.items()
    for binary, base in (("", 1000), ("i", 1024))
    if letter or not binary
    for unit, per in (("bit", 8), ("bps", 1))
}
"""Bytes per second in each unit; bps are bytes, as tc has it."""

SIZES: dict[str, Unit] = {
    "b": (1, 1),
    **{f"{letter}{end}": (1024 ** _POWERS[letter], 1) for letter in "kmg" for end in ("", "b")},
    **{f"{letter}bit": (1024 ** _POWERS[letter], 8) for letter in "kmg"},
}
"""Bytes in each unit, of which tc counts 1024 to the next."""

_TIMES = {"s": 10**9, "sec": 10**9, "secs": 10**9, "ms": 10**6, "msec": 10**6, "msecs": 10**6}
_TIMES |= {"us": 10**3, "usec": 10**3, "usecs": 10**3, "ns": 1, "nsec": 1, "nsecs": 1}


def _unit(plain: Type, units: Mapping[str, Unit], told: str, bare: str) -> Type:
    """A number as ``plain`` takes it, or one with a unit."""
    expected = f"{told}, or a number of {bare}"

    def parse(raw: object) -> Value:
        word = _WORD.fullmatch(raw.strip().lower()) if isinstance(raw, str) else None
        try:
            if word and word[3] in units:
                part = word[2] or ""
                top, bottom = units[word[3]]
                whole, below = int(word[1] + part) * top, 10 ** len(part) * bottom
                return plain.parse((whole + below // 2) // below)
            return plain.parse(raw)
        except ValueError:
            raise ValueError(f"expected {expected}") from None

    pattern = f"^[0-9]+(\\.[0-9]+)? *({'|'.join(sorted(units))})$"
    schema = {"oneOf": [plain.schema, {"type": "string", "pattern": pattern}]}
    return plain._replace(expected=expected, parse=parse, schema=schema)


def rate(bits: int = 64) -> Type:
    """Bytes per second."""
    plain = number(bits)._replace(text=rate_text)
    return _unit(plain, RATES, "a rate such as 100mbit, or 1gbps for bytes", "bytes per second")


def rate_text(value: Value) -> str:
    """A rate in the largest unit of bits that it is a whole number of, which is read as the same."""
    if not isinstance(value, int) or not value:
        return str(value)
    bits, unit = value * 8, ""
    for larger in "kmgt":
        if bits % 1000:
            break
        bits, unit = bits // 1000, larger
    return f"{bits}{unit}bit"


def size(low: int = 0, high: int | None = None) -> Type:
    """Bytes."""
    return _unit(number(32, low, high), SIZES, "a size such as 15k or 2mb", "bytes")


def _time(bare_ns: int, bare: str, plain: Type = number(32)) -> Type:  # noqa: B008  # a frozen value
    units = {name: (ns, bare_ns) for name, ns in _TIMES.items()}
    return _unit(plain, units, "a time such as 10ms", bare)


RATE = rate()
RATE32 = rate(32)
SIZE = size()
TIME = _time(1000, "microseconds")
TIME_NS = _time(1, "nanoseconds")
SHORT_TIME_NS = _time(1, "nanoseconds", number(32, 0, (1 << 31) - 1))
LONG_TIME_NS = _time(1, "nanoseconds", number(64, 0, (1 << 63) - 1))

_FINE_NS = _time(1, "microseconds", number(64, 0, 0xFFFFFFFF * 1000))


def _parse_fine_time(raw: object) -> Value:
    named = isinstance(raw, str) and not raw.strip().isdecimal()
    got = (_FINE_NS if named else TIME).parse(raw)
    assert isinstance(got, int)
    return fine_time(got if named else got * 1000)


def fine_time(time_ns: int) -> Value:
    """A time as a number of microseconds where it is whole, or else text."""
    whole, rest = divmod(time_ns, 1000)
    return f"{time_ns}ns" if rest else whole


def ns_of(time: Value) -> int:
    """The nanoseconds that a time is."""
    return int(time[:-2]) if isinstance(time, str) else int(str(time)) * 1000


FINE_TIME = TIME._replace(parse=_parse_fine_time)

_SHARE = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,4}))?\s*%?", re.ASCII)
_SHARE_EXPECTED = "a percentage from 0 to 100, such as 5 or 0.3%"
SHARES = 1_000_000
"""The parts of a whole that a percentage can tell: the kernel's parts of 2³² give four digits behind the point."""


def _parse_share(raw: object) -> Value:
    found = _SHARE.fullmatch(str(raw).strip()) if not isinstance(raw, bool) else None
    parts = int(found[1] + (found[2] or "").ljust(4, "0")) if found else SHARES + 1
    if parts > SHARES:
        raise ValueError(f"expected {_SHARE_EXPECTED}")
    return share(parts)


def share(parts: int) -> Value:
    """Parts of a million as a percentage: a number where it is whole, or else text."""
    whole, rest = divmod(parts, 10_000)
    return f"{whole}.{rest:04}".rstrip("0") + "%" if rest else whole


def parts_of(percentage: Value) -> int:
    """The parts of a million that a percentage is."""
    whole, _, rest = str(percentage).removesuffix("%").partition(".")
    return int(whole + rest.ljust(4, "0"))


PERCENT = Type(
    _SHARE_EXPECTED,
    _parse_share,
    {
        "oneOf": [
            {"type": "number", "minimum": 0, "maximum": 100},
            {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *%?$"},
        ]
    },
)


def _parse_chance(raw: object) -> Value:
    if not (got := _parse_share(raw)):
        raise ValueError(f"expected {_CHANCE_EXPECTED}")
    return got


_CHANCE_EXPECTED = "a percentage above 0, such as 5 or 0.3%"
CHANCE = PERCENT._replace(expected=_CHANCE_EXPECTED, parse=_parse_chance)


def _parse_curve(raw: object) -> Value:
    parts = raw if isinstance(raw, list | tuple) else (0, 0, raw)
    if len(parts) != 3:
        raise ValueError(f"expected {_CURVE_EXPECTED}")
    first, time, then = RATE32.parse(parts[0]), TIME.parse(parts[1]), RATE32.parse(parts[2])
    if not (first or then):
        raise ValueError(f"expected {_CURVE_EXPECTED}; one of 0 is none")
    return first, time, then


_CURVE_EXPECTED = "a rate, or a list of a first rate, how long it lasts, and the rate from then on"
CURVE = Type(
    _CURVE_EXPECTED,
    _parse_curve,
    {
        "oneOf": [
            RATE32.schema,
            {
                "type": "array",
                "prefixItems": [RATE32.schema, TIME.schema, RATE32.schema],
                "items": False,
                "minItems": 3,
            },
        ]
    },
)
