# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranges and the expressions that refer to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netgroupd.config.expression import BadTextError
from netgroupd.config.ranges import LIMIT, Range, compile_text, referring

RANGES = [
    pytest.param("swp[1-3]", ["swp1", "swp2", "swp3"], id="numbers_between"),
    pytest.param("[1,3,10-12]x", ["1x", "3x", "10x", "11x", "12x"], id="list_of_spans"),
    pytest.param("[a=1-2]", ["1", "2"], id="named"),
    pytest.param("[001-003]", ["001", "002", "003"], id="zeros_are_kept"),
    pytest.param("[098-101]", ["098", "099", "100", "101"], id="zeros_are_kept_across_a_length"),
    pytest.param("[0-100/50]", ["0", "50", "100"], id="steps"),
    pytest.param("[1-2].[5-6]", ["1.5", "1.6", "2.5", "2.6"], id="two_ranges_multiply"),
    pytest.param("plain", ["plain"], id="no_range"),
    pytest.param("50%[1-2]%d", ["50%1%d", "50%2%d"], id="percent_signs_stay"),
    pytest.param("[a=1-2]-{a}", ["1-1", "2-2"], id="reference_to_a_range_of_the_same_text"),
]


@pytest.mark.parametrize(("text", "want"), RANGES)
def test_text_stands_for(text: str, want: list[str]) -> None:
    assert [str(made) for made, _ in compile_text(text).instances()] == want


SCOPE = (Range("v", (range(1, 5000),), 0), Range("", (range(1, 9),), 0), Range("z", (range(1, 10),), 3))
ENV = (1034, 7, 5)
EXPRESSIONS = [
    pytest.param("{v}", 1034, id="by_name_stays_a_number"),
    pytest.param("{2}", 7, id="by_position"),
    pytest.param("x{v}", "x1034", id="inside_a_text"),
    pytest.param("{z}", "005", id="zeros_of_the_range_are_kept"),
    pytest.param("{z+0}", 5, id="arithmetic_drops_the_zeros"),
    pytest.param("{v+1}", 1035, id="sum"),
    pytest.param("{v-1}", 1033, id="difference"),
    pytest.param("{v*2}", 2068, id="product"),
    pytest.param("{v//256}", 4, id="quotient"),
    pytest.param("{v%256}", 10, id="remainder"),
    pytest.param("{1+v*2}", 2069, id="product_before_sum"),
    pytest.param("{(1+v)*2}", 2070, id="parentheses"),
    pytest.param("{10-v-1}", -1025, id="from_left_to_right"),
    pytest.param("{-v}", -1034, id="negative"),
    pytest.param("{v:06}", "001034", id="format_with_zeros"),
    pytest.param("{v:x}", "40a", id="format_hexadecimal"),
    pytest.param("{v:X}", "40A", id="format_hexadecimal_upper_case"),
    pytest.param("{v//256:02x}", "04", id="format_of_an_expression"),
    pytest.param("{2:03}", "007", id="format_of_a_position"),
    pytest.param("{v+0x10}", 1050, id="hexadecimal_number"),
    pytest.param("{10.0.0.0 + v}", "10.0.4.10", id="ip4_plus_number"),
    pytest.param("{v + 10.0.0.0}", "10.0.4.10", id="number_plus_ip4"),
    pytest.param("{10.1.0.0 - v}/32", "10.0.251.246/32", id="ip4_minus_number"),
    pytest.param("{2001:db8:: + v}", "2001:db8::40a", id="ip6_plus_number"),
    pytest.param("{2001:db8:0:0:0:0:0:1 + v*65536}", "2001:db8::40a:1", id="ip6_written_out"),
    pytest.param("{::ffff:1.2.3.4 + v}", "::ffff:1.2.7.14", id="ip6_with_ip4_inside"),
    pytest.param("{02:00:00:00:00:00 + v}", "02:00:00:00:04:0a", id="mac_plus_number"),
    pytest.param("10.{v//256}.{v%256}.1/24", "10.4.10.1/24", id="several_fields"),
]


@pytest.mark.parametrize(("text", "want"), EXPRESSIONS)
def test_expression_is(text: str, want: int | str) -> None:
    assert compile_text(text, SCOPE).make(ENV) == want


