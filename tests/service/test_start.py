# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``netgroupd`` does with its command line."""

from pathlib import Path

import pytest

from netgroupd.service import daemon
from netgroupd.service.daemon import Daemon
from tests.service.conftest import PrivateBus


@pytest.mark.parametrize(
    ("arguments", "runtime"),
    [
        ([], "/run/netgroup"),
        (["--netns", "blue"], "/run/netgroup/netns/blue"),
        (["--netns", "/run/netns/blue"], "/run/netgroup/netns/blue"),
    ],
)
def test_daemon_of_another_namespace_has_its_own_mark_of_this_boot(
    bus: PrivateBus, arguments: list[str], runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = []

    def run(served: Daemon) -> int:
        marks.append(served._configured_mark)
        return 0

    monkeypatch.setattr(Daemon, "run", run)
    monkeypatch.setattr(daemon, "start_logging", lambda: None)
    assert daemon.main(arguments) == 0
    assert marks == [Path(runtime) / "configured"]


def test_daemon_that_cannot_start_says_why(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(daemon, "_RUNTIME", tmp_path / "file/run")  # as /run is for who is not root
    monkeypatch.setattr(daemon, "start_logging", lambda: None)
    assert daemon.main([]) == 1
    assert caplog.messages == [f"the system lacks what this needs: Not a directory ({tmp_path}/file/run)"]
