# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates, sizes, times and percentages as ``tc`` has them."""

import pytest

from netgroupd.model.tc.units import CURVE, PERCENT, RATE, RATE32, SHARES, SIZE, TIME, TIME_NS, parts_of, share
from netgroupd.model.value import Type

TAKEN = [
    (RATE, "100mbit", 12_500_000),
    (RATE, "32kbit", 4_000),
    (RATE, "1gbps", 1_000_000_000),
    (RATE, "1.5Mbit", 187_500),
    (RATE, "1kibit", 128),
    (RATE, "8bit", 1),
    (RATE, "125000", 125_000),
    (RATE, 125_000, 125_000),
    (SIZE, "15k", 15_360),
    (SIZE, "1.5kb", 1_536),
    (SIZE, "2mb", 2 << 20),
    (SIZE, "32kbit", 4_096),
    (SIZE, "100b", 100),
    (TIME, "10ms", 10_000),
    (TIME, "0.1s", 100_000),
    (TIME, "100us", 100),
    (TIME, "5 msecs", 5_000),
    (TIME, 7, 7),
    (TIME_NS, "10us", 10_000),
    (PERCENT, "50%", 50),
    (PERCENT, "0.3%", "0.3%"),
    (PERCENT, 0.25, "0.25%"),
    (PERCENT, 100, 100),
    (CURVE, "1mbit", (0, 0, 125_000)),
    (CURVE, ["2mbit", "10ms", "1mbit"], (250_000, 10_000, 125_000)),
]


@pytest.mark.parametrize(("kind", "raw", "want"), TAKEN, ids=[f"{raw}" for _, raw, _ in TAKEN])
def test_unit_is_what_tc_makes_of_it(kind: Type, raw: object, want: object) -> None:
    assert kind.parse(raw) == want


REFUSED = [
    (RATE, "10parsec"),
    (RATE, "50%"),
    (RATE, "-1mbit"),
    (RATE32, "100gbit"),
    (SIZE, "5g"),
    (SIZE, "10ms"),
    (TIME, "1.5"),
    (TIME, None),
    (PERCENT, "101%"),
    (PERCENT, True),
    (CURVE, ["1mbit", "10ms"]),
    (CURVE, []),
]


@pytest.mark.parametrize(("kind", "raw"), REFUSED, ids=[f"{raw}" for _, raw in REFUSED])
def test_what_is_no_such_thing_is_refused_with_what_would_be(kind: Type, raw: object) -> None:
    with pytest.raises(ValueError, match=r"^expected (a|an) "):
        kind.parse(raw)


@pytest.mark.parametrize("parts", [0, 1, 9_999, 10_000, 3_000, 999_999, SHARES])
def test_percentage_and_parts_are_each_other(parts: int) -> None:
    assert parts_of(share(parts)) == parts
    assert PERCENT.parse(share(parts)) == share(parts)