REFUSED = [
    pytest.param("[1-", 0, "no counterpart", id="open_bracket"),
    pytest.param("[]", 1, "expected numbers", id="empty_range"),
    pytest.param("[a-b]", 1, "expected numbers", id="letters"),
    pytest.param("[1,x]", 3, "expected numbers", id="one_bad_item"),
    pytest.param("[6-1]", 1, "backwards; write 1-6", id="backwards"),
    pytest.param("[1-6/0]", 1, "step of 0", id="step_of_zero"),
    pytest.param("[1-9999999999999999]", 1, "expected numbers", id="too_many_digits"),
    pytest.param("[a=1-2][a=1-2]", 1, "two ranges are named 'a'", id="a_name_twice"),
    pytest.param("{}", 1, "expected the name or number", id="nothing_between_braces"),
    pytest.param("{w}", 1, "'w' is not the name of a range; there are v, z", id="unknown_name"),
    pytest.param("{9}", 1, "no range number 9; there are 3", id="unknown_position"),
    pytest.param("{0}", 1, "no range number 0", id="positions_count_from_one"),
    pytest.param("{v/2}", 2, "use // to divide", id="single_slash"),
    pytest.param("{v**2}", 3, "not '*'", id="power"),
    pytest.param("{v+}", 3, "expected a number", id="ends_early"),
    pytest.param("{(v}", 3, "expected )", id="open_parenthesis"),
    pytest.param("{v)}", 2, "was not expected", id="close_parenthesis"),
    pytest.param("{1+1}", 1, "nothing varies", id="only_numbers"),
    pytest.param("{v:q}", 2, "expected a format", id="unknown_format"),
    pytest.param("{v.real}", 2, "not part of the language", id="attribute"),
    pytest.param("{v[0]}", 2, "not part of the language", id="subscript"),
    pytest.param("{print(v)}", 1, "'print' is not the name", id="call"),
    pytest.param("{10.0.0.0 + 10.0.0.1 + v}", 10, "only a number", id="two_addresses"),
    pytest.param("{10.0.0.0 * v}", 10, "only a number", id="address_times_number"),
    pytest.param("{300.0.0.0 + v}", 1, "not an address", id="no_address"),
    pytest.param("{10.0.0.0 + v:x}", 1, "takes no format", id="address_with_format"),
    pytest.param("{" + "(" * 30 + "v" + ")" * 30 + "}", 22, "levels deep", id="too_deep"),
    pytest.param("{v" + "+1" * 200 + "}", 1, "at most 200", id="too_long"),
]


@pytest.mark.parametrize(("text", "offset", "message"), REFUSED)
def test_text_is_refused_at_its_place(text: str, offset: int, message: str) -> None:
    with pytest.raises(BadTextError) as caught:
        compile_text(text, SCOPE)
    assert (caught.value.offset, message in str(caught.value)) == (offset, True), str(caught.value)


FAILING = [
    pytest.param("{v//(v-1034)}", "division by zero", id="division_by_zero"),
    pytest.param("{v%(v-1034)}", "division by zero", id="remainder_of_zero"),
    pytest.param("{255.255.255.0 + v}", "leaves the range of IPv4", id="beyond_the_last_address"),
    pytest.param("{10.0.0.0 - 4000000000 + v}", "leaves the range of IPv4", id="before_the_first_address"),
    pytest.param("{ff:ff:ff:ff:ff:ff + v}", "leaves the range of MAC", id="beyond_the_last_mac"),
    pytest.param("{v" + "*4000000000" * 12 + "}", "over 128 bits", id="huge_number"),
]


@pytest.mark.parametrize(("text", "message"), FAILING)
def test_expression_fails_for_an_instance(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_text(text, SCOPE).make(ENV)


def test_size_is_known_without_building() -> None:
    assert compile_text("[1-999999999999999].[1-1000]").size == 999999999999999000 > LIMIT


@given(st.text(alphabet="[]{}()=-+*/%:,.0123456789abvz \u00b2\u0664x", max_size=40))
def test_any_text_compiles_or_is_refused_inside_of_it(text: str) -> None:
    try:
        pattern = compile_text(text, SCOPE)
    except BadTextError as bad:
        assert 0 <= bad.offset <= len(text)  # noqa: PT017  # both outcomes are right, and this holds for one
        return
    if pattern.size <= 1000:
        for made, env in pattern.instances(ENV):
            assert isinstance(made, int | str)
            assert env[: len(ENV)] == ENV


@given(st.integers(0, 9999), st.integers(0, 300), st.integers(1, 50))
def test_range_is_what_python_counts(first: int, more: int, step: int) -> None:
    want = [str(number) for number in range(first, first + more + 1, step)]
    assert [str(made) for made, _ in compile_text(f"[{first}-{first + more}/{step}]").instances()] == want


@given(st.integers(1, 4999), st.lists(st.sampled_from(["+", "-", "*", "//", "%"]), max_size=6), st.data())
def test_arithmetic_is_that_of_whole_numbers(value: int, operators: list[str], data: st.DataObject) -> None:
    text = "v"
    for operator in operators:
        text += f" {operator} {data.draw(st.integers(1, 99))}"
    got = compile_text(f"{{{text}}}", SCOPE).make((value, 1, 1))
    assert got == eval(text, {"v": value})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("uplink [[core]]", ["uplink [core]"]),
        ("{{v}} is [1-2]", ["{v} is 1", "{v} is 2"]),
        ("[[[v=1-2]]] {{{v}}}", ["[1] {1}", "[2] {2}"]),
        ("[[[[", ["[["]),
        ("100%]]", ["100%]"]),
        ("[[2001:db8::1]]:51820", ["[2001:db8::1]:51820"]),
    ],
)
def test_bracket_or_brace_written_twice_is_text(text: str, want: list[str]) -> None:
    assert [str(made) for made, _ in compile_text(text).instances()] == want


def test_text_without_a_range_does_not_vary_for_its_brackets() -> None:
    assert not compile_text("[[x]]").varies
    assert referring("[[a]] [1-2] {{", ())[0] == "[[a]] {1} {{"


def test_bracket_alone_is_told_to_be_written_twice() -> None:
    with pytest.raises(BadTextError, match=r"'\]' has no counterpart; as text it is written twice"):
        compile_text("a ]b")
