# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of commands share."""

from functools import partial
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.files import Files
from netgroupd.engine.paths import Paths
from netgroupd.kernel.fake.kernel import FakeKernel


@pytest.fixture
def kernel() -> FakeKernel:
    """The kernel of the host."""
    return FakeKernel()


@pytest.fixture
def host(tmp_path: Path, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host whose kernel is a fake, with an empty ``config``."""
    config = tmp_path / "config"
    config.mkdir(mode=0o755)
    paths = Paths((config,), tmp_path / "state", tmp_path / "group")
    monkeypatch.setattr("netgroupd.engine.paths.SYSTEM", paths)
    monkeypatch.setattr("netgroupd.engine.engine.Engine", partial(Engine, connect=lambda _netns: kernel))
    monkeypatch.setattr("netgroupd.engine.files.Files", partial(Files, connect=lambda _netns: kernel))
    return tmp_path
