# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever a template says: text whose every line has an origin, or problems that each have a place."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netgroupd.config.facts import Facts
from netgroupd.config.render import Limits, Rendered, render
from netgroupd.config.sources import Source, Trust
from netgroupd.errors import Problem

TRUST = Trust.of_user(os.getuid(), os.getgid())
LIMITS = Limits(cpu_s=5, wall_s=60, memory=256 << 20, output=1 << 20)
_BATCH = 40  # templates to one worker: starting it is what costs

_EXPRESSION = st.sampled_from(
    [
        "v",
        "w",
        "host.name",
        "1/0",
        "names('swp1-6')",
        "numbers('5-1')",
        "fail('x')",
        "undefined",
        "[1",
        "{}",
        "'a'",
        "mac('02:00:00:00:00:00',v)",
        "address('10.0.0.1',v)",
        "(lambda:0)()",
        "caller.body()",
        "self.d()",
        "d()",
        "range(3)",
        "...",
        "v:04",
        "'}'",
        '"${v}"',
        "None",
    ]
)
_PIECE = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.sampled_from(["\n", "  ", "a: ", "\\\n", "%", "##", "<%", "%>", "${", "}", "</%", "$", "\r\n", "\t"]),
    _EXPRESSION.map("${{{0}}}".format),
    st.sampled_from(
        [
            "\n% for v in range(2):\n",
            "\n% endfor\n",
            "\n% if v:\n",
            "\n% else:\n",
            "\n% endif\n",
            "\n% while 0:\n",
            "\n% endwhile\n",
            "\n% try:\n",
            "\n% except:\n",
            "\n% endtry\n",
            "\n%% x\n",
            "\n## y\n",
            "\n% break\n",
        ]
    ),
    st.sampled_from(
        [
            "<%def name='d()'>",
            "</%def>",
            "<%block>",
            "</%block>",
            "<%text>",
            "</%text>",
            "<%doc>",
            "</%doc>",
            "<%include file='x.mako'/>",
            "<%call expr='d()'>",
            "</%call>",
            "<%page args='q=1'/>",
            "<% v = 1 %>",
            "<%! import os %>",
            "<%\nraise ValueError\n%>",
            "<%namespace name='n' file='x'/>",
            "<% return %>",
            "<%%>",
        ]
    ),
)
_TEMPLATE = st.lists(_PIECE, max_size=12).map("".join)


def _place_is_real(problem: Problem, sources: dict[str, Source]) -> bool:
    lines = sources[problem.file].text.split("\n")
    return 1 <= problem.line <= len(lines) and problem.column >= 1 and bool(problem.message)


def _origins_are_real(one: Rendered) -> bool:
    last = one.source.text.count("\n") + 1
    origins = [one.lines.origin(number) for number in range(1, one.text.count("\n") + 2)]
    return all(file == one.source.path and 1 <= line <= last for file, line in origins)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(_TEMPLATE, min_size=_BATCH, max_size=_BATCH))
def test_any_template_gives_text_or_problems_with_a_place(templates: list[str]) -> None:
    sources = {
        f"/t/{place}.mako": Source(f"/t/{place}.mako", f"{place}.mako", text) for place, text in enumerate(templates)
    }
    rendered, problems = render(list(sources.values()), facts=Facts, templates=[], limits=LIMITS, trust=TRUST)
    assert {one.source.path for one in rendered} | {problem.file for problem in problems} == set(sources)
    assert {one.source.path for one in rendered}.isdisjoint(problem.file for problem in problems)
    assert [problem for problem in problems if not _place_is_real(problem, sources)] == []
    assert [one for one in rendered if not _origins_are_real(one)] == []


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.lists(st.sampled_from(["a", " b", "\n", "c\n", "\n\n", "  "]), max_size=12), min_size=1, max_size=_BATCH
    )
)
def test_text_without_anything_to_compute_is_its_own_map(texts: list[list[str]]) -> None:
    sources = [Source(f"/t/{place}.mako", f"{place}.mako", "".join(text)) for place, text in enumerate(texts)]
    rendered, problems = render(sources, facts=Facts, templates=[], limits=LIMITS, trust=TRUST)
    assert problems == ()
    for one in rendered:
        assert one.text == one.source.text
        lines = one.text.count("\n") + 1
        got = [one.lines.origin(number)[1] for number in range(1, lines + 1)]
        # An empty last line has nothing in it that could come from anywhere.
        assert got[:-1] == list(range(1, lines))


@pytest.mark.parametrize("depth", [50, 5000])
def test_deep_nesting_is_no_crash(depth: int, tmp_path: Path) -> None:
    nested = "${" + "(" * depth + "1" + ")" * depth + "}"
    loops = "".join(f"{'%'} for v{level} in (1,):\n" for level in range(depth)) + "x\n" + "% endfor\n" * depth
    for text in (nested, loops):
        source = Source(str(tmp_path / "a.mako"), "a.mako", text)
        rendered, problems = render([source], facts=Facts, templates=[], limits=LIMITS, trust=TRUST)
        assert len(rendered) + len(problems) == 1
        assert all(problem.line >= 1 for problem in problems)
