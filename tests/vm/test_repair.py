# SPDX-License-Identifier: GPL-2.0-or-later
"""What others change of what is repaired: it is put right by itself, and what follows from it is let follow."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.plan.serialise import singles
from netgroupd.service.picture import take

pytestmark = pytest.mark.vm("stock")

TEXT = """
groups: {mended: {drift: repair}, told: {}}
links:
  br0: {kind: bridge, up: true, group: %s}
  d[0-1]: {kind: dummy, up: true, mtu: 1500, group: mended}
  d0: {master: br0}
  d1.5: {group: told, mtu: 1400, up: true, addresses: [10.0.5.1/24]}
"""


def ip(command: str) -> None:
    subprocess.run(["ip", "-n", "mended", *command.split()], check=True)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    subprocess.run(["ip", "netns", "add", "mended"], check=True)
    (tmp_path / "config").mkdir()
    yield Engine(Paths((tmp_path / "config",), tmp_path / "state", tmp_path / "group"), netns="mended")
    subprocess.run(["ip", "netns", "del", "mended"], check=True)


@pytest.mark.parametrize("bridge", ["mended", "told"])
@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param("link set d0 nomaster", id="port_that_left"),
        pytest.param("link del d0", id="port_that_is_gone"),
        pytest.param("link set d0 name d9", id="port_that_was_renamed"),
        pytest.param("link set d1 down", id="lower_link_that_is_down"),
        pytest.param("link set d1 mtu 1300", id="lower_link_that_is_small"),
    ],
)
def test_what_others_changed_is_put_right(engine: Engine, tmp_path: Path, bridge: str, meanwhile: str) -> None:
    (tmp_path / "config" / "all.yaml").write_text(TEXT % bridge)
    engine.apply()
    ip(meanwhile)
    while broken := take(engine).broken:
        assert engine.repair(broken).plan.steps
    assert {step.object.name for step in singles(engine.drift().steps)} <= {"d1.5"}


ROUTES = """
groups: {mended: {drift: repair}}
links:
  d[0-2]: {kind: dummy, up: true, mtu: 1400, group: mended}
  d0: {addresses: [10.0.0.1/24, "fd00::1/64"]}
  d[1-2]: {addresses: [10.0.0.1/24]}
vrfs: {"r[v=1-2]": {table: "{v+100}", links: "d{v}", up: true, group: mended}}
nexthops: {1: {via: 10.0.0.9, dev: d0}, 2: {group: [{id: 1}]}}
routes:
  - {to: 10.1.0.0/16, via: 10.0.0.2}
  - {to: 10.1.0.0/16, via: 10.0.0.2, vrf: "r[v=1-2]"}
  - {to: 10.2.0.0/16, nexthops: [{via: 10.0.0.2}, {via: 10.0.0.3}]}
  - {to: 10.3.0.0/16, nhid: 2}
  - {to: "fd01::/64", via: "fd00::2"}
"""


@pytest.mark.parametrize("meanwhile", ["mtu 1300", "down", "nomaster"])
@pytest.mark.parametrize("link", ["d0", "d1"])
def test_routes_by_way_of_what_is_repaired_are_there(engine: Engine, tmp_path: Path, link: str, meanwhile: str) -> None:
    (tmp_path / "config" / "all.yaml").write_text(ROUTES)
    engine.apply()
    ip(f"link set {link} {meanwhile}")
    for _ in range(3):
        if broken := take(engine).broken:
            engine.repair(broken)
    assert not engine.drift().steps


def test_bridge_that_was_renamed_is_there_and_no_other(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "config" / "all.yaml").write_text(TEXT % "mended")
    engine.apply()
    ip("link set br0 name br9")
    engine.repair(take(engine).broken)
    assert not engine.drift().steps
    assert engine.actual().link("br9") is None
