# SPDX-License-Identifier: GPL-2.0-or-later
"""The history says how long a generation took, and of one that did not come to its end nothing about that."""

from pathlib import Path

import pytest

from netgroupd.cli.main import main
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.engine.record.generations import APPLIED, FAILED, NOTHING, Generations


def test_time_of_what_failed_is_not_said_to_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = Paths((tmp_path,), tmp_path / "state", tmp_path / "group")
    monkeypatch.setattr("netgroupd.engine.paths.SYSTEM", paths)
    kept = Generations(Engine(paths).paths.state)
    kept.finish(kept.open(NOTHING, 0.0), APPLIED, 1.5, current=1)
    kept.finish(kept.open(NOTHING, 0.0), FAILED, current=1)
    assert main(["--offline", "history"]) == 0
    took = [line.split()[3:] for line in capsys.readouterr().out.splitlines()[1:]]
    assert took == [["failed", "-"], ["applied", "1.50", "s"]]
