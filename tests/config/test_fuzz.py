# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever a file says: objects or problems with a place, never a traceback, never more than the limit.

``FUZZ=N`` in the environment multiplies the number of examples.
"""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netgroupd.config.merge import SECTIONS
from netgroupd.config.ranges import LIMIT
from netgroupd.config.sections.groups import ROWS as GROUP_ROWS
from netgroupd.config.sections.links import NESTED, rows_of
from netgroupd.config.sections.table import HOOKS, LISTS, UNDER_LINK
from netgroupd.config.sections.tc import SECTIONS as HOOK_NAMES
from netgroupd.errors import ConfigError
from netgroupd.model.kinds import KINDS
from tests.config.reading import desired

EXAMPLES = int(os.environ.get("FUZZ", "1")) * 150
TOP = Path(__file__).parents[2]
SEEDS = [path.read_text() for path in sorted((TOP / "tests" / "golden").glob("*/template.yaml"))]

NAMES = st.sampled_from(
    [
        "lo",
        "swp1",
        "swp[1-3]",
        "br-[v=1-3]",
        "swp[1-2].{v}",
        "swp1.[5-6]",
        "d[01-03]",
        "x" * 16,
        "a/b",
        "[",
        "{v}",
        "red",
    ]
)
WORDS = st.one_of(
    NAMES,
    st.sampled_from([*KINDS, "yes", "no", "~", "0", "-1", "4095", "1e3", "022", "99999999999999999999", "default"]),
    st.sampled_from(
        ["10.0.0.[1-3]/24", "10.0.0.{v}/32", "{10.0.0.0 + v}", "2001:db8::/64", "02:00:00:00:00:0{v}", "1:10"]
    ),
    st.sampled_from(["{1//(v-1)}", "{v:04}", "[1-2000]", "[1-9999999]", "[a=1-2]{a}", "{9}", "[v=1-2]"]),
    st.sampled_from(["[[x]]", "{{v}} [1-2]", "]]", "100mbit", "{v}kbit", "15k", "10ms", "0.3%"]),
    st.text(max_size=6),
)
KEYS = st.one_of(
    st.sampled_from(sorted({name for kind in (*KINDS, "") for name in rows_of(kind)} | NESTED | set(GROUP_ROWS))),
    st.sampled_from(sorted({name for part in (*LISTS, *UNDER_LINK, *HOOKS) for name in part.form.rows})),
    st.sampled_from([*HOOK_NAMES, *SECTIONS, "netns"]),
    WORDS,
)


def quoted(word: str) -> str:
    """A word as YAML takes any."""
    return "'" + word.replace("'", "''").replace("\n", " ") + "'"


SCALARS = st.one_of(WORDS, WORDS.map(quoted))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(KEYS, inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{quoted(key)}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)
ENTRIES = st.lists(st.tuples(NAMES, VALUES), max_size=3).map(
    lambda pairs: "".join(f"  {quoted(name)}: {value}\n" for name, value in pairs)
)
ITEMS = st.lists(VALUES, max_size=3).map(lambda items: "".join(f"- {item}\n" for item in items))
DOCUMENTS = st.lists(st.tuples(st.sampled_from(SECTIONS), st.one_of(ENTRIES, ITEMS)), max_size=4).map(
    lambda parts: "".join(f"{name}:\n{body}" for name, body in parts)
)


def survives(text: str) -> None:
    """Read a text; every outcome is right but a traceback, a problem without a place, and too much."""
    try:
        found = desired(text, known=("swp1",))
    except ConfigError as error:
        problems = error.problems
        assert any(not problem.warning for problem in problems)
    else:
        problems = found.problems
        assert len(found.state) <= 2 * LIMIT
    lines = text.count("\n") + 1
    for problem in problems:
        assert problem.file == "a.yaml"
        assert 1 <= problem.line <= lines + 1
        assert problem.column >= 1
        assert problem.message
        assert problem.pointed()


@given(DOCUMENTS)
@settings(max_examples=EXAMPLES)
def test_any_values_in_the_sections(text: str) -> None:
    survives(text)


@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 3), WORDS), max_size=4))
@settings(max_examples=EXAMPLES)
def test_any_damage_to_a_good_file(text: str, damages: list[tuple[int, int, str]]) -> None:
    small = text.replace("[0-255].[1-254]", "[0-1].[1-2]")
    for place, length, word in damages:
        at = place % (len(small) + 1)
        small = small[:at] + word + small[at + length :]
    survives(small)


@given(st.text(max_size=200))
@settings(max_examples=EXAMPLES)
def test_any_text_at_all(text: str) -> None:
    survives(text)


BOMBS = [
    pytest.param("links: " + "[" * 100_000, id="flow_without_end"),
    pytest.param("links: " + "{a: " * 100_000, id="mappings_without_end"),
    pytest.param("".join("  " * depth + "a:\n" for depth in range(1000)), id="deep_blocks"),
    pytest.param("links:\n  x" + "[1]" * 100_000 + ": {}\n", id="many_ranges"),
    pytest.param("links:\n  x[" + "1," * 100_000 + "x]: {}\n", id="one_long_range"),
    pytest.param("links:\n  x[v=1-2]: {alias: '" + "{v}" * 100_000 + "'}\n", id="many_references"),
    pytest.param("links:\n  x[v=1-2]: {mtu: '{" + "(v" * 100_000 + "}'}\n", id="deep_expression"),
    pytest.param("links: {a" + " " * 1_000_000 + "b}\n", id="many_blanks"),
    pytest.param("links: '" + "''" * 1_000_000 + "\n", id="many_quotes"),
    pytest.param(
        "groups:\n" + "".join(f"  g{number}: {{members: g{(number + 1) % 2000}}}\n" for number in range(2000)),
        id="ring_of_groups",
    ),
    pytest.param("groups:\n  g[1-70000]: {}\n", id="too_many_groups"),
    pytest.param("links:\n  a: {kind: bridge, ports: " + "1." * 50_000 + "1}\n", id="vlan_of_a_vlan_of_a_vlan"),
]


@pytest.mark.parametrize("text", BOMBS)
def test_what_would_take_for_ever_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        desired(text)


def test_long_chain_of_masters_is_fine() -> None:
    links = "".join(f"  b{number}: {{kind: team, master: b{number + 1}}}\n" for number in range(5000))
    assert len(desired(f"links:\n{links}  b5000: {{kind: bridge}}\n").state) == 5001
