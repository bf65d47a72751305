# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that only the daemon can answer, against a daemon on a bus of its own."""

import json
import signal
import subprocess
import sys

from netgroupd.service.daemon import Daemon
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
