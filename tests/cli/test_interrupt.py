# SPDX-License-Identifier: GPL-2.0-or-later
"""Ctrl-C and its like while the command itself makes a change, with no daemon that would end what is left of it."""

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.cli import apply
from netgroupd.cli.main import main
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.service.answers import Answers


class Host(FakeKernel):
    """Its user asks for the end again and again: once a link is there, or while what was ``refused`` is undone."""

    def __init__(self, asking: signal.Signals, refused: str = "") -> None:
        super().__init__([Object("link", ("lo",), {"up": True, "mtu": 1500})], refuse=self._refuse, between=self._press)
        self._asking = asking
        self._refused = refused
        self._waits = 1000 if refused else 0

    def _refuse(self, step: AnyStep) -> int:
        if isinstance(step, Step) and step.op is Op.CREATE and step.object.name == self._refused:
            self._waits = 1  # for the end of this change
            return errno.ENOMEM
        return 0

    def _press(self) -> None:
        self._waits -= 1
        if self._waits < 0 and len(self.state.of("link")) > 1:
            os.kill(os.getpid(), self._asking)


@pytest.fixture(autouse=True)
def _as_from_a_terminal() -> Iterator[None]:
    """Who runs in the background is started without interrupts, and under nohup without hangups."""
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {each: signal.signal(each, handler) for each, handler in usual.items()}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("asking", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("refused", "status", "told"),
    [
        pytest.param("", 130, "interrupted, and what was there before is back\n", id="while_it_is_made"),
        pytest.param("br9", 1, "create link br9: Cannot allocate memory\n", id="while_it_is_undone"),
    ],
)
def test_what_was_there_is_put_back_however_often_it_is_interrupted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    refused: str,
    status: int,
    told: str,
    asking: signal.Signals,
) -> None:
    (tmp_path / "a.yaml").write_text("links:\n" + "".join(f"  br{number}: {{kind: bridge}}\n" for number in range(10)))
    host = Host(asking, refused)
    engine = Engine(Paths((tmp_path,), tmp_path / "state", tmp_path / "names"), connect=lambda _netns: host)
    monkeypatch.setattr(apply, "keeper", lambda *_: Answers(engine))
    assert main(["apply"]) == status
    assert capsys.readouterr().err.endswith(told)
    assert list(host.state.of("link")) == [("lo",)]
    assert not (tmp_path / "state/journal").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
