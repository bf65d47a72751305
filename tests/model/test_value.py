# SPDX-License-Identifier: GPL-2.0-or-later
"""Values are read as people write them, refused with what was expected, and survive the wire."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netgroupd.model import value
from netgroupd.model.value import Type

KINDS = value.word(8, {"off": 0, "on": 1, "auto": 2})
MODE = value.number(16, 1, 4094)

READ = [
    pytest.param(value.U16, "022", 22, id="leading_zero_is_decimal"),
    pytest.param(value.U16, "0x16", 22, id="hexadecimal"),
    pytest.param(value.S32, "-3", -3, id="negative"),
    pytest.param(value.FLAG, "Yes", True, id="yes_is_true"),
    pytest.param(value.FLAG, "off", False, id="off_is_false"),
    pytest.param(value.FLAG, 0, False, id="zero_is_false"),
    pytest.param(value.FLAG, "1", True, id="one_as_text_is_true"),
    pytest.param(KINDS, True, "on", id="yaml_true_is_the_word_on"),
    pytest.param(KINDS, "AUTO", "auto", id="words_in_any_case"),
    pytest.param(KINDS, 2, "auto", id="number_with_a_name"),
    pytest.param(value.MAC, "02-00-00-AA-00-01", "02:00:00:aa:00:01", id="mac_with_dashes"),
    pytest.param(value.IP6, "2001:DB8:0::1", "2001:db8::1", id="ipv6_is_canonical"),
    pytest.param(value.ADDRESS, "10.0.0.1", "10.0.0.1/32", id="address_alone_is_whole"),
    pytest.param(value.NETWORK, "10.0.0.0/8", "10.0.0.0/8", id="network"),
    pytest.param(value.NETWORK, "default", "default", id="default_network"),
    pytest.param(value.several(MODE), 5, (5,), id="one_item_is_a_list"),
    pytest.param(value.several(MODE, unique=True), [5, 6, 5], (5, 6), id="unique_keeps_order"),
    pytest.param(value.string(5), 12345, "12345", id="number_as_text"),
]


@pytest.mark.parametrize(("kind", "raw", "want"), READ)
def test_reading(kind: Type, raw: object, want: object) -> None:
    assert kind.parse(raw) == want


REFUSED = [
    pytest.param(MODE, 4095, "from 1 to 4094", id="number_too_large"),
    pytest.param(MODE, "1e3", "whole number", id="float_notation"),
    pytest.param(MODE, True, "whole number", id="boolean_is_no_number"),
    pytest.param(MODE, None, "whole number", id="null"),
    pytest.param(MODE, "9" * 5000, "whole number", id="thousands_of_digits"),
    pytest.param(value.FLAG, "2", "true or false", id="two_is_no_flag"),
    pytest.param(KINDS, "maybe", "one of off, on, auto", id="unknown_word"),
    pytest.param(value.MAC, "02:00:00:00:00", "MAC address", id="short_mac"),
    pytest.param(value.IP4, "::1", "IPv4", id="other_family"),
    pytest.param(value.IP, "10.0.0.256", "IPv4 or IPv6", id="octet_too_large"),
    pytest.param(value.ADDRESS, "10.0.0.1/33", "0 to 32", id="length_too_large"),
    pytest.param(value.ADDRESS, "10.0.0.1/\u0663", "0 to 32", id="length_in_other_digits"),
    pytest.param(value.NETWORK, "10.0.0.1/8", "bits are set behind /8", id="host_bits"),
    pytest.param(value.string(3), "four", "at most 3", id="text_too_long"),
    pytest.param(value.string(9), "a\0b", "at most 9", id="nul_in_text"),
    pytest.param(value.NAME, "a/b", "without blanks", id="slash_in_name"),
    pytest.param(value.LINK, "sixteen-letters-", "over 15", id="link_name_too_long"),
    pytest.param(value.LINK, "\u00e4" * 8, "over 15 bytes", id="link_name_of_too_many_bytes"),
    pytest.param(value.several(MODE), [1, 0], "from 1 to 4094", id="item_of_list"),
    pytest.param(value.record({"a": MODE}), {"b": 1}, "not 'b'", id="unknown_key_of_record"),
    pytest.param(value.record({"a": MODE}), {"a": 0}, "a: expected", id="value_of_record"),
    pytest.param(value.record({"a": MODE}, frozenset("a")), {}, "'a' is missing", id="missing_key"),
]


@pytest.mark.parametrize(("kind", "raw", "told"), REFUSED)
def test_refusal_says_what_was_expected(kind: Type, raw: object, told: str) -> None:
    with pytest.raises(ValueError, match=r".*" + told):
        kind.parse(raw)


def refusal(kind: Type, raw: object) -> str:
    try:
        kind.parse(raw)
    except ValueError as error:
        return str(error)
    return "as expected"


def over_the_wire(kind: Type, got: value.Value) -> value.Value:
    assert kind.pack is not None
    assert kind.unpack is not None
    return kind.unpack(kind.pack(got))


@given(st.integers(0, 0xFFFFFFFF))
def test_numbers_survive_the_wire(got: int) -> None:
    assert over_the_wire(value.U32, got) == got


def test_numbers_in_network_order_and_scaled_units() -> None:
    assert value.PORT.pack is not None
    assert value.PORT.pack(0x1234) == b"\x12\x34"
    centiseconds = value.number(32, scale=100)
    assert centiseconds.pack is not None
    assert centiseconds.pack(2) == (200).to_bytes(4, "little")
    assert over_the_wire(centiseconds, 2) == 2


@given(st.ip_addresses())
def test_addresses_are_read_as_the_kernel_prints_them(
    got: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    canonical = value.IP.parse(str(got))
    assert over_the_wire(value.IP, canonical) == canonical
    assert value.ip_bytes(str(canonical)) == got.packed


@given(st.binary(min_size=6, max_size=6))
def test_macs_survive_the_wire(got: bytes) -> None:
    assert value.MAC.pack is not None
    assert value.MAC.pack(value.mac_text(got)) == got


def test_a_number_without_a_name_stays_a_number() -> None:
    assert KINDS.unpack is not None
    assert KINDS.unpack(b"\x07") == 7


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text())))
@pytest.mark.parametrize(
    "kind",
    [
        value.U8,
        value.FLAG,
        KINDS,
        value.MAC,
        value.IP,
        value.ADDRESS,
        value.NETWORK,
        value.NAME,
        value.LINK,
        value.several(value.U8),
        value.record({"a": value.U8}),
    ],
)
def test_anything_is_read_or_refused_with_a_sentence(kind: Type, raw: object) -> None:
    assert "expected" in refusal(kind, raw)


def test_text_of_others_that_is_no_utf_8_survives_the_way_there_and_back() -> None:
    alias = value.string()
    assert alias.pack is not None
    assert alias.unpack is not None
    assert alias.pack(alias.unpack(b"caf\xe9\0")) == b"caf\xe9\0"
