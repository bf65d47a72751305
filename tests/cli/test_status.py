# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``netgroupctl status`` prints of an answer."""

import io
from argparse import Namespace

import pytest

from netgroupd.cli import status
from netgroupd.cli.terminal import Terminal

_COUNTS = {"address": 1, "link": 1706, "fdb": 2, "tclass": 2, "bridge_vlan": 1, "rule": 0}
_ANSWER: dict[str, object] = {
    "netns": "",
    "generation": None,
    "pending": None,
    "interrupted": False,
    "differences": "",
    "features": [],
}


class Answers:
    """Who is asked."""

    def status(self) -> dict[str, object]:
        return {**_ANSWER, "owned": _COUNTS}


def test_what_is_owned_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "keeper", lambda _arguments: Answers())
    said = io.StringIO()
    status.run(Namespace(wait_online=None, offline=True, netns=None, config=None), Terminal(said, said))
    assert "owned  1 address, 1,706 links, 2 fdb entries, 2 tc classes, 1 bridge VLAN\n" in said.getvalue()


@pytest.mark.parametrize(
    ("left", "told"),
    [
        pytest.param(59.6, "60 s left", id="in_time"),
        pytest.param(0.0, "its time is up; the daemon or the next apply ends it", id="nobody_has_put_it_back"),
    ],
)
def test_what_is_not_confirmed_yet_is_no_difference(left: float, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(Answers):
        def status(self) -> dict[str, object]:
            waits = {"pending": {"generation": 2, "seconds_left": left}, "differences": "14 to delete; 15 messages"}
            return {**super().status(), **waits}

    monkeypatch.setattr(status, "keeper", lambda _arguments: Waiting())
    said = io.StringIO()
    status.run(Namespace(wait_online=None, offline=True, netns=None, config=None), Terminal(said, said))
    assert "differences" not in said.getvalue()
    assert "   going back  14 to delete; 15 messages\n" in said.getvalue()
    assert f"  unconfirmed  generation 2, {told}\n" in said.getvalue()


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ({}, "a change is being made\n"),  # by a daemon from before an upgrade
        ({"changed_by": "netgroupctl, process 7"}, "a change is being made by netgroupctl, process 7\n"),
    ],
)
def test_change_that_is_being_made_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, who: dict[str, str], told: str
) -> None:
    class Changing(Answers):
        def status(self) -> dict[str, object]:
            return {**super().status(), "changing": True, **who}

    monkeypatch.setattr(status, "keeper", lambda _arguments: Changing())
    said = io.StringIO()
    status.run(Namespace(wait_online=None, offline=True, netns=None, config=None), Terminal(said, said))
    assert f"     changing  {told}" in said.getvalue()
    assert "interrupted" not in said.getvalue()


def test_daemon_says_why_something_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Daemon(Answers):
        def status(self) -> dict[str, object]:
            told = {
                "State": "failed",
                "LastResult": "org.netgroup1.Error.Rejected",
                "Trouble": "the files still ask\nor so",
            }
            return {**super().status(), "daemon": told}

    monkeypatch.setattr(status, "keeper", lambda _arguments: Daemon())
    said = io.StringIO()
    status.run(Namespace(wait_online=None, offline=True, netns=None, config=None), Terminal(said, said))
    told = "failed, last change: failed (Rejected)\n               the files still ask\n               or so\n"
    assert said.getvalue().endswith(told)


def test_daemon_says_what_was_put_back_and_what_that_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    class Daemon(Answers):
        def status(self) -> dict[str, object]:
            told = {"State": "idle", "LastResult": "generation 2 is rolled back; the files ask for it; edit them"}
            return {**super().status(), "daemon": told}

    monkeypatch.setattr(status, "keeper", lambda _arguments: Daemon())
    said = io.StringIO()
    status.run(Namespace(wait_online=None, offline=True, netns=None, config=None), Terminal(said, said))
    told = "idle, last change: generation 2 is rolled back\n               the files ask for it; edit them\n"
    assert said.getvalue().endswith(told)
