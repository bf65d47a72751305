# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that only the daemon can answer, against a daemon on a bus of its own."""

import json
import signal
import subprocess
import sys

import pytest

from netgroupd.service.daemon import Daemon
from tests.service.conftest import PrivateBus
from tests.service.fake import FakeEngine

NETGROUPCTL = (sys.executable, "-m", "netgroupd.cli.main")


def test_reload_answers_in_json(daemon: Daemon, engine: FakeEngine) -> None:
    got = subprocess.run([*NETGROUPCTL, "reload", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(got.stdout)["generation"] == engine.generation == 2


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
