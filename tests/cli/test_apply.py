# SPDX-License-Identifier: GPL-2.0-or-later
"""How a change is told when the kernel refused rules that the host can do without."""

import errno
import io
import json
import socket
from argparse import Namespace
from contextlib import closing
from types import ModuleType
from typing import cast

import pytest

from netgroupd.cli import apply, diff, rollback
from netgroupd.cli.apply import report
from netgroupd.cli.target import engine_of
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.engine import Engine
from netgroupd.engine.login import Login
from netgroupd.engine.report import Result
from netgroupd.engine.session import Session
from netgroupd.errors import Refusal
from netgroupd.plan.step import Plan
from netgroupd.service.answers import Answers
from netgroupd.service.details import Answer, Options, Progress

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


@pytest.mark.parametrize(
    ("netns", "command"), [(None, "netgroupctl confirm"), ("blue", "netgroupctl --netns blue confirm")]
)
def test_command_that_keeps_a_change_is_told_as_it_is_to_be_typed(netns: str | None, command: str) -> None:
    said = io.StringIO()
    pending = {"generation": 1, "seconds_left": 60.0}
    report({**_answer(0), "pending": pending}, Terminal(said, io.StringIO()), netns)
    assert said.getvalue().endswith(f"it is put back in 60 s unless you run: {command}\n")


def test_undoing_the_first_change_of_all_is_told_as_what_it_is() -> None:
    screen = io.StringIO()
    answer = {**_answer(0), "generation": 0, "summary": "3 to delete; 1 message"}
    report(answer, Terminal(screen, io.StringIO()))
    assert screen.getvalue() == "3 to delete; 1 message in 0.50 s, generation 0\n"


class Asked:
    """In place of the daemon: it keeps what it was asked."""

    keeps_deadlines = True

    def __init__(self) -> None:
        self.options: Options = {}

    def apply(self, options: Options, progress: Progress | None = None) -> Answer:
        del progress
        self.options = options
        return _answer(0)

    rollback = apply

    def diff(self, options: Options) -> Answer:
        self.options = options
        return {"differs": False, "text": "no differences"}


@pytest.mark.parametrize("verb", [apply, rollback], ids=["apply", "rollback"])
def test_change_is_asked_for_with_the_connection_that_its_user_came_by(
    monkeypatch: pytest.MonkeyPatch, verb: ModuleType
) -> None:
    asked, said = Asked(), io.StringIO()
    monkeypatch.setattr(verb, "keeper", lambda *_: asked)
    arguments = Namespace(confirm=None, allow=[], generation=None, netns=None)
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        socket.create_connection(server.getsockname()) as client,
        closing(server.accept()[0]),
    ):
        connection = " ".join(str(end) for end in (*client.getsockname(), *client.getpeername()))
        monkeypatch.setenv("SSH_CONNECTION", connection)
        verb.run(arguments, Terminal(io.StringIO(), said))
    assert (asked.options["session"], said.getvalue()) == (connection, "")
    verb.run(arguments, Terminal(io.StringIO(), said))
    assert asked.options["session"] is None
    assert "from 127.0.0.1 that is not there: how you are connected is not known" in said.getvalue()


def test_diff_is_asked_for_with_that_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, connections = Asked(), list[str]()

    def reader(_arguments: Namespace, connection: str) -> Asked:
        connections.append(connection)
        return asked

    monkeypatch.setattr(diff, "reader", reader)
    monkeypatch.setattr(diff, "login_of", lambda *_: Login("10.9.0.7 40000 10.0.0.5 22"))
    diff.run(Namespace(), Terminal(io.StringIO(), io.StringIO()))
    assert [asked.options["session"]] == connections == ["10.9.0.7 40000 10.0.0.5 22"]


def test_engine_of_this_process_knows_the_session_of_the_connection() -> None:
    engine = engine_of(Namespace(config=None, netns=None), "10.9.0.7 40000 10.0.0.5 22")
    assert engine.session == Session("10.9.0.7", "10.0.0.5", 40000, 22)


def test_who_sits_at_the_console_is_told_nothing_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = Asked(), io.StringIO()
    monkeypatch.setattr(apply, "keeper", lambda *_: asked)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    apply.run(Namespace(confirm=None, allow=[], netns=None), Terminal(io.StringIO(), said))
    assert (asked.options["session"], said.getvalue()) == (None, "")


def test_generation_that_was_gone_back_to_is_named() -> None:
    said = io.StringIO()
    report({**_answer(0), "generation": 5, "back_to": 3}, Terminal(said, io.StringIO()))
    assert said.getvalue().endswith(" s, generation 5, back to generation 3\n")
