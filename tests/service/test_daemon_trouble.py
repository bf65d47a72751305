# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon where things go wrong: files refused just after boot, a bus that goes, a disk that cannot be read."""

import os
import threading
import time
from pathlib import Path

import pytest
from gi.repository import Gio

from netgroupd.engine.report import Result, Status
from netgroupd.errors import (
    BusyError,
    ConfigError,
    JournalError,
    KernelError,
    Problem,
    Refusal,
    RejectedError,
    notes_of,
)
from netgroupd.plan.step import Plan
from netgroupd.service.bus import _connection
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from netgroupd.service.job import Job
from netgroupd.service.metrics import Metrics
from netgroupd.service.work import in_main_loop
from tests.service.conftest import PrivateBus, answers, jobs, refused, serving
from tests.service.fake import PLAN, FakeEngine
from tests.waiting import PATIENCE_S, eventually

REFUSED_FILES = ConfigError([Problem("/etc/netgroup/a.yaml", 3, 1, "unknown key 'mttu'")])


REJECTED = RejectedError("the files still ask for generation 3, which was rolled back")


class Applied(FakeEngine):
    """Something was applied before this start."""

    def __init__(self) -> None:
        super().__init__()
        self.generation = 2

    def status(self) -> Status:
        assert self.applied_again_times, "it takes as long as planning all there is, and nobody is answered meanwhile"
        return super().status()


def test_files_refused_after_boot_leave_what_was_in_effect(bus: PrivateBus, tmp_path: Path) -> None:
    engine = Applied()
    engine.error = REFUSED_FILES
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "failed")
        assert engine.applied_again_times == 1
        assert (tmp_path / "run/configured").exists()
        assert "unknown key 'mttu'" in remote.properties()["Trouble"]
        engine.error = None
        assert remote.reload()["generation"] == 3


def test_repair_does_not_hide_that_the_files_were_refused(bus: PrivateBus, tmp_path: Path) -> None:
    engine = FakeEngine()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        engine.error = REFUSED_FILES
        refused(remote.reload)
        engine.drifted = PLAN
        engine.news.tell()
        eventually(lambda: engine.repaired and remote.properties()["LastResult"] == "ok")
        eventually(lambda: remote.properties()["Drift"] == 0)  # a picture was taken since
        told = remote.properties()
        assert told["State"] == "failed"
        assert "unknown key 'mttu'" in told["Trouble"]
        engine.error = None
        remote.reload()
        eventually(lambda: remote.properties()["State"] == "idle")


def test_repair_that_failed_is_no_trouble_any_more_when_somebody_else_has_made_it(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Result:
        raise KernelError([Refusal("+ bridge br-1", 16, "Device or resource busy")])

    engine = FakeEngine()
    monkeypatch.setattr(engine, "repair", fail)
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        engine.drifted = PLAN
        engine.news.tell()
        eventually(lambda: "Device or resource busy" in remote.properties()["Trouble"])
        engine.drifted = Plan()
        engine.news.tell()
        eventually(lambda: remote.properties()["State"] == "idle")


def test_generation_mistyped_is_no_trouble_and_hides_none(bus: PrivateBus, tmp_path: Path) -> None:
    engine = FakeEngine()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        assert "no generation 77" in str(refused(lambda: remote.rollback({"generation": 77})))
        assert remote.properties()["State"] == "idle"
        engine.error = REFUSED_FILES
        refused(remote.reload)
        refused(lambda: remote.rollback({"generation": 77}))
        eventually(lambda: remote.properties()["State"] == "failed")
        assert "unknown key 'mttu'" in remote.properties()["Trouble"]


def test_files_that_were_rejected_are_not_applied_at_boot_and_it_is_told(
    bus: PrivateBus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Applied()
    engine.rejected = REJECTED
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "failed")
        assert (engine.applied_again_times, engine.applied_times) == (1, 0)
        eventually(lambda: remote.properties()["Groups"])  # a picture was taken, and has changed nothing about it
        told = remote.properties()
        assert (told["State"], told["Trouble"]) == ("failed", str(REJECTED))
        assert told["LastResult"] == "org.netgroup1.Error.Rejected"
        assert str(REJECTED) in caplog.messages
        metrics = (tmp_path / "run/metrics.prom").read_text()
        assert "netgroup_failed 1" in metrics
        assert 'netgroup_errors_total{error="org.netgroup1.Error.Rejected"} 1' in metrics
    with serving(bus, engine, tmp_path / "run") as remote:  # in the same boot
        eventually(lambda: remote.properties()["State"] == "failed")
        assert (engine.applied_again_times, engine.applied_times) == (1, 0)
        engine.drifted = PLAN
        engine.news.tell()
        eventually(lambda: engine.repaired)
        eventually(lambda: remote.properties()["State"] == "failed")
        remote.reload()  # an operator insists
        eventually(lambda: remote.properties()["State"] == "idle")
        assert remote.properties()["Trouble"] == ""
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")


def test_files_that_were_edited_since_the_start_are_no_trouble_for_the_next(bus: PrivateBus, tmp_path: Path) -> None:
    engine = Applied()
    engine.rejected = REJECTED
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "failed")
    engine.rejected = None
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        assert engine.applied_times == 0


