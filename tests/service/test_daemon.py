# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon on a bus of its own: queueing, errors, large results, and a bus that goes away."""

import itertools
import os
import re
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from gi.repository import Gio, GLib

from netgroupd.engine.session import CONSOLE, Session
from netgroupd.errors import ConfigError, KernelError, Problem, Refusal, UsageError
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from netgroupd.service.details import Answer, Options
from netgroupd.service.interface import GROUP, JOB, MANAGER, ROOT
from netgroupd.service.metrics import METRICS
from netgroupd.service.work import in_main_loop
from tests.service.conftest import PrivateBus, answers, jobs, refused
from tests.service.fake import PLAN, FakeEngine
from tests.waiting import PATIENCE_S, eventually

_NAME = "org.netgroup1"


def _start(connection: Gio.DBusConnection, method: str, arguments: GLib.Variant | None = None) -> None:
    """Call without waiting for the answer."""
    connection.call(_NAME, ROOT, MANAGER, method, arguments, None, Gio.DBusCallFlags.NONE, -1, None, None)
    connection.flush_sync(None)


def _properties(connection: Gio.DBusConnection, path: str, interface: str) -> dict[str, Any]:
    answer = connection.call_sync(
        _NAME,
        path,
        "org.freedesktop.DBus.Properties",
        "GetAll",
        GLib.Variant("(s)", (interface,)),
        None,
        Gio.DBusCallFlags.NONE,
        -1,
        None,
    )
    properties: dict[str, Any] = answer.unpack()[0]
    return properties


def test_start_applies_the_configuration_once_in_a_boot(daemon: Daemon, engine: FakeEngine) -> None:
    assert engine.generation == 1
    assert 'netgroup_changes_total{kind="start",result="ok"} 1' in daemon._metrics.text()


@pytest.mark.parametrize("ask", [Remote.apply, Remote.diff])
def test_session_of_a_caller_counts_while_its_connection_is_there(
    remote: Remote, engine: FakeEngine, ask: Callable[[Remote, Options], Answer]
) -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        socket.create_connection(server.getsockname()) as client,
        closing(server.accept()[0]),
    ):
        connection = " ".join(str(end) for end in (*client.getsockname(), *client.getpeername()))
        ask(remote, {"session": connection})
        assert Session.from_ssh(connection) in engine.sessions
    engine.sessions.clear()
    ask(remote, {"session": connection})
    assert set(engine.sessions) == {CONSOLE}


