# SPDX-License-Identifier: GPL-2.0-or-later
"""How a change is told when the kernel refused rules that the host can do without."""

import errno
import io
import json
from typing import cast

import pytest

from netgroupd.cli.apply import report
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.engine import Engine
from netgroupd.engine.report import Result
from netgroupd.errors import Refusal
from netgroupd.plan.step import Plan
from netgroupd.service.answers import Answers
from netgroupd.service.details import Answer

REFUSAL = Refusal("create filter v0 ingress", errno.ENOSPC, "No room in hardware", "rules.yaml:7")


class Done:
    """In place of an engine: a change of which some rules were refused."""

    def __init__(self, refused: int) -> None:
        self._refused = refused

    def apply(self, **_asked: object) -> Result:
        lines = (f"rules.yaml:{line}" for line in range(7, 7 + self._refused))
        return Result(Plan(), 1, 0.5, None, tuple(REFUSAL._replace(origin=line) for line in lines))


def _answer(refused: int) -> Answer:
    return Answers(cast(Engine, Done(refused))).apply({})


@pytest.mark.parametrize(("refused", "status"), [(0, 0), (1, 3)])
@pytest.mark.parametrize("as_json", [False, True])
def test_status_tells_that_rules_were_left_out(refused: int, status: int, as_json: bool) -> None:
    assert report(_answer(refused), Terminal(io.StringIO(), io.StringIO(), as_json=as_json)) == status


def test_rule_that_was_left_out_is_told_by_its_line_and_the_kernels_sentence() -> None:
    said = io.StringIO()
    report(_answer(1), Terminal(io.StringIO(), said, as_json=False))
    assert "! rules.yaml:7: create filter v0 ingress: No room in hardware; left out, being optional" in said.getvalue()


def test_of_many_rules_that_were_left_out_the_first_are_told() -> None:
    answer = json.loads(json.dumps(_answer(1025)))
    assert (answer["refused"], len(answer["warnings"])) == (1025, 21)
    assert answer["warnings"][-1] == "1,005 more lines of optional rules were refused"


def test_undoing_the_first_change_of_all_is_told_as_what_it_is() -> None:
    screen = io.StringIO()
    answer = {**_answer(0), "generation": 0, "summary": "3 to delete; 1 message"}
    report(answer, Terminal(screen, io.StringIO()))
    assert screen.getvalue() == "3 to delete; 1 message in 0.50 s, generation 0\n"
