# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses that count up with names are written as one writes them by hand: by the part that counts."""

import pytest

from netgroupd.engine.capture.yaml_text import texts_of
from netgroupd.model.value import ip_bytes, split_prefix
from netgroupd.plan.fold import Row, fold
from tests.engine.universe import state_of

CASES = [
    pytest.param([(f"v{a}", f"10.1.{a}.2/24") for a in range(10, 29, 3)], "10.1.{a}.2/24", id="part_in_the_middle"),
    pytest.param([(f"v{a}", f"10.66.{a - 5000}.9/24") for a in range(5000, 5256)], "10.66.{a - 5000}.9/24", id="less"),
    pytest.param([(f"v{a}", f"10.0.0.{a + 3}/32") for a in range(253)], "10.0.0.{a + 3}/32", id="last"),
    pytest.param(
        [(f"v{a}", f"10.0.{a // 256}.{a % 256}/32") for a in range(250, 300)],
        "{10.0.0.250 + (a - 250)}/32",
        id="over_the_end_of_a_part",
    ),
    pytest.param([(f"v{a}", f"10.0.0.{a * 4}/30") for a in range(50)], "{10.0.0.0 + a * 4}/30", id="by_four"),
    pytest.param(
        [(f"v{a}", f"fd66:{a}::1/64" if a else "fd66::1/64") for a in range(3)], "fd66:{a}::1/64", id="ipv6_from_zero"
    ),
    pytest.param([(f"v{a}", f"fd00:0:0:{a}::1/64") for a in range(10, 20)], "fd00:0:0:{a}::1/64", id="ipv6_decimal"),
    pytest.param([(f"v{a}", f"2001:db8::{a:x}/64") for a in range(1, 99)], "2001:db8::{a:x}/64", id="ipv6_hexadecimal"),
    pytest.param(
        [(f"v{a}.{b}", f"2001:db8:{a}:{b}::1/127") for a in (1, 2) for b in range(100, 110)],
        "2001:db8:{a}:{b}::1/127",
        id="two_parts",
    ),
]


@pytest.mark.parametrize(("rows", "written"), CASES)
def test_address_is_written_by_the_part_that_counts_and_means_the_same(rows: list[Row], written: str) -> None:
    (pattern,) = fold(rows)
    name, text = texts_of(pattern)
    assert text == written
    found = state_of(f'links: {{"{name}": {{kind: dummy, addresses: ["{text}"]}}}}')
    addresses = {(str(obj.key[0]), split_prefix(str(obj.key[1]))) for obj in found if obj.cls == "address"}
    assert addresses == {(row[0], (ip_bytes(row[1].partition("/")[0]), int(row[1].partition("/")[2]))) for row in rows}


def test_mac_is_written_by_the_part_that_counts() -> None:
    (pattern,) = fold([(f"v{a}", f"02:00:00:00:07:{a:02x}") for a in range(1, 256)])
    assert texts_of(pattern) == ["v[a=1-255]", "02:00:00:00:07:{a:02x}"]
    found = state_of('links: {"v[a=1-255]": {kind: dummy, mac: "02:00:00:00:07:{a:02x}"}}')
    assert [str(obj.attrs["mac"])[-2:] for obj in found if obj.cls == "link"][8:11] == ["09", "0a", "0b"]
