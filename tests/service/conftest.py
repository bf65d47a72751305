# SPDX-License-Identifier: GPL-2.0-or-later
"""A bus of its own for each test, with the daemon on it and an engine that the test controls."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gi.repository import Gio, GLib

from netgroupd.engine.session import Session
from netgroupd.errors import NetgroupError
from netgroupd.service import work
from netgroupd.service.client import Remote, RemoteError
from netgroupd.service.daemon import Daemon
from tests.service.fake import FakeEngine
from tests.waiting import PATIENCE_S, eventually

_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>custom</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
  </policy>
</busconfig>
"""


class PrivateBus:
    """A dbus-daemon that can be ended and started again at the same address."""

    def __init__(self, directory: Path) -> None:
        self._socket = directory / "bus"
        self._config = directory / "bus.conf"
        self._config.write_text(_CONFIG.format(socket=self._socket))
        self.address = f"unix:path={self._socket}"
        self.start()

    def start(self) -> None:
        self._socket.unlink(missing_ok=True)
        argv = ("dbus-daemon", f"--config-file={self._config}", "--nofork", "--nopidfile", "--print-address")
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE)
        assert self._process.stdout
        self._process.stdout.readline()  # it listens by then; its socket is there a moment before

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate()

    def refuse(self, destination: str) -> None:
        """Have the policy let nobody send there."""
        end = "  </policy>"
        denied = f'    <deny send_destination="{destination}"/>\n{end}'
        self._config.write_text(self._config.read_text().replace(end, denied))
        bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")
        self.connect().call_sync(*bus, None, None, Gio.DBusCallFlags.NONE, -1, None)

    def connect(self) -> Gio.DBusConnection:
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        return Gio.DBusConnection.new_for_address_sync(self.address, flags, None, None)


def answers(bus: PrivateBus) -> bool:
    """Whether the bus is there and the daemon is on it."""
    try:
        return bool(Remote(bus.connect()).properties())
    except (RemoteError, GLib.Error):
        return False


def jobs(connection: Gio.DBusConnection) -> list[str]:
    """The jobs on the bus."""
    answer = connection.call_sync(
        "org.netgroup1",
        "/org/netgroup1/job",
        "org.freedesktop.DBus.Introspectable",
        "Introspect",
        None,
        None,
        Gio.DBusCallFlags.NONE,
        -1,
        None,
    )
    return [node.path for node in Gio.DBusNodeInfo.new_for_xml(answer.unpack()[0]).nodes]


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateBus]:
    private = PrivateBus(tmp_path)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", private.address)
    yield private
    private.stop()


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    """One that is whole again in the end: who still looks at it must not print tracebacks beside other tests."""
    fake = FakeEngine()
    yield fake
    fake.broken = False


@pytest.fixture
def daemon(bus: PrivateBus, engine: FakeEngine, tmp_path: Path) -> Iterator[Daemon]:
    """The daemon in a thread of its own, past its start."""

    def engine_for(session: Session) -> FakeEngine:
        engine.sessions.append(session)
        return engine

    remote = Remote(bus.connect())

    def idle() -> bool:
        try:
            return bool(remote.properties()["State"] == "idle" and remote.properties()["Groups"])
        except RemoteError:
            return False

    with _in_a_thread(engine, engine_for, tmp_path / "run") as served:
        eventually(idle)
        engine.applied_times = 0
        yield served


@pytest.fixture
def remote(bus: PrivateBus, daemon: Daemon) -> Remote:
    return Remote(bus.connect())


@contextmanager
def serving(bus: PrivateBus, engine: FakeEngine, runtime: Path) -> Iterator[Remote]:
    """A daemon from its start to its end."""
    with _in_a_thread(engine, lambda _: engine, runtime):
        eventually(lambda: answers(bus))
        yield Remote(bus.connect())


@contextmanager
def _in_a_thread(engine: FakeEngine, engine_for: Callable[[Session], FakeEngine], runtime: Path) -> Iterator[Daemon]:
    """A daemon in a thread of its own, of which nothing is left in the end: the next would do in its loop what this
    one has asked for, and say what this one has seen.
    """
    work._calls.cache_clear()
    first = GLib.idle_add(bool)  # sources are numbered one after another
    before, over = threading.enumerate(), threading.Event()

    def stay() -> float:
        over.set()
        threading.Event().wait()
        return 0.0

    daemon = Daemon(engine_for, runtime)
    thread = threading.Thread(target=daemon.run, daemon=True)
    thread.start()
    try:
        yield daemon
    finally:
        engine.gate.set()
        GLib.idle_add(daemon.stop)
        daemon._drift._once = stay  # type: ignore[method-assign]
        daemon._drift.renew()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        if any(one.name == "drift" and one not in before for one in threading.enumerate()):
            assert over.wait(PATIENCE_S)
        for number in range(first, GLib.idle_add(bool)):
            if source := GLib.MainContext.default().find_source_by_id(number):
                source.destroy()
        os.close(work._calls()._count)
        work._calls.cache_clear()


def refused(call: Callable[[], object]) -> NetgroupError:
    """The error that ``call`` raises."""
    with pytest.raises(NetgroupError) as caught:
        call()
    return caught.value
