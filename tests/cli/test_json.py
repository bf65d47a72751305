# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command answers in JSON when it is asked to, with the exit status that its help tells."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netgroupd.cli.commands import COMMANDS
from netgroupd.cli.main import main
from netgroupd.engine.engine import Engine
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.plan.step import Op

CONFIG = """\
groups: {tenants: {mtu: 9000}}
links:
  d[1-3]: {kind: dummy, group: tenants, addresses: ["192.0.2.{1}/24"]}
vrfs:
  red: {table: 1001, links: "d[1-3]"}
"""
ANSWERED_BY_THE_DAEMON = {"reload", "watch"}
# With nothing applied, in the order of commands.py; "FILE" is one of ifupdown2.
ASKED = {
    "check": (),
    "render": (),
    "diff": (),
    "history": (),
    "status": (),
    "show": ("--desired",),
    "capture": (),
    "import": ("ifupdown2", "FILE"),
    "estimate": (),
    "graph": (),
    "features": (),
    "completion": ("zsh",),
}
# One after another: "confirm" needs what "apply" leaves, "rehearse" that nothing is left to do.
CHANGES = (
    (("apply",), "generation"),
    (("rehearse",), "verified"),
    (("rollback", "0", "--confirm", "60"), "pending"),
    (("confirm",), "generation"),
)


@pytest.fixture
def host(host: Path) -> Path:
    """A host with a configuration that nobody has applied."""
    (host / "config/all.yaml").write_text(CONFIG)
    (host / "interfaces").write_text("auto eth0\niface eth0 inet dhcp\n")
    return host


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, Any]:
    status = main(["--offline", "--json", *argv])
    said = capsys.readouterr()
    assert said.err == ""
    return status, json.loads(said.out)


def test_every_command_is_here() -> None:
    assert {*ASKED, *(argv[0] for argv, _ in CHANGES), *ANSWERED_BY_THE_DAEMON} == {one.name for one in COMMANDS}


@pytest.mark.parametrize("name", ASKED)
def test_question_is_answered_in_json(name: str, host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(host / "interfaces") if word == "FILE" else word for word in ASKED[name]]
    status, said = answer(capsys, name, *words)
    assert said
    assert status == (2 if name == "diff" else 0)


def test_changes_are_told_in_json(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, key in CHANGES:
        status, said = answer(capsys, *argv)
        assert (status, key in said) == (0, True), said


@pytest.mark.parametrize("name", ["check", "render", "diff", "apply", "estimate", "rehearse", "graph"])
def test_refusal_is_told_in_json_with_its_line(name: str, host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (host / "config/wrong.mako").write_text("links:\n  d9: ${missing}\n")
    status, said = answer(capsys, name)
    assert status == 1
    assert (said["problems"][0]["line"], said["error"]) == (2, "org.netgroup1.Error.Config")


def test_change_that_could_not_be_put_back_is_told(
    host: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = FakeKernel(refuse=lambda step: 16 * (step.op is Op.DELETE or "192.0.2.3" in str(step)))
    monkeypatch.setattr("netgroupd.engine.engine.Engine", partial(Engine, connect=lambda _netns: kernel))
    status, said = answer(capsys, "apply")
    assert (status, len(said["refusals"])) == (1, 1)
    assert "\nwhat was there before could not be put back either: " in said["message"]
