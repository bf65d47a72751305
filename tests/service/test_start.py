# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``netgroupd`` does with its command line."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from gi.repository import GLib

from netgroupd.service import daemon
from netgroupd.service.changes import Changes
from netgroupd.service.client import running
from netgroupd.service.daemon import Daemon
from netgroupd.service.drift import Drift
from tests.service.conftest import PrivateBus
from tests.service.fake import FakeEngine


def _refused(_thread: Thread) -> None:
    raise RuntimeError("no thread")


@pytest.mark.parametrize(
    ("arguments", "mark"),
    [
        ([], "/run/netgroup/configured"),
        (["--netns", "blue"], "/run/netgroup/netns/blue/configured-0"),
        (["--netns", "/run/netns/blue"], "/run/netgroup/netns/blue/configured-0"),
    ],
)
def test_daemon_of_another_namespace_has_its_own_mark_of_this_boot(
    bus: PrivateBus, arguments: list[str], mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = []

    def run(served: Daemon) -> int:
        marks.append(served._configured_mark)
        return 0

    monkeypatch.setattr(Daemon, "run", run)
    monkeypatch.setattr(daemon, "start_logging", lambda: None)
    assert daemon.main(arguments) == 0
    assert marks == [Path(mark)]


@pytest.mark.parametrize(
    ("arguments", "on_bus"),
    [pytest.param([], True, id="of_the_host"), pytest.param(["--netns", "blue"], False, id="of_another_namespace")],
)
def test_name_on_the_bus_stands_for_the_daemon_of_the_host(
    bus: PrivateBus, tmp_path: Path, arguments: list[str], on_bus: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = []

    def recover(served: Changes, then: Callable[[str], None]) -> None:
        answered.append(running())
        GLib.timeout_add(10, served._audience.stop)  # type: ignore[attr-defined]

    monkeypatch.setattr(daemon, "_RUNTIME", tmp_path)
    monkeypatch.setattr(daemon, "start_logging", lambda: None)
    monkeypatch.setattr(Changes, "recover", recover)
    daemon.main(arguments)
    assert answered == [on_bus]


def test_daemon_that_may_have_no_threads_says_so(
    bus: PrivateBus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(daemon, "start_logging", lambda: None)
    monkeypatch.setattr("threading.Thread.start", _refused)
    assert daemon.main([]) == 1
    assert [record.getMessage() for record in caplog.records] == ["the system lacks what this needs: no thread"]


def test_daemon_that_may_not_have_the_last_thread_goes_on_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = list[str]()
    drift = Drift(FakeEngine(), bool, lambda _: None, told.append)
    monkeypatch.setattr("threading.Thread.start", _refused)
    drift.start(configured=False)
    assert told == [caplog.records[-1].getMessage()] == ["cannot look for drift: no thread"]


def test_daemon_that_cannot_start_says_why(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(daemon, "_RUNTIME", tmp_path / "file/run")  # as /run is for who is not root
    monkeypatch.setattr(daemon, "start_logging", lambda: None)
    assert daemon.main([]) == 1
    assert caplog.messages == [f"the system lacks what this needs: Not a directory ({tmp_path}/file/run)"]
