# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of u32 in a dump that are read by where their bytes are: as if each were read in full."""

import struct
from collections.abc import Sequence

import pytest

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import HEADER_LEN, attr, walk
from netgroupd.kernel.tc.filters.read import Decoder
from netgroupd.kernel.tc.tcmsg import HEADER as TCMSG
from netgroupd.kernel.tc.tcmsg import OPTIONS
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from tests.instructions import instructions
from tests.kernel import tc_read
from tests.kernel.tc_read import dumped, in_full, left_unread, skimmed
from tests.vm.tc_cases import CASES, Case, rules_of

_U32 = [case for case in CASES if case.id.startswith("u32")]
_COUNTS = 9


def _rule(**match: Value) -> Object:
    attrs: Attrs = {"kind": "u32", "protocol": "ip", "actions": ({"kind": "gact", "control": "drop"},)}
    return Object("filter", ("v0", "ingress", 0, 10, tuple(sorted(match.items()))), attrs)


def _rules(count: int) -> list[Object]:
    return [_rule(match=(f"0x0a00{number:04x}/0xffffffff at 16",)) for number in range(count)]


def _counted(message: bytes, number: int) -> bytes:
    """A rule that was asked so often, as the kernel tells it."""
    whole = bytearray(message + attr(_COUNTS, struct.pack("=3Q", number, number, number)))
    start = next(first for kind, first, _ in walk(memoryview(message), HEADER_LEN + TCMSG.size) if kind == OPTIONS)
    struct.pack_into("=H", whole, start - 4, len(whole) - start + 4)
    struct.pack_into("=I", whole, 0, len(whole))
    return bytes(whole)


def _taught(names: Names, *told: bytes) -> Decoder:
    decoder = tc_read.decoder(names)
    for one in told * 2:  # what comes once teaches nothing
        decoder.read(memoryview(one)[HEADER_LEN:])
    return decoder


@pytest.mark.parametrize("case", _U32, ids=lambda case: case.id)
def test_rules_in_a_row_are_what_each_is_in_full(names: Names, case: Case) -> None:
    rules = [rule for rule in rules_of(case) if rule.attrs["kind"] == "u32" and "divisor" not in dict(rule.key[4])] * 3  # type: ignore[arg-type]  # pairs
    told = [dumped(names, rule, 0x80000800 + number) for number, rule in enumerate(rules, 1)]
    end, got = skimmed(_taught(names, *told), b"".join(told))
    assert got == [in_full(names, one) for one in told]
    assert end == len(b"".join(told))


def test_what_a_rule_has_counted_is_of_no_account(names: Names) -> None:
    told = [_counted(dumped(names, rule, 0x80000801 + place), place) for place, rule in enumerate(_rules(9))]
    end, got = skimmed(_taught(names, told[0]), b"".join(told))
    assert end == len(b"".join(told))
    assert got == [in_full(names, one) for one in told]
    assert len({rule.key for rule in got}) == 9


@pytest.mark.parametrize("handles", [True, False])
def test_rules_of_u32_have_their_handles_by_which_equal_ones_are_told_apart(names: Names, *, handles: bool) -> None:
    (rule,) = _rules(1)
    told = [dumped(names, rule, handle) for handle in range(0x80000801, 0x80000809)]
    decoder = tc_read.decoder(names, expected={rule.key: rule}, handles=handles)
    for one in told[:2]:
        decoder.read(memoryview(one)[HEADER_LEN:])
    _, got = skimmed(decoder, b"".join(told))
    assert [one.attrs["handle"] for one in got] == [*range(0x80000801, 0x80000809)]


def test_tables_are_told_by_their_handles_and_read_in_full(names: Names) -> None:
    tables = [_rule(table=number, divisor=16)._replace(attrs={"kind": "u32", "protocol": "ip"}) for number in (1, 2)]
    told = [dumped(names, rule, number << 20) for number, rule in enumerate(tables, 1)]
    assert skimmed(_taught(names, told[0]), told[1])[0] == 0


@pytest.mark.parametrize("match", [{"match": ("0x0a000001/0xffffffff at 16",), "mark": "0x5/0xf"}, {"mark": "0x1"}])
def test_change_of_any_bit_is_seen(names: Names, match: dict[str, Value]) -> None:
    told = dumped(names, _rule(**match), 0x80000801)
    assert left_unread(names, _taught(names, told), told) > len(told) // 3


def test_rule_is_read_in_few_steps(names: Names) -> None:
    told: Sequence[bytes] = [dumped(names, rule, 0x80000801) for rule in _rules(200)]
    decoder, row = _taught(names, told[0]), b"".join(told)
    assert instructions(lambda: skimmed(decoder, row)) < 300 * len(told)