def test_second_apply_while_one_runs_is_told_so(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.gate.clear()
    caller = bus.connect()
    _start(caller, "Apply", GLib.Variant("(a{sv})", ({},)))
    eventually(lambda: remote.properties()["State"] == "changing")
    error = refused(lambda: remote.apply({}))
    assert error.dbus_name == "org.netgroup1.Error.Busy"
    assert "is running" in str(error)


def test_questions_are_answered_while_a_change_runs(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.gate.clear()
    caller = bus.connect()
    _start(caller, "Apply", GLib.Variant("(a{sv})", ({},)))
    eventually(lambda: remote.properties()["State"] == "changing")
    assert remote.diff({"format": "text"})["differs"]


def test_a_thousand_reloads_in_a_row_are_two(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.gate.clear()
    caller = bus.connect()
    for _ in range(1000):
        _start(caller, "Reload")
    eventually(lambda: remote.properties()["State"] == "changing")
    Remote(caller).diff({"format": "text"})  # answered behind all of the calls that came by this connection
    engine.gate.set()
    remote.reload()
    eventually(lambda: remote.properties()["State"] == "idle")
    assert 2 <= engine.applied_times <= 3


def test_journal_that_cannot_be_read_leaves_nobody_waiting(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.unreadable = True
    engine.gate.clear()
    caller = bus.connect()  # held, or the call may end with it
    _start(caller, "Reload")
    eventually(lambda: remote.properties()["State"] == "changing")
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(Remote(bus.connect()).reload()["generation"]))
    waiting.start()
    eventually(lambda: len(jobs(caller)) == 3)  # the start's, the one that runs, the one that waits
    engine.gate.set()
    waiting.join(PATIENCE_S)
    assert answers == [3]
    eventually(lambda: remote.properties()["State"] == "failed")


def test_every_caller_of_a_reload_that_is_done_as_one_is_answered(
    remote: Remote, bus: PrivateBus, engine: FakeEngine
) -> None:
    engine.gate.clear()
    _start(caller := bus.connect(), "Reload")
    eventually(lambda: remote.properties()["State"] == "changing")
    answers: list[int] = []
    callers = [
        threading.Thread(target=lambda: answers.append(Remote(bus.connect()).reload()["generation"])) for _ in range(3)
    ]
    for thread in callers:
        thread.start()
    eventually(lambda: len(jobs(caller)) == 3)  # the start's, the one that runs, the one that waits
    engine.gate.set()
    for thread in callers:
        thread.join(PATIENCE_S)
    assert len(answers) == 3


def test_job_tells_how_far_it_is_and_how_it_ended(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    seen: list[tuple[int, int]] = []
    engine.gate.clear()

    def see(done: int, total: int) -> None:
        seen.append((done, total))
        engine.gate.set()

    answer = remote.apply({}, see)
    assert answer["generation"] == 2
    job = _properties(bus.connect(), "/org/netgroup1/job/2", JOB)
    assert (job["State"], job["Done"], job["Total"], job["Error"]) == ("done", 1, 2, "")
    assert seen[-1] == (1, 2)


def test_refused_configuration_is_named_with_every_line(remote: Remote, engine: FakeEngine) -> None:
    problems = [Problem("/etc/netgroup/a.yaml", line, 3, "unknown key 'knid'") for line in (2, 5)]
    engine.error = ConfigError(problems)
    error = refused(remote.reload)
    assert error.dbus_name == "org.netgroup1.Error.Config"
    assert str(error) == str(engine.error)
    assert remote.properties()["State"] == "failed"
    assert remote.properties()["LastResult"] == "org.netgroup1.Error.Config"


def test_refused_configuration_is_told_as_without_the_daemon(
    remote: Remote, engine: FakeEngine, tmp_path: Path
) -> None:
    wrong = tmp_path / "a.yaml"
    wrong.write_text("links:\n  swp1: {mttu: 3}\n")
    problems = [
        Problem(str(wrong), 2, 10, "unknown key 'mttu'", "did you mean 'mtu'?", "  swp1: {mttu: 3}"),
        Problem(str(wrong), 1, 1, "it is old", warning=True, text="links:"),
        Problem("/etc/netgroup", 0, 0, "there is no configuration"),
    ]
    engine.error = ConfigError(problems)
    error = refused(lambda: remote.apply({}))
    assert isinstance(error, ConfigError)
    assert error.problems == tuple(problems)


def test_refusal_of_the_kernel_keeps_its_sentence(remote: Remote, engine: FakeEngine) -> None:
    engine.error = KernelError([Refusal("+ vlan swp1.5", 22, "VLAN id out of range", "a.mako:7")])
    assert "a.mako:7: + vlan swp1.5: VLAN id out of range" in str(refused(lambda: remote.apply({})))


def test_defect_is_answered_and_the_daemon_lives(remote: Remote, engine: FakeEngine) -> None:
    engine.broken = True
    assert refused(remote.status).dbus_name == "org.netgroup1.Error.Failed"
    assert remote.check() == {"files": 1, "warnings": []}


def test_unknown_option_is_refused_with_those_there_are(remote: Remote) -> None:
    error = refused(lambda: remote.apply({"generation": 3}))
    assert error.dbus_name == "org.netgroup1.Error.Usage"
    assert "allow, confirm, session" in str(error)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("confirm", GLib.Variant("s", "60"), "Rollback: confirm is a number, not '60'"),
        ("confirm", GLib.Variant("b", True), "Rollback: confirm is a number, not True"),
        ("allow", GLib.Variant("s", "swp1"), "Rollback: allow is an array of strings, not 'swp1'"),
        ("allow", GLib.Variant("ai", [1]), "Rollback: allow is an array of strings, not [1]"),
        ("generation", GLib.Variant("d", 3.0), "Rollback: generation is a number, not 3.0"),
        ("generation", GLib.Variant("i", -1), "there is no generation -1"),
        ("confirm", GLib.Variant("u", 0), "confirm: expected 1 to 86400 seconds, not 0"),
    ],
)
def test_option_that_cannot_be_is_refused_and_starts_nothing(
    daemon: Daemon, bus: PrivateBus, option: str, value: GLib.Variant, said: str
) -> None:
    arguments = GLib.Variant("(a{sv})", ({option: value},))
    with pytest.raises(GLib.Error, match=re.escape(said)):
        bus.connect().call_sync(_NAME, ROOT, MANAGER, "Rollback", arguments, None, Gio.DBusCallFlags.NONE, -1, None)
    assert _properties(bus.connect(), ROOT, MANAGER)["LastResult"] == "ok"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"confirm": -1}, "confirm: expected 1 to 86400 seconds, not -1"),
        ({"confirm": 1 << 32}, "confirm: expected 1 to 86400 seconds, not 4294967296"),
        ({"generation": -5}, "there is no generation -5"),
        ({"generation": 1 << 32}, "there is no generation 4294967296"),
    ],
)
def test_number_that_the_bus_cannot_carry_is_refused_in_a_sentence(
    remote: Remote, options: dict[str, int], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        remote.rollback(options)


def test_properties_are_nobodys_to_set(remote: Remote, bus: PrivateBus) -> None:
    arguments = GLib.Variant("(ssv)", (MANAGER, "State", GLib.Variant("s", "fine")))
    target = (_NAME, ROOT, "org.freedesktop.DBus.Properties", "Set", arguments, None, Gio.DBusCallFlags.NONE, -1, None)
    with pytest.raises(GLib.Error, match="not writable"):
        bus.connect().call_sync(*target)
    assert remote.properties()["State"] == "idle"


def test_result_over_a_megabyte_comes_as_a_file_only(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.text = "# ü\n" * 500_000
    assert remote.render() == engine.text
    with pytest.raises(GLib.Error, match="Open gives it as a file"):
        bus.connect().call_sync(
            _NAME,
            ROOT,
            MANAGER,
            "Render",
            GLib.Variant("(a{sv})", ({},)),
            None,
            Gio.DBusCallFlags.NONE,
            -1,
            None,
        )


def test_reply_does_not_end_at_a_nul(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.text = "a: \0b\nc: d\n"
    assert remote.render() == engine.text
    options, flags = GLib.Variant("(a{sv})", ({},)), Gio.DBusCallFlags.NONE
    reply = bus.connect().call_sync(_NAME, ROOT, MANAGER, "Render", options, None, flags, -1, None)
    assert reply.unpack() == ("a: \\x00b\nc: d\n",)


def test_file_of_a_result_cannot_be_changed_any_more(daemon: Daemon, bus: PrivateBus) -> None:
    options = GLib.Variant("(sa{sv})", ("Check", {}))
    flags = Gio.DBusCallFlags.NONE
    _, handles = bus.connect().call_with_unix_fd_list_sync(
        _NAME, ROOT, MANAGER, "Open", options, None, flags, -1, None, None
    )
    with os.fdopen(handles.get(0), "rb+") as file, pytest.raises(PermissionError):
        os.ftruncate(file.fileno(), 0)


def test_rendered_lines_come_with_where_they_are_from(remote: Remote) -> None:
    assert remote.render_lines() == {"lines": [{"file": "a.mako", "line": 3, "text": "links: {}"}]}


def test_caller_that_vanishes_does_no_harm(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.gate.clear()
    caller = bus.connect()
    _start(caller, "Reload")
    eventually(lambda: remote.properties()["State"] == "changing")
    caller.close_sync(None)
    engine.gate.set()
    eventually(lambda: engine.applied_times == 1)
    assert remote.reload()["generation"] == 3


def test_groups_are_objects(remote: Remote, bus: PrivateBus) -> None:
    (path,) = remote.properties()["Groups"]
    assert path == "/org/netgroup1/group/tenants"
    group = _properties(bus.connect(), path, GROUP)
    assert group == {
        "Name": "tenants",
        "Id": 7,
        "Ranges": ["br-1"],
        "Count": 1,
        "Within": ["edge"],
        "DriftPolicy": "repair",
        "Drift": 0,
    }


def test_restarted_bus_has_the_daemon_again(remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    before = engine.applied_times
    bus.stop()
    bus.start()
    eventually(lambda: answers(bus) and Remote(bus.connect()).properties()["Groups"])
    assert engine.applied_times == before


def test_what_is_told_to_a_bus_that_has_just_gone_breaks_nothing(
    bus: PrivateBus, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()
    uncaught: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: uncaught.append(error))

    def tell() -> None:
        assert daemon._bus._bus
        numbers, connection = itertools.count(2), daemon._bus._bus.con  # the first counts already
        bus.stop()
        while not connection.is_closed():  # of which the main loop, which runs this, cannot hear yet
            daemon.confirmed(next(numbers))
        daemon.confirmed(next(numbers))
        told.set()

    in_main_loop(tell)
    assert told.wait(PATIENCE_S)
    bus.start()
    eventually(lambda: answers(bus))
    assert uncaught == []


def test_drift_of_a_group_that_wants_it_is_repaired(
    daemon: Daemon, remote: Remote, bus: PrivateBus, engine: FakeEngine
) -> None:
    engine.drifted = PLAN
    engine.news.tell()
    eventually(lambda: engine.repaired)
    assert engine.repaired == [frozenset({"br-1"})]
    job = _properties(bus.connect(), "/org/netgroup1/job/2", JOB)
    assert (job["Kind"], job["Done"], job["Total"]) == ("repair", 1, 1)
    eventually(lambda: remote.properties()["Drift"] == 0)


def test_drift_of_another_group_is_reported(daemon: Daemon, remote: Remote, engine: FakeEngine) -> None:
    engine.policy = "report"
    engine.drifted = PLAN
    engine.news.tell()
    eventually(lambda: remote.properties()["Drift"] == 1)
    assert engine.repaired == []


def test_drift_that_is_ignored_is_not_told(daemon: Daemon, remote: Remote, bus: PrivateBus, engine: FakeEngine) -> None:
    engine.policy = "ignore"
    engine.drifted = PLAN
    engine.news.tell()
    path = "/org/netgroup1/group/tenants"
    eventually(lambda: _properties(bus.connect(), path, GROUP)["Drift"] == 1)
    assert remote.properties()["Drift"] == 0


def test_metrics_are_all_written_though_nothing_changed(remote: Remote, engine: FakeEngine, tmp_path: Path) -> None:
    file = tmp_path / "run/metrics.prom"
    engine.drifted = PLAN
    engine.news.tell()
    eventually(lambda: "netgroup_repairs_total 1\n" in file.read_text())
    engine.error = KernelError([Refusal("+ vlan swp1.5", 22, "VLAN id out of range", "a.mako:7")])
    refused(remote.reload)
    eventually(lambda: 'netgroup_errors_total{error="org.netgroup1.Error.Kernel"} 1\n' in file.read_text())
    assert {line.split()[2] for line in file.read_text().splitlines() if line.startswith("# TYPE")} == METRICS.keys()


def test_unconfirmed_change_is_not_drift(remote: Remote, engine: FakeEngine) -> None:
    remote.apply({"confirm": 3600})
    engine.drifted = PLAN
    engine.news.tell()
    engine.news.tell()
    assert remote.diff({"format": "text"})["differs"]
    assert engine.repaired == []
    assert remote.properties()["Drift"] == 0
