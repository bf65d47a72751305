# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command changes itself is in the system's log, as what the daemon changes is."""

import os
import syslog
from pathlib import Path
from types import SimpleNamespace

import pytest

from netgroupd.cli import log
from netgroupd.cli.here import Here
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.errors import ConfigError, KernelError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """What is in the log."""
    entries: list[tuple[int, str]] = []

    def keep(priority: int, text: str) -> None:
        entries.append((priority, text))

    monkeypatch.setattr(log, "syslog", SimpleNamespace(openlog=lambda *_: None, syslog=keep, LOG_PID=0, LOG_DAEMON=0))
    return entries


def _here(directory: Path, kernel: FakeKernel, netns: str | None = None) -> Here:
    (directory / "all.yaml").write_text("links: {d0: {kind: dummy}}")
    paths = Paths((directory,), directory / "state", directory / "names")
    return Here(Engine(paths, netns=netns, connect=lambda _netns: kernel))


def test_each_change_is_logged_with_its_end(tmp_path: Path, logged: list[tuple[int, str]]) -> None:
    here = _here(tmp_path, FakeKernel())
    here.apply({"confirm": 60})
    here.confirm()
    here.rollback({"generation": 0})
    assert logged[0] == (
        syslog.LOG_INFO,
        "apply: 1 to create; 1 message, generation 1; it is put back in 60 s unless it is confirmed",
    )
    assert logged[1] == (syslog.LOG_INFO, "confirm: generation 1 is kept")
    assert [priority for priority, _ in logged[2:]] == [syslog.LOG_WARNING, syslog.LOG_INFO]
    assert logged[-1][1].endswith("generation 2, back to generation 0")


def test_change_that_fails_is_logged_with_why(tmp_path: Path, logged: list[tuple[int, str]]) -> None:
    here = _here(tmp_path, FakeKernel([Object("link", ("lo",), {"up": True})], refuse=lambda _step: 12))
    with pytest.raises(KernelError) as refused:
        here.apply({})
    (tmp_path / "all.yaml").write_text("links: {d0: {kind: dumm}}")
    with pytest.raises(ConfigError) as wrong:
        here.apply({})
    assert logged == [(syslog.LOG_ERR, f"apply: {error.value}") for error in (refused, wrong)]


@pytest.mark.parametrize(("user", "number", "told"), [(1000, 1, True), (1000, 12, False), (0, 1, False)])
def test_who_may_not_change_the_network_is_told_who_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: list[tuple[int, str]], user: int, number: int, told: bool
) -> None:
    here = _here(tmp_path, FakeKernel(refuse=lambda _step: number))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(KernelError) as refused:
        here.apply({})
    assert ("only root may change the network" in str(refused.value)) == told
    assert ("only root may change the network" in logged[0][1]) == told


def test_interrupt_is_logged_with_what_became_of_the_change(tmp_path: Path, logged: list[tuple[int, str]]) -> None:
    def press() -> None:
        kernel.between = lambda: None
        raise KeyboardInterrupt

    kernel = FakeKernel(between=press)
    with pytest.raises(KeyboardInterrupt):
        _here(tmp_path, kernel).apply({})
    assert logged == [(syslog.LOG_ERR, "apply: interrupted, and what was there before is back")]


def test_text_of_any_bytes_is_logged() -> None:
    log.log(syslog.LOG_DEBUG, "a\udcff\0b")
