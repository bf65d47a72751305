# SPDX-License-Identifier: GPL-2.0-or-later
"""YAML to nodes: the quick reader, the complete one, and that they agree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netgroupd.config.block import BlockParser, UncommonError
from netgroupd.config.document import parse_node
from netgroupd.config.events import parse_events
from netgroupd.config.node import Node, unpack
from tests.config.reading import plain, report_on, scalars, told

READ = [
    pytest.param("a: 1\nb: two words\n", {"a": "1", "b": "two words"}, id="mapping"),
    pytest.param("a:\n  b:\n    c: d\n", {"a": {"b": {"c": "d"}}}, id="nested_mappings"),
    pytest.param("a:\n- 1\n- 2\nb: 3\n", {"a": ["1", "2"], "b": "3"}, id="list_as_far_left_as_its_key"),
    pytest.param("a:\n  - b: 1\n    c: 2\n  - d\n", {"a": [{"b": "1", "c": "2"}, "d"]}, id="list_of_mappings"),
    pytest.param("a:\n  -\n    b: 1\n  - \n", {"a": [{"b": "1"}, None]}, id="dash_alone"),
    pytest.param("a: [1, 'x y', \"z\", {b: c}]\n", {"a": ["1", "x y", "z", {"b": "c"}]}, id="flow"),
    pytest.param("a:\n- x # y: z\n", {"a": ["x"]}, id="colon_in_a_comment"),
    pytest.param("a: {'<<': {b: 1}}\n", {"a": {"<<": {"b": "1"}}}, id="merge_key_in_quotes"),
    pytest.param("a:\n  '<<': {b: 1}\n", {"a": {"<<": {"b": "1"}}}, id="merge_key_in_quotes_on_its_line"),
    pytest.param("a: {}\nb: []\n", {"a": {}, "b": []}, id="empty_collections"),
    pytest.param(
        "a: {b: [1, 2], c: {d: 02:00:00}}\n",
        {"a": {"b": ["1", "2"], "c": {"d": "02:00:00"}}},
        id="nested_flow",
    ),
    pytest.param("# top\na: 1 # one\n\n  # two\nb: x#y\n", {"a": "1", "b": "x#y"}, id="comments"),
    pytest.param(
        "br-[v=1-9]: {up: true}\nswp[1-6].{v}: x\n",
        {"br-[v=1-9]": {"up": "true"}, "swp[1-6].{v}": "x"},
        id="ranges_in_keys",
    ),
    pytest.param("'[1-2]': a\n\"b: c\": d\n", {"[1-2]": "a", "b: c": "d"}, id="quoted_keys"),
    pytest.param("a: 'it''s'\nb: \"{v}\"\n", {"a": "it's", "b": "{v}"}, id="quotes"),
    pytest.param("---\na: 1\n", {"a": "1"}, id="document_start"),
    pytest.param(
        "a: no\nb: on\nc: 022\nd: 1e3\ne: 0x10\nf: 1_000\ng: 12:30:45\n",
        {"a": "no", "b": "on", "c": "022", "d": "1e3", "e": "0x10", "f": "1_000", "g": "12:30:45"},
        id="words_stay_as_written",
    ),
    pytest.param(
        "a: ~\nb: null\nc:\nd: 'null'\n",
        {"a": None, "b": None, "c": None, "d": "null"},
        id="null_only_without_quotes",
    ),
    pytest.param("to: 2001:db8::/32\nvia: ::1\n", {"to": "2001:db8::/32", "via": "::1"}, id="addresses_with_colons"),
    pytest.param("", None, id="empty"),
    pytest.param("# nothing\n\n", None, id="only_comments"),
]


@pytest.mark.parametrize(("text", "want"), READ)
def test_text_is_read_as(text: str, want: object) -> None:
    report = report_on(text)
    assert plain(BlockParser(text, 0, report).parse()) == want
    assert plain(parse_events(text, 0, report)) == want
    assert not report.problems()


LEFT_TO_THE_OTHER = [
    pytest.param("a: &x 1\nb: *x\n", {"a": "1", "b": "1"}, id="anchor"),
    pytest.param("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}, id="literal"),
    pytest.param("a: two\n  lines\n", {"a": "two lines"}, id="plain_over_two_lines"),
    pytest.param("a: [1,\n  2]\n", {"a": ["1", "2"]}, id="flow_over_two_lines"),
    pytest.param('a: "\\x41"\n', {"a": "A"}, id="escape"),
    pytest.param("- - 1\n  - 2\n- 3\n", [["1", "2"], "3"], id="list_behind_a_dash"),
    pytest.param("a:\tb\n", {"a": "b"}, id="tab_between"),
    pytest.param("a: {<<: {b: 1}, c: 2}\n", {"a": {"c": "2", "b": "1"}}, id="merge_key_without_an_alias"),
    pytest.param("a:\n  <<: {b: 1}\n  c: 2\n", {"a": {"c": "2", "b": "1"}}, id="merge_key_on_its_line"),
    pytest.param(
        "base: &b {mtu: 9000}\na: {<<: *b, up: yes}\n",
        {"base": {"mtu": "9000"}, "a": {"up": "yes", "mtu": "9000"}},
        id="merge_key",
    ),
    pytest.param("a: !!str 022\n", {"a": "022"}, id="tag"),
    pytest.param("? a\n: b\n", {"a": "b"}, id="question_mark"),
]


@pytest.mark.parametrize(("text", "want"), LEFT_TO_THE_OTHER)
def test_uncommon_text_goes_to_the_complete_reader(text: str, want: object) -> None:
    report = report_on(text)
    with pytest.raises(UncommonError):
        BlockParser(text, 0, report).parse()
    assert plain(parse_node(text, 0, report)) == want
    assert not report.problems()


REFUSED = [
    pytest.param("links:\n\tswp1: {}\n", "a.yaml:2:1: a tab in the indentation; YAML takes only blanks", id="tab"),
    pytest.param(
        "links: {}\nlinks: {}\n",
        "a.yaml:2:1: 'links' is here twice; the first is at a.yaml:1",
        id="key_twice",
    ),
    pytest.param(
        "links: {a: {up: yes, up: no}}\n",
        "a.yaml:1:22: 'up' is here twice; the first is at a.yaml:1",
        id="key_twice_in_flow",
    ),
    pytest.param(
        "links:\n  a: &x {}\n  a: {}\n",
        "a.yaml:3:3: 'a' is here twice; the first is at a.yaml:2",
        id="key_twice_for_the_complete_reader",
    ),
    pytest.param(
        "links:\n  a: [b\n",
        "a.yaml:2:6: this is not YAML: did not find expected ',' or ']' (while parsing a flow sequence); what "
        "begins here is never closed",
        id="open_bracket",
    ),
    pytest.param(
        'links:\n  a: "b\n  c: d\n',
        "a.yaml:2:6: this is not YAML: found unexpected end of stream (while scanning a quoted scalar); what "
        "begins here is never closed",
        id="open_quote",
    ),
    pytest.param(
        "links:\n  a:\n    b: 1\n   c: 2\n",
        "a.yaml:4:4: this is not YAML: did not find expected key (while parsing a block mapping, from a.yaml:2); "
        "it is indented unlike all that it could belong to",
        id="ragged_indentation",
    ),
    pytest.param(
        "links:\n  a:\n    b: 1\n   ports: b.{v}\n",
        "a.yaml:4:4: this is not YAML: did not find expected key (while parsing a block mapping, from a.yaml:2); "
        "it is indented unlike all that it could belong to",
        id="ragged_indentation_of_a_line_with_braces",
    ),
    pytest.param(
        "links:\n  br-[v=1-2]\n    kind: bridge\n",
        "a.yaml:3:9: this is not YAML: mapping values are not allowed in this context; "
        "the line above has no colon at its end",
        id="forgotten_colon",
    ),
    pytest.param(
        "links:\n  a: {kind: bridge}\n    up: true\n",
        "a.yaml:3:5: this is not YAML: did not find expected key (while parsing a block mapping, from a.yaml:2); "
        "it is indented unlike all that it could belong to",
        id="below_a_value",
    ),
    pytest.param(
        "links:\n  a:\n    mtu: 1500\n      up: true\n",
        "a.yaml:4:9: this is not YAML: mapping values are not allowed in this context; "
        "the line above has a value already, so that nothing can be indented below it",
        id="indented_below_a_value",
    ),
    pytest.param(
        "[1-2]:\n  up: true\n",
        "a.yaml:1:1: a key must be a text; quote a key that begins with [ or {",
        id="list_as_key",
    ),
    pytest.param(
        "links:\n  a: {alias: !vault abc}\n",
        "a.yaml:2:14: the tag !vault is not known here; write the value itself",
        id="tag_of_another_tool",
    ),
    pytest.param(
        "routes: [{to: ::/0, via: '::1'}]\n",
        "a.yaml:1:15: this is not YAML: did not find expected node content (while parsing a flow node); "
        "a value that begins with : must be quoted",
        id="address_that_begins_with_a_colon",
    ),
    pytest.param(
        "links:\n  a:\n    alias: 'it's'\n",
        "a.yaml:3:16: this is not YAML: did not find expected key (while parsing a block mapping); "
        "inside of '…' a ' is written twice",
        id="quote_in_quotes",
    ),
    pytest.param(
        "links:\n  a: {alias: a: b}\n",
        "a.yaml:2:15: this is not YAML: did not find expected ',' or '}' (while parsing a flow mapping); "
        "a value with ': ' in it must be quoted, or a comma is missing before it",
        id="colon_in_a_value_between_braces",
    ),
    pytest.param(
        "links:\n  a:\n    alias: a: b\n",
        "a.yaml:3:13: this is not YAML: mapping values are not allowed in this context; "
        "a value with ': ' in it must be quoted, and one of several keys stands between { }",
        id="colon_in_a_value",
    ),
    pytest.param(
        "links:\n  a: {alias: @x}\n",
        "a.yaml:2:14: this is not YAML: found character that cannot start any token (while scanning for the next "
        "token); a value that begins with @ must be quoted",
        id="character_that_begins_nothing",
    ),
    pytest.param(
        'links:\n  a: {alias: "a\\d"}\n',
        "a.yaml:2:16: this is not YAML: found unknown escape character (while parsing a quoted scalar); "
        "between \" \" a \\ begins an escape: write it twice; between ' ' it is none",
        id="unknown_escape",
    ),
    pytest.param(
        "links:\n  a: {alias: > x}\n",
        "a.yaml:2:14: this is not YAML: found character that cannot start any token (while scanning for the next "
        "token); a value that begins with > must be quoted",
        id="sign_of_a_block",
    ),
    pytest.param(
        "links:\n  a:\n    alias: > x\n",
        "a.yaml:3:14: this is not YAML: did not find expected comment or line break (while scanning a block scalar); "
        "a value that begins with | or > must be quoted",
        id="value_behind_a_sign_of_a_block",
    ),
    pytest.param(
        "links:\n  a: {mtu: 1500, up: true\n  b: {mtu: 1500}\n",
        "a.yaml:3:4: this is not YAML: did not find expected ',' or '}' (while parsing a flow mapping, from a.yaml:2); "
        "a comma is missing, or what begins at a.yaml:2 is not closed",
        id="brace_that_the_line_above_does_not_close",
    ),
    pytest.param(
        "links:\n  a: {mtu: 1500}}\n",
        "a.yaml:2:17: this is not YAML: did not find expected key (while parsing a block mapping); "
        "nothing is open that this } could close",
        id="brace_too_many",
    ),
    pytest.param(
        "links:\n  a: {mtu: 1500]\n",
        "a.yaml:2:16: this is not YAML: did not find expected ',' or '}' (while parsing a flow mapping); "
        "what is open here is closed by }",
        id="bracket_in_place_of_a_brace",
    ),
    pytest.param(
        "links:\n  a:\n    addresses:\n    - 10.0.0.1/24\n    -10.0.0.2/24\n",
        "a.yaml:5:5: this is not YAML: could not find expected ':' (while scanning a simple key); "
        "a blank must follow the dash",
        id="dash_without_a_blank",
    ),
    pytest.param(
        "routes:\n -to: 10.0.0.0/8\n  via: 10.0.0.1\n",
        "a.yaml:3:6: this is not YAML: mapping values are not allowed in this context; "
        "a blank must follow the dash in the line above",
        id="dash_without_a_blank_before_a_key",
    ),
    pytest.param(
        "links:\n  a:\n    up\n    mtu: 1500\n",
        "a.yaml:4:8: this is not YAML: mapping values are not allowed in this context; the line above has no colon",
        id="key_alone",
    ),
    pytest.param(
        "links:\n  a:\n    mtu: 1\n    up\n    alias: x\n",
        "a.yaml:5:5: this is not YAML: could not find expected ':' (while scanning a simple key, from a.yaml:4); "
        "there is a line without a colon",
        id="key_alone_behind_another",
    ),
    pytest.param(
        "links: {}\n...\nroutes: []\n",
        "a.yaml:3:1: this is not YAML: did not find expected <document start>; '...' ends a file; use two files",
        id="text_behind_the_end",
    ),
    pytest.param(
        "<<<<<<< HEAD\nlinks: {}\n=======\nlinks: {a: {}}\n>>>>>>> other\n",
        "a.yaml:2:6: this is not YAML: mapping values are not allowed in this context; "
        "<<<<<<< is left of a merge of two versions; keep one of them",
        id="merge_that_is_not_complete",
    ),
    pytest.param("a: *x\n", "a.yaml:1:4: there is no anchor &x before this", id="unknown_anchor"),
    pytest.param(
        "a: 1\n---\nb: 2\n",
        "a.yaml:2:1: a second YAML document in one file; use two files",
        id="two_documents",
    ),
    pytest.param("- a\n", "a.yaml:1:1: expected sections such as `links:` at the top of the file", id="list_on_top"),
    pytest.param("links: " + "[" * 60 + "]" * 60 + "\n", "a.yaml:1:57: over 50 levels deep", id="too_deep"),
    pytest.param(
        "a: 1\nb: \x07\n",
        "a.yaml:2:4: the character '\\x07' is not allowed in YAML",
        id="control_character",
    ),
    pytest.param(
        'links:\n  d1: {alias: "a\u2028b"}\n  d2: {kind: dummyy}\n',
        "a.yaml:2:17: the character '\\u2028' is not allowed in YAML; "
        'some take it for the end of a line; in double quotes write "\\u2028"',
        id="line_separator",
    ),
    pytest.param(
        "a: 1 # b\rc: d\n",
        "a.yaml:1:9: the character '\\r' is not allowed in YAML; "
        'some take it for the end of a line; in double quotes write "\\r"',
        id="carriage_return_alone",
    ),
    pytest.param(
        f"links:\n  lo: {{alias: {'x' * 1_100_000}, mtuu: 1}}\n",
        "a.yaml:2:1048575: unknown key 'mtuu'; did you mean 'mtu'?",
        id="column_beyond_those_that_there_are_numbers_for",
    ),
    pytest.param(
        f"links:\n  lo: {{alias: {'x' * 1_048_560}, mtu: '{{nothing}}'}}\n",
        "a.yaml:2:1048575: 'nothing' is not the name of a range; "
        "no range here has a name: write [v=1-6] to give it one",
        id="place_inside_a_text_at_the_last_column",
    ),
]


@pytest.mark.parametrize(("text", "want"), REFUSED)
def test_wrong_text_is_reported_at_its_place(text: str, want: str) -> None:
    assert want in told(text)


@pytest.mark.parametrize("strange", ["\x85", "\u2029", "\r"], ids=ascii)
def test_line_that_only_libyaml_sees_is_refused(strange: str) -> None:
    [problem] = told(f"links:\n  d1: {{}} # {strange} \n  d2: {{kind: dummyy}}\n")
    assert problem.startswith("a.yaml:2:12: the character")


def test_lines_may_end_as_on_windows() -> None:
    assert told("links:\r\n  lo: {alias: &a x}\r\n  d: {kind: dummyy}\r\n") == [
        "a.yaml:3:13: unknown kind 'dummyy'; did you mean 'dummy'?"
    ]


def test_aliases_that_multiply_are_stopped() -> None:
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert any("the aliases make more than 2,000,000 values" in problem for problem in told("\n".join(laughs)))


def nested(levels: int) -> str:
    """An anchor, and an alias of it in a list in the same number of lists, as deep as that."""
    return f"a: &a {'[' * levels}1{']' * levels}\nb: {'[' * levels}*a{']' * levels}\n"


def test_levels_of_an_alias_are_those_of_what_it_stands_for() -> None:
    assert "a.yaml:2:29: over 50 levels deep" in told(nested(25))
    assert not any("levels deep" in problem for problem in told(nested(24)))


def test_aliases_of_aliases_are_not_walked_without_end() -> None:
    chain = ["x:"]
    chain += [f"  a{n}: &a{n} {'[' * 45}{f'*a{n - 1}' if n else 1}{']' * 45}" for n in range(30)]
    chain += ["links:", "  d1: {kind: dummy, altnames: *a29}"]
    assert told("\n".join(chain)) == ["a.yaml:3:56: over 50 levels deep"]


def test_places_are_those_of_the_text() -> None:
    text = 'a:\n  - b: one\n    c: ["two", three]\n'
    places = [unpack(scalar.at)[1:] for scalar in scalars(parse_node(text, 0, report_on(text)))]
    assert places == [(2, 8), (3, 9), (3, 16)]


WORDS = st.one_of(
    st.sampled_from(["a", "b-[1-2]", "swp1.{v}", "022", "no", "~", "10.0.0.1/24", "::1", "x y", "a#b", "-1", "02:00"]),
    st.text(alphabet="ab:#-?,[]{}'\"&*!|>%@` .0", max_size=8),
)
FLOW = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(WORDS, inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=6,
)
LINES = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["", "- ", "- "]), WORDS, st.sampled_from([": ", ":", "", " : "]), FLOW
    ),
    max_size=8,
).map(lambda rows: "".join(f"{'  ' * depth}{dash}{key}{colon}{value}\n" for depth, dash, key, colon, value in rows))


def places(node: Node | None) -> list[int]:
    """Where the scalars are; the complete reader puts an empty one elsewhere."""
    return [scalar.at for scalar in scalars(node) if scalar.text]


@given(st.one_of(LINES, st.text(alphabet="ab:-[]{}'\"#?, \n", max_size=60)))
@settings(max_examples=300)
def test_both_readers_agree_on_whatever_the_quick_one_takes(text: str) -> None:
    quick_report, report = report_on(text), report_on(text)
    try:
        quick = BlockParser(text, 0, quick_report).parse()
    except UncommonError:
        return
    complete = parse_events(text, 0, report)
    assert plain(quick) == plain(complete)
    assert places(quick) == places(complete)
    assert quick_report.problems() == report.problems()


@given(st.text(max_size=80))
def test_any_text_is_read_or_reported(text: str) -> None:
    report = report_on(text)
    if parse_node(text, 0, report) is None and text.strip():
        assert all(problem.line >= 1 and problem.column >= 1 for problem in report.problems())
