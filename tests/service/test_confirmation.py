# SPDX-License-Identifier: GPL-2.0-or-later
"""A change that waits to be confirmed, and the end of its wait, whoever or whatever ends it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from gi.repository import GLib

from netgroupd.engine.report import Pending
from netgroupd.errors import JournalError, NetgroupError
from netgroupd.service import changes
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from netgroupd.service.work import in_main_loop
from tests.service.conftest import PrivateBus, serving
from tests.service.fake import FakeEngine
from tests.waiting import PATIENCE_S, eventually


def test_unconfirmed_change_is_undone_at_its_deadline(
    remote: Remote, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, expire = threading.Event(), engine.expire

    def expire_once_seen() -> str | None:
        seen.wait()
        return expire()

    monkeypatch.setattr(engine, "expire", expire_once_seen)
    assert remote.apply({"confirm": 1})["pending"] == {"generation": 2, "seconds_left": 1.0}
    assert remote.properties()["State"] == "unconfirmed"
    seen.set()
    eventually(lambda: engine.expired > 1)  # once at the start, once now
    eventually(lambda: remote.properties()["State"] == "idle")


def test_end_of_the_wait_is_shown_though_it_took_along_what_has_a_name_of_any_bytes(
    remote: Remote, engine: FakeEngine, daemon: Daemon
) -> None:
    remote.apply({"confirm": 3600})
    engine.waits = None
    in_main_loop(lambda: daemon.wait_ended("routes by caf\udce9 are lost"))
    eventually(lambda: remote.properties()["State"] == "idle")
    assert remote.properties()["LastResult"] == "routes by caf\\udce9 are lost"


def test_deadline_that_stays_is_told_once(
    remote: Remote, engine: FakeEngine, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 3600.0

    def pending() -> Pending:
        nonlocal left
        left -= 0.01
        return Pending(2, left)

    monkeypatch.setattr("netgroupd.service.daemon.time", SimpleNamespace(time=lambda: 1e9, monotonic=time.monotonic))
    monkeypatch.setattr(engine, "pending", pending)
    remote.apply({"confirm": 3600})
    shown = remote.properties()["ConfirmBy"]
    in_main_loop(lambda: daemon.wait_ended(""))  # where things stand is looked up once more
    assert remote.properties()["ConfirmBy"] == shown


def test_deadline_is_told_anew_when_the_clock_is_set(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1e9]
    monkeypatch.setattr(
        "netgroupd.service.daemon.time", SimpleNamespace(time=lambda: clock[0], monotonic=time.monotonic)
    )
    monkeypatch.setattr(changes, "_LONGEST_MS", 10)
    remote.apply({"confirm": 3600})
    eventually(lambda: remote.properties()["ConfirmBy"] // 10**6 in (10**9 + 3599, 10**9 + 3600))
    clock[0] = 2e9
    eventually(lambda: remote.properties()["ConfirmBy"] // 10**6 in (2 * 10**9 + 3599, 2 * 10**9 + 3600))


def test_confirmed_change_stays(remote: Remote, engine: FakeEngine) -> None:
    remote.apply({"confirm": 3600})
    engine.broken = True  # nobody can look at the kernel: the answer does not wait for that
    assert remote.confirm() == {"generation": 2}
    assert remote.properties()["ConfirmBy"] == 0
    assert engine.waits is None


def test_change_that_somebody_confirms_too_late_is_told_to_be_undone_as_if_nobody_had_come(
    remote: Remote, engine: FakeEngine
) -> None:
    remote.apply({"confirm": 3600})
    engine.due = 0.0
    with pytest.raises(NetgroupError, match="no change waits"):
        remote.confirm()
    assert "was not confirmed in time" in remote.properties()["LastResult"]
    assert remote.properties()["State"] == "idle"


def test_deadline_is_watched_though_the_disk_could_not_be_read_at_first(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unreadable(FakeEngine):
        left = 2

        def recover(self) -> str | None:
            self.left -= 1
            if self.left >= 0:
                raise JournalError("cannot read the journal: Too many open files")
            return None

    monkeypatch.setattr(changes, "_AGAIN_MS", 50)
    engine = Unreadable()
    engine.generation, engine.waits = 1, Pending(1, 0)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/configured").touch()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: engine.expired)
        eventually(lambda: remote.properties()["State"] == "idle")


@contextmanager
def _often_looking(
    bus: PrivateBus, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[FakeEngine, Remote]]:
    """A daemon that is ready, and looks ten times a second whether it is time."""
    monkeypatch.setattr(changes, "_LONGEST_MS", 100)
    engine = FakeEngine()
    with serving(bus, engine, runtime) as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        yield engine, remote


def test_deadline_that_passed_while_the_host_slept_is_kept_when_it_wakes(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _often_looking(bus, tmp_path / "run", monkeypatch) as (engine, remote):
        remote.apply({"confirm": 3600})
        before, pending, looks = engine.expired, engine.pending, list[Pending | None]()

        def looked() -> Pending | None:
            looks.append(pending())
            return looks[-1]

        monkeypatch.setattr(engine, "pending", looked)
        eventually(lambda: len(looks) > 5)
        assert (engine.expired, remote.properties()["State"]) == (before, "unconfirmed")
        engine.waits = Pending(2, 0.05)  # as the clock of the boot has it, which went on
        eventually(lambda: engine.expired > before)
        eventually(lambda: remote.properties()["State"] == "idle")


def test_wait_that_is_ended_without_the_daemon_is_seen(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _often_looking(bus, tmp_path / "run", monkeypatch) as (engine, remote):
        number = remote.apply({"confirm": 3600})["generation"]
        assert remote.properties()["State"] == "unconfirmed"
        engine.waits = None  # by netgroupctl --offline
        eventually(lambda: remote.properties()["State"] == "idle")
        eventually(lambda: remote.properties()["Generation"] == number)


def test_daemon_ends_when_what_was_not_confirmed_is_back(bus: PrivateBus, tmp_path: Path) -> None:
    begun, ended = threading.Event(), threading.Event()

    class Slow(FakeEngine):
        def expire(self) -> str | None:
            if self.waits is None:
                return None
            begun.set()
            time.sleep(1)
            ended.set()
            return super().expire()

    with serving(bus, Slow(), tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        remote.apply({"confirm": 1})
        assert begun.wait(PATIENCE_S)
    assert ended.is_set()


def test_wait_that_another_process_has_begun_is_seen_to_end_by_its_hand(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _often_looking(bus, tmp_path / "run", monkeypatch) as (engine, remote):
        engine.generation, engine.waits = 5, Pending(5, 600.0)
        engine.news.tell()
        eventually(lambda: remote.properties()["State"] == "unconfirmed")
        engine.waits = None  # it was confirmed, of which the kernel tells nothing
        eventually(lambda: remote.properties()["State"] == "idle")
        eventually(lambda: remote.properties()["Generation"] == 5)


class _OfAnother(FakeEngine):
    """Another process is at a change, until it is ``gone``."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = True
        self.gone = threading.Event()

    def changed_by(self) -> str:
        return "netgroupctl, process 7"

    def recover(self) -> str | None:
        self.gone.wait()
        return None

    def expire(self) -> str | None:
        return None