def test_disk_that_takes_nothing_at_boot_is_told_and_does_not_take_the_network_along(
    bus: PrivateBus, tmp_path: Path
) -> None:
    engine = FakeEngine()
    engine.generation = 2
    engine.error = JournalError("cannot write /var/lib/netgroup/journal: No space left on device")
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "failed")
        assert engine.spare == tmp_path / "run/state"
        told = remote.properties()
        assert told["Trouble"] == f"{engine.error}"
        assert "generation 2 is brought back" in told["Trouble"]
        assert told["LastResult"] == "org.netgroup1.Error.Journal"
        assert (tmp_path / "run/configured").exists()


def test_files_refused_before_anything_was_applied_leave_a_daemon(bus: PrivateBus, tmp_path: Path) -> None:
    engine = FakeEngine()
    engine.error = REFUSED_FILES
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "failed")
        assert not (tmp_path / "run/configured").exists()
        engine.error = None
        remote.apply({})
        assert (tmp_path / "run/configured").exists()  # the next start changes nothing


def test_reload_that_waited_is_seen_to_run(bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, second = FakeEngine(), threading.Event()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        apply, before, turns = engine.apply, engine.applied_times, iter((engine.gate, second))

        def held(*said: object, **more: object) -> Result:
            next(turns).wait()
            return apply()

        engine.gate.clear()
        monkeypatch.setattr(engine, "apply", held)
        caller = bus.connect()
        callers = [threading.Thread(target=lambda: Remote(bus.connect()).reload(), daemon=True) for _ in range(2)]
        callers[0].start()
        eventually(lambda: remote.properties()["State"] == "changing")
        callers[1].start()
        eventually(lambda: len(jobs(caller)) == 3)  # the start's, the one that runs, the one that waits
        engine.gate.set()
        eventually(lambda: engine.applied_times == before + 1)
        callers[0].join(PATIENCE_S)
        assert remote.properties()["State"] == "changing"
        second.set()
        callers[1].join(PATIENCE_S)
        eventually(lambda: remote.properties()["State"] == "idle")


def test_start_comes_behind_a_reload_that_was_asked_for_while_a_change_was_being_put_back(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, recovered, start = FakeEngine(), threading.Event(), threading.Event()
    apply = engine.apply

    def held(*, in_part: bool = False, **_more: object) -> Result:
        if in_part:
            start.wait()
        return apply()

    monkeypatch.setattr(engine, "recover", lambda: recovered.wait() and None)
    monkeypatch.setattr(engine, "apply", held)
    with serving(bus, engine, tmp_path / "run") as remote:
        caller, reload = bus.connect(), threading.Thread(target=Remote(bus.connect()).reload, daemon=True)
        reload.start()
        eventually(lambda: len(jobs(caller)) == 1)
        recovered.set()
        reload.join(PATIENCE_S)
        assert refused(lambda: remote.apply({})).dbus_name == BusyError.dbus_name
        assert remote.properties()["State"] == "changing"
        start.set()
        eventually(lambda: remote.properties()["State"] == "idle")
        assert engine.applied_times == 2


def test_change_ends_though_what_tells_of_it_breaks(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_job: Job, _result: str) -> None:
        raise RuntimeError

    with serving(bus, FakeEngine(), tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        monkeypatch.setattr(Job, "succeeded", gone)
        assert [remote.apply({})["generation"] for _ in range(2)] == [2, 3]


def test_daemon_ends_well_though_the_bus_has_just_gone(bus: PrivateBus, tmp_path: Path) -> None:
    ended: list[int] = []
    daemon = Daemon(lambda _: FakeEngine(), tmp_path / "run")
    thread = threading.Thread(target=lambda: ended.append(daemon.run()), daemon=True)
    thread.start()
    eventually(lambda: answers(bus))

    def stop() -> None:
        bus.stop()
        time.sleep(0.5)  # the main loop, which runs this, cannot hear yet that the bus is gone
        daemon.stop()

    in_main_loop(stop)
    thread.join(PATIENCE_S)
    bus.start()
    assert ended == [0]


def test_daemon_gets_ready_though_the_kernel_is_out_of_reach(bus: PrivateBus, tmp_path: Path) -> None:
    class Unreachable(Applied):
        def apply_again(self, **_: object) -> Result:
            raise OSError(24, "Too many open files")

    engine = Unreachable()
    engine.error = REFUSED_FILES
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "failed")
        assert "Too many open files" in remote.properties()["Trouble"]
        engine.error = None
        engine.applied_again_times = 1
        remote.reload()  # it begins to look at the kernel when it is ready
        eventually(lambda: remote.properties()["Groups"])


def test_question_whose_answer_has_no_room_is_refused(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine()
    engine.text = "# long\n" * 100_000
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        monkeypatch.setattr(os, "memfd_create", lambda *_: os.open("/dev/full", os.O_WRONLY))
        assert "No space left on device" in str(refused(remote.render))


def test_restart_of_the_bus_costs_no_descriptor(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Gio.DBusConnection] = []

    def noted(address: str) -> Gio.DBusConnection:
        made.append(_connection(address))
        return made[-1]

    monkeypatch.setattr("netgroupd.service.bus._connection", noted)
    with serving(bus, FakeEngine(), tmp_path / "run"):
        bus.stop()
        bus.start()
        eventually(lambda: answers(bus))
        assert [each.get_stream().is_closed() for each in made] == [True, False]


def test_change_that_could_not_be_put_back_is_told(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    note, status = "what was there before could not be put back either: busy", []
    engine = FakeEngine()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        monkeypatch.setattr("netgroupd.service.daemon.notify", lambda **said: status.append(said.get("STATUS")))
        refusal = Refusal("+ vlan swp1.5", 22, "VLAN id out of range")
        engine.error = KernelError([refusal])
        engine.error.add_note(note)
        error = refused(lambda: remote.apply({}))
        assert isinstance(error, KernelError)
        assert (error.refusals, notes_of(error)) == ((refusal,), (note,))
        assert f"apply failed: {refusal} …; {note}" in status
        assert note in caplog.messages


def test_names_of_any_bytes_are_told(bus: PrivateBus, tmp_path: Path) -> None:
    engine = FakeEngine()
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        engine.error = KernelError([Refusal("delete link br-\udcff", 16, "Device or resource busy")])
        assert "delete link br-\\udcff: Device or resource busy" in str(refused(lambda: remote.apply({})))
        engine.error, engine.text = None, "links: {d\udcff: {}}\n"
        assert remote.capture() == "links: {d\\udcff: {}}\n"
        assert remote.apply({})["generation"] == 2


def test_who_follows_ends_when_its_reader_has_gone(bus: PrivateBus, tmp_path: Path) -> None:
    caller = threading.Thread(target=lambda: Remote(bus.connect()).apply({}))

    def tell(_path: str, _changed: object) -> None:
        if caller.ident:
            raise BrokenPipeError
        caller.start()  # from now on it is told of every change

    with serving(bus, FakeEngine(), tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        with pytest.raises(BrokenPipeError):
            remote.follow(tell)
        caller.join(PATIENCE_S)  # its answer comes after what is followed


def test_metrics_have_all_digits_and_need_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics(tmp_path / "none/metrics.prom")
    metrics.set("netgroup_objects", 1_500_001, **{"class": "address"})
    metrics.add("netgroup_change_seconds_total", 1_234_567.5, kind="apply")
    assert 'netgroup_objects{class="address"} 1500001' in metrics.text().splitlines()
    assert 'netgroup_change_seconds_total{kind="apply"} 1234567.5' in metrics.text().splitlines()

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", read_only)
    metrics.write()


def test_journal_says_what_waits_to_be_confirmed_and_of_what_an_error_is(
    remote: Remote, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "netgroupd")
    remote.apply({"confirm": 3600})
    assert caplog.messages[-1].endswith(", generation 2; it is put back in 3600 s unless it is confirmed")
    engine.error = BusyError("generation 2 waits to be confirmed or rolled back")
    refused(remote.reload)
    assert caplog.messages[-1] == "reload: generation 2 waits to be confirmed or rolled back"
