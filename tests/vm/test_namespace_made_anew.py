# SPDX-License-Identifier: GPL-2.0-or-later
"""A network namespace that is deleted and made again under its name, as when a container is started again.

What a change did went with the old one, though the host and its clock are the same.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import configured_mark
from tests.vm.hosts import EngineIn, here

OLD = "links: {d0: {kind: dummy, addresses: [192.0.2.1/24]}}"
NEW = "links: {'d[1-9]': {kind: dummy, addresses: [\"198.51.100.{1}/24\"]}}"


def links() -> list[str]:
    """The links of the namespace."""
    return sorted(line.split()[0] for line in here("ip -br link").splitlines() if not line.startswith("lo "))


def made_anew() -> None:
    """Delete the namespace, and make one of the same name."""
    subprocess.run(["ip", "netns", "del", "here"], check=True)
    subprocess.run(["ip", "netns", "add", "here"], check=True)


def waits(engine: Engine) -> None:
    """Leave a change that waits to be confirmed."""
    engine.apply(confirm_s=600)


def is_cut_off(engine: Engine) -> None:
    """Leave a change that ended in the middle."""
    if child := os.fork():
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        return
    try:
        engine.apply(progress=lambda done, total: os.kill(os.getpid(), signal.SIGKILL))
    finally:
        os._exit(1)


@pytest.mark.parametrize("left", [waits, is_cut_off])
def test_nothing_is_undone_in_a_namespace_that_was_made_anew(
    engine_in: EngineIn, left: Callable[[Engine], None]
) -> None:
    engine_in("here", OLD).apply()
    engine = engine_in("here", NEW)
    left(engine)
    made_anew()
    engine = engine_in("here", NEW)
    said = engine.recover()
    assert said == "generation 2 ended with its network namespace; generation 1 is in effect"
    assert links() == []
    if left is is_cut_off:
        assert engine.decided_against() is None
    engine.apply()
    assert links() == [f"d{number}" for number in range(1, 10)]


def test_change_that_waits_is_undone_in_its_own_namespace(engine_in: EngineIn) -> None:
    engine_in("here", OLD).apply()
    engine_in("here", NEW).apply(confirm_s=0.5)
    time.sleep(0.6)
    assert engine_in("here", NEW).recover()
    assert links() == ["d0"]


def test_daemon_of_a_namespace_configures_the_one_that_is_made_anew(engine_in: EngineIn, tmp_path: Path) -> None:
    engine_in("here", OLD)
    first = configured_mark(tmp_path, "here")
    assert configured_mark(tmp_path, "here") == first
    made_anew()
    assert configured_mark(tmp_path, "here") != first