def test_end_of_another_process_that_was_waited_for_is_told(
    bus: PrivateBus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = _OfAnother()
    engine.generation = 4
    engine.gone.set()
    with serving(bus, engine, tmp_path / "run"):
        eventually(lambda: "the change of netgroupctl, process 7 has ended; generation 4 is in effect" in caplog.text)


def test_daemon_that_waits_for_the_change_of_another_process_says_so_and_can_be_stopped(
    bus: PrivateBus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = _OfAnother()
    daemon = Daemon(lambda _: engine, tmp_path / "run")
    thread = threading.Thread(target=daemon.run, daemon=True)
    thread.start()
    eventually(lambda: "waiting for the change of netgroupctl, process 7 to end" in caplog.text)
    GLib.idle_add(daemon.stop)
    thread.join(PATIENCE_S)
    stopped = not thread.is_alive()
    engine.gone.set()
    assert stopped


def test_daemon_that_is_stopped_while_it_finds_out_whose_change_runs_does_not_wait_for_it(
    bus: PrivateBus, tmp_path: Path
) -> None:
    asked, stopping = threading.Event(), threading.Event()

    class Found(_OfAnother):
        def changed_by(self) -> str:
            asked.set()
            stopping.wait()
            return super().changed_by()

    engine = Found()
    daemon = Daemon(lambda _: engine, tmp_path / "run")
    thread = threading.Thread(target=daemon.run, daemon=True)
    thread.start()
    assert asked.wait(PATIENCE_S)

    def stop() -> None:
        daemon.stop()
        stopping.set()

    in_main_loop(stop)
    thread.join(PATIENCE_S)
    stopped = not thread.is_alive()
    engine.gone.set()
    assert stopped
