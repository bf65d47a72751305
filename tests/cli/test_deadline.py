# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the daemon: an unconfirmed change ends in time, whatever becomes of the command that made it."""

import ctypes
import os
import signal
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from netgroupd.cli import deadline
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.kernel.fake.kernel import FakeKernel
from tests.apart import apart
from tests.waiting import eventually

LONG_S = 30.0
_DAY_S = 86400.0
_PR_SET_CHILD_SUBREAPER = 36
HERE: Any = SimpleNamespace(keeps_deadlines=False)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float, FakeKernel], Engine]:
    """Run `apply --confirm` in a process that dies of it; what is left to look at."""
    config = tmp_path / "config"
    config.mkdir()
    (config / "all.yaml").write_text("links: {'d[1-9]': {kind: dummy}}")
    paths = Paths((config,), tmp_path / "state", tmp_path / "group")

    def run(confirm_s: float, kernel: FakeKernel) -> Engine:
        monkeypatch.setattr(deadline, "engine_of", lambda _: Engine(paths, connect=lambda _netns: FakeKernel()))
        monkeypatch.setattr(deadline, "_OUTSIDE_OF_LOGINS", tmp_path / "procs")
        child = os.fork()
        if child == 0:
            try:
                deadline.watch_deadline(HERE, Namespace(confirm=confirm_s))
                Engine(paths, connect=lambda _netns: kernel).apply(confirm_s=confirm_s)
            finally:
                die()
        os.waitpid(child, 0)
        return Engine(paths, connect=lambda _netns: FakeKernel())

    return run


def result(engine: Engine) -> str:
    """How the change ended."""
    eventually(lambda: engine.history()[0].result not in ("running", "unconfirmed"))
    return engine.history()[0].result


def test_change_is_undone_at_its_deadline_though_the_command_was_killed(
    command: Callable[[float, FakeKernel], Engine],
) -> None:
    assert result(command(0.1, FakeKernel())) == "rolled back"


def test_change_that_the_command_died_of_half_way_is_undone_before_its_deadline(
    command: Callable[[float, FakeKernel], Engine],
) -> None:
    assert result(command(LONG_S, FakeKernel(between=die))) == "rolled back"


def test_command_leaves_a_change_alone_that_is_still_to_be_confirmed(
    command: Callable[[float, FakeKernel], Engine],
) -> None:
    def left_alone() -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what it leaves behind is this process's to wait for
        engine = command(_DAY_S, FakeKernel())
        assert engine.pending() is not None
        assert engine.confirm() == 1
        assert os.wait()[1] == 0  # whoever waited for the deadline has ended

    apart(left_alone)
