# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rehearsal takes into the guest, and what it says of what happens there."""

import io
import json
from argparse import Namespace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

import pytest

from netgroupd.cli import rehearse
from netgroupd.cli.terminal import Terminal
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.lab.boot import Image, Way


class Guest:
    """A machine in which every command does what it should, and memory is freed meanwhile."""

    taken: ClassVar[dict[str, str]] = {}
    answer: ClassVar[dict[str, object]] = {"summary": "1 to create; 1 message", "took_s": 0.1, "differs": False}

    def __init__(self, *_: object, **__: object) -> None:
        self._left_kib = iter((1000, 1528))
        self.taken.clear()

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def run(self, argv: list[str], **_: object) -> Namespace:
        answer = Guest.answer if "/run/rehearsal/wanted" in argv else {}
        return Namespace(status=0, stdout=json.dumps(answer), stderr="")

    def put(self, path: str, content: bytes) -> None:
        self.taken[path] = content.decode()

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


TEMPLATE = """\
<% site = variables("vars/site.yaml") %>
links:
% for name in site:
  ${name}: {kind: bridge}
% endfor
"""


def test_templates_run_here_with_all_that_is_beside_them(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "vars").mkdir()
    (tmp_path / "vars/site.yaml").write_text("[br1, br2]\n")
    (tmp_path / "b.mako").write_text(TEMPLATE)
    (tmp_path / "c.yaml").symlink_to("/dev/null")
    status = rehearse.run(Namespace(memory=None, kernel=None), Terminal(io.StringIO(), io.StringIO()))
    assert status == 0
    given = [text for path, text in Guest.taken.items() if path.startswith("/run/rehearsal/wanted/")]
    assert given == [
        "links:\n  br0: {kind: bridge}\n",
        "\nlinks:\n  br1: {kind: bridge}\n  br2: {kind: bridge}\n",
        "\n",
    ]


def test_refusal_is_told_with_the_line_of_the_template(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.mako").write_text("links:\n% for number in range(9):\n  br${number}: {kind: bridge}\n% endfor\n")
    refusal = "/run/rehearsal/wanted/0001.yaml:5: + bridge br3: no"
    monkeypatch.setattr(Guest, "answer", {"error": "", "message": refusal})
    said = io.StringIO()
    status = rehearse.run(Namespace(memory=None, kernel=None), Terminal(io.StringIO(), said))
    assert status == 1
    assert said.getvalue().endswith(f"the copy refused it:\n{tmp_path}/b.mako:3: + bridge br3: no\n")
