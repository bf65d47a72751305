# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rehearsal says of memory, where the guest has more of it afterwards than before."""

import io
import json
from argparse import Namespace
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from netgroupd.cli import rehearse
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.kernel.fake import FakeKernel
from netgroupd.lab.boot import Image, Way


class Guest:
    """A machine in which every command does what it should, and memory is freed meanwhile."""

    def __init__(self, *_: object, **__: object) -> None:
        self._left_kib = iter((1000, 1528))

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def run(self, argv: list[str], **_: object) -> Namespace:
        answer = {"summary": "1 to create; 1 message", "took_s": 0.1, "differs": False}
        return Namespace(status=0, stdout=json.dumps(answer), stderr="")

    def put(self, *_: object) -> None:
        pass

    def get(self, _: str) -> bytes:
        return b"MemAvailable:   %d kB\n" % next(self._left_kib)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    (tmp_path / "a.yaml").write_text("links:\n  br0: {kind: bridge}\n")
    made = Engine(Paths(config=(tmp_path,), state=tmp_path / "state"), connect=lambda _: FakeKernel([]))
    replaced: dict[str, Any] = {
        "engine_of": lambda _: made,
        "image_for": lambda *_: Image(tmp_path, Way.EMULATED),
        "Machine": Guest,
    }
    for name, value in replaced.items():
        monkeypatch.setattr(rehearse, name, value)
    return made


def test_memory_is_never_less_than_nothing(engine: Engine) -> None:
    said = io.StringIO()
    status = rehearse.run(Namespace(memory=None, kernel=None), Terminal(said, io.StringIO(), as_json=False))
    assert status == 0
    assert "kernel memory: too little to be measured" in said.getvalue()
