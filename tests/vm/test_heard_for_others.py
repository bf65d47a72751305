# SPDX-License-Identifier: GPL-2.0-or-later
"""MACs that a link hears for those on it in other namespaces, as of containers: they are no entries of somebody."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.vm.hosts import EngineIn, here
from tests.waiting import eventually

pytestmark = pytest.mark.vm("stock")

_FILE = "links: {low: {kind: dummy, up: true%s}%s}\n"
_BY_HAND = "02:00:00:00:00:77"


@contextmanager
def _nameless(netns: str) -> Iterator[None]:
    """Have a namespace have no name any more, as one of a container: a process is in it."""
    with subprocess.Popen(["ip", "netns", "exec", netns, "sleep", "1000"]) as inside:
        namespace = Path(f"/proc/{inside.pid}/ns/net")
        eventually(lambda: namespace.readlink() != Path("/proc/self/ns/net").readlink())
        subprocess.run(["ip", "netns", "del", netns], check=True)
        try:
            yield
        finally:
            inside.kill()


def _told(engine_in: EngineIn) -> list[str]:
    return [line.split('"')[1] for line in engine_in("here", "{}").capture().splitlines() if "self" in line]


def test_those_of_links_made_elsewhere_are_not_told(engine_in: EngineIn) -> None:
    engine_in("there", "{}")
    files = _FILE % ("", ", m: {kind: macvlan, link: low, netns: there, up: true}")
    engine_in("here", files).apply()
    here(f"bridge fdb add {_BY_HAND} dev low self permanent")
    assert _told(engine_in) == [_BY_HAND]
    moved = _FILE % (", netns: there", ", m: {kind: macvlan, link: low, netns: there, up: true}")
    (warning,) = engine_in("here", moved).diff().warnings
    assert "forwarding entries (1)" in warning


def test_those_of_a_container_are_not_told(engine_in: EngineIn) -> None:
    engine_in("here", _FILE % ("", "")).apply()
    here("ip link add link low name m type macvlan")
    subprocess.run(["ip", "netns", "add", "container"], check=True)
    here("ip link set dev m netns container")
    here("ip link set dev m up", "container")
    here(f"bridge fdb add {_BY_HAND} dev low self permanent")
    with _nameless("container"):
        assert _told(engine_in) == [_BY_HAND]
