# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that only the daemon can answer, against a daemon on a bus of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from netgroupd.errors import ConfigError, KernelError, NetgroupError, Problem, Refusal
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from tests.service.conftest import PrivateBus, answers, jobs, refused
from tests.service.fake import FakeEngine
from tests.waiting import PATIENCE_S, eventually

NETGROUPCTL = (sys.executable, "-m", "netgroupd.cli.main")


def test_reload_answers_in_json(daemon: Daemon, engine: FakeEngine) -> None:
    got = subprocess.run([*NETGROUPCTL, "reload", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(got.stdout)["generation"] == engine.generation == 2


@pytest.mark.parametrize("pid", [os.getpid(), 1], ids=["of_the_daemon", "of_another_unit"])
@pytest.mark.parametrize("error", [None, ConfigError([Problem("a.yaml", 1, 3, "wrong")])], ids=["done", "refused"])
def test_reload_that_systemd_runs_leaves_it_to_the_daemon_to_say_how_it_went(
    daemon: Daemon, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, pid: int, error: NetgroupError | None
) -> None:
    engine.error = error
    monkeypatch.setenv("MAINPID", str(pid))
    status, out, err = _failing("reload")
    assert (status, bool(out + err)) == (1 if error else 0, pid != os.getpid())


def test_reload_that_systemd_runs_says_what_the_daemon_does_not(
    daemon: Daemon, bus: PrivateBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINPID", str(os.getpid()))
    bus.refuse("org.netgroup1")
    want = "error: the policy of the system bus does not let this user ask the daemon\n"
    assert _failing("reload") == (1, "", want)


def test_reload_that_systemd_runs_takes_no_other_change_that_has_ended_meanwhile_for_its_own(
    remote: Remote, bus: PrivateBus, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = threading.Event(), threading.Event()
    turns = iter((first, second))

    def refuse(*_: object, **__: object) -> None:
        next(turns).wait()
        raise ConfigError([Problem("a.yaml", 1, 3, "wrong")])

    monkeypatch.setenv("MAINPID", str(os.getpid()))
    monkeypatch.setattr(engine, "apply", refuse)
    caller, watcher = threading.Thread(target=lambda: refused(lambda: remote.apply({}))), bus.connect()
    caller.start()
    eventually(lambda: len(jobs(watcher)) == 2)  # the start's, and this one
    with subprocess.Popen([*NETGROUPCTL, "reload"], stderr=subprocess.PIPE, text=True) as command:
        eventually(lambda: len(jobs(watcher)) == 3)
        first.set()
        caller.join(PATIENCE_S)
        bus.stop()
        told = command.communicate(timeout=PATIENCE_S)[1]
    second.set()
    bus.start()
    eventually(lambda: answers(bus))
    assert (command.returncode, told.partition(",")[0]) == (1, "error: the system bus has gone")


def test_file_that_is_no_file_does_not_stop_who_tells_of_it(
    daemon: Daemon, engine: FakeEngine, bus: PrivateBus, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    engine.error = ConfigError([Problem(str(tmp_path / "a.yaml"), 1, 1, "is a FIFO, not a file")])
    caller = threading.Thread(target=lambda: refused(Remote(bus.connect()).reload), daemon=True)
    caller.start()
    caller.join(PATIENCE_S)
    assert not caller.is_alive()


def test_watch_tells_each_change_as_a_line_of_json_until_interrupted(daemon: Daemon) -> None:
    with subprocess.Popen([*NETGROUPCTL, "watch", "--json"], stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout
        first = json.loads(watch.stdout.readline())
        subprocess.run([*NETGROUPCTL, "reload"], check=True, stdout=subprocess.DEVNULL)
        then = json.loads(watch.stdout.readline())
        watch.send_signal(signal.SIGINT)
        assert watch.wait() == 0
    assert (first["object"], first["changed"]["State"]) == ("/org/netgroup1", "idle")
    assert then["changed"]


def _failing(*arguments: str) -> tuple[int, str, str]:
    got = subprocess.run([*NETGROUPCTL, *arguments], capture_output=True, text=True, check=False)
    return got.returncode, got.stdout, got.stderr


@pytest.mark.parametrize("verb", ["reload", "watch"])
def test_command_says_that_the_daemon_does_not_run(bus: PrivateBus, verb: str) -> None:
    want = "error: the daemon does not run; `systemctl start netgroupd` starts it\n"
    assert _failing(verb) == (1, "", want)


def test_command_says_that_there_is_no_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    want = "error: the system bus, and by it the daemon, cannot be had: Could not connect: No such file or directory\n"
    assert _failing("reload") == (1, "", want)


@pytest.mark.parametrize("verb", ["reload", "watch"])
def test_command_says_that_the_policy_of_the_bus_refuses(daemon: Daemon, bus: PrivateBus, verb: str) -> None:
    bus.refuse("org.netgroup1")
    assert _failing(verb) == (1, "", "error: the policy of the system bus does not let this user ask the daemon\n")


def _told_to(remote: Remote, *arguments: str) -> subprocess.Popen[str]:
    """A command that waits for a change."""
    command = subprocess.Popen([*NETGROUPCTL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    eventually(lambda: remote.properties()["State"] == "changing")
    return command


@pytest.mark.parametrize(
    ("verb", "asking"),
    [
        ("apply", signal.SIGINT),
        ("apply", signal.SIGTERM),
        ("apply", signal.SIGHUP),
        ("reload", signal.SIGINT),
    ],
)
def test_who_asks_for_the_end_of_a_command_does_not_end_what_the_daemon_does(
    remote: Remote, engine: FakeEngine, verb: str, asking: signal.Signals
) -> None:
    engine.gate.clear()
    with _told_to(remote, verb) as command:
        command.send_signal(asking)
        assert command.wait(PATIENCE_S) == 130  # the engine would wait longer
        assert command.communicate() == ("", "a change that runs goes on; `netgroupctl watch` shows it\n")


def test_ctrl_c_before_the_daemon_has_answered_tells_the_same(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Remote, "_call", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        remote.apply({})
    assert caught.value.__notes__ == ["a change that runs goes on; `netgroupctl watch` shows it"]


_EARLY = """
import os, signal, sys, types
from contextlib import contextmanager
from netgroupd.service.call import call, own_loop

@contextmanager
def before_the_loop_runs():
    os.kill(os.getpid(), signal.SIGINT)
    yield

sys.modules["gi.overrides.GLib"].wakeup_on_signal = before_the_loop_runs
with own_loop() as loop:
    call(loop, types.SimpleNamespace(call_with_unix_fd_list=lambda *_: None), "/", "x.y", "Never")
"""


def test_ctrl_c_that_comes_before_the_wait_ends_it_too() -> None:
    got = subprocess.run(
        [sys.executable, "-c", _EARLY], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert got.stderr.splitlines()[-1] == "KeyboardInterrupt"


@pytest.mark.parametrize("verb", ["apply", "reload"])
def test_command_says_that_the_bus_has_gone(bus: PrivateBus, remote: Remote, engine: FakeEngine, verb: str) -> None:
    engine.gate.clear()
    with _told_to(remote, verb) as command:
        bus.stop()
        told = command.communicate(timeout=PATIENCE_S)
    bus.start()
    eventually(lambda: answers(bus))
    assert told == ("", "error: the system bus has gone, and the answer with it; a change that runs goes on\n")


def test_a_bus_that_has_gone_before_the_wait_is_told_in_the_same_sentence(
    remote: Remote, engine: FakeEngine, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.gate.clear()
    tell = remote._call

    def call_and_lose_the_bus(*arguments: Any) -> tuple[Any, ...]:
        answer = tell(*arguments)
        remote._connection.close_sync()
        remote._connection.is_closed = lambda: False  # it could be just after this was asked
        return answer

    monkeypatch.setattr(remote, "_call", call_and_lose_the_bus)
    with pytest.raises(NetgroupError, match="the system bus has gone"):
        remote.apply({})
    assert capfd.readouterr().err == ""


def test_watch_says_that_the_bus_has_gone(bus: PrivateBus, daemon: Daemon) -> None:
    argv = [*NETGROUPCTL, "watch"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout
        watch.stdout.readline()
        bus.stop()
        told = watch.communicate(timeout=PATIENCE_S)[1]
    bus.start()
    eventually(lambda: answers(bus))
    assert (watch.returncode, told.partition(",")[0]) == (1, "error: the system bus has gone")


@pytest.mark.parametrize("verb", ["apply", "reload", "rollback"])
def test_refusals_of_the_kernel_come_in_json_as_without_the_daemon(
    daemon: Daemon, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    refusals = [
        Refusal("+ vlan swp1.5", 22, "VLAN id out of range", "a.mako:7"),
        Refusal("delete link br-1", 16, "busy"),
    ]

    def refuse(*_: object, **__: object) -> None:
        raise KernelError(refusals)

    monkeypatch.setattr(engine, "apply", refuse)
    monkeypatch.setattr(engine, "rollback", refuse)
    status, out, _ = _failing(verb, "--json")
    assert status == 1
    assert json.loads(out)["refusals"] == [refusal._asdict() for refusal in refusals]
