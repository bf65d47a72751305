# SPDX-License-Identifier: GPL-2.0-or-later
"""What the bus keeps of those who call, which is nothing once they are answered, and of connections that have gone."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netgroupd.errors import UsageError
from netgroupd.service.bus import _Wrapper
from tests.service.conftest import PrivateBus, refused, serving
from tests.service.fake import FakeEngine
from tests.waiting import eventually

_COMING_AND_GOING = """
import gc, os, sys, threading
from gi.repository import Gio
from netgroupd.service import bus

address = sys.argv[1]
flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
staying = bus.Bus(address)
assert not staying.connect()

def ping():
    connection = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
    while True:
        connection.call_sync("org.netgroup1", "/", "org.freedesktop.DBus.Peer", "Ping", None, None, 0, -1, None)

for _ in range(3):
    threading.Thread(target=ping, daemon=True).start()
gc.freeze()
before = len(os.listdir("/proc/self/fd"))
for number in range(300):
    bus.NAME = f"org.example.number{number}"
    assert not bus.Bus(address).connect()
    gc.collect()
print(len(os.listdir("/proc/self/fd")) - before < 30, flush=True)
os._exit(0)
"""


def test_calls_that_are_answered_leave_nothing_behind(
    bus: PrivateBus, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[str] = []
    answer = _Wrapper.call_method

    def watched(self: _Wrapper, *arguments: Any) -> None:
        arguments[-1].weak_ref(freed.append, arguments[4])
        answer(self, *arguments)

    monkeypatch.setattr(_Wrapper, "call_method", watched)
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        remote.reload()
        remote.diff({})
        engine.error = UsageError("not now")
        refused(remote.reload)
        eventually(lambda: {"GetAll", "Open"} <= {*freed} and freed.count("Reload") == 2)


def test_connections_that_are_freed_hold_up_no_other(bus: PrivateBus) -> None:
    argv = (sys.executable, "-c", _COMING_AND_GOING, bus.address)
    ended = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    assert ended.stdout == "True\n"
