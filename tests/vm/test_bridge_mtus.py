# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands on a bridge is made when its ports have joined, and is as large as the bridge is then."""

import re

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm

ON_A_BRIDGE = """
links:
  a10: {{kind: vlan, link: br0, id: 10, up: true}}
  a10.5: {{kind: vlan, up: true}}
  ax: {{kind: vxlan, id: 5, dev: a10, dstport: 4789}}
  br0: {{kind: bridge, up: true, {}}}
  m: {{kind: macvlan, link: br0, up: true}}
  p0: {{kind: dummy, up: true, mtu: {}, master: br0}}
  p1: {{kind: dummy, up: true, mtu: 9216, master: br0}}
"""
BRIDGE_ON_A_BRIDGE = """
links:
  a10: {kind: vlan, link: br0, id: 10, up: true, mtu: 8000, master: br1}
  a20: {kind: vlan, link: br1, id: 20, up: true}
  br0: {kind: bridge, up: true, ports: p0}
  br1: {kind: bridge, up: true, mtu: 9000}
  p0: {kind: dummy, up: true, mtu: 9216}
"""


def mtus() -> dict[str, int]:
    """The MTU of each link but lo."""
    found = re.findall(r"^\d+: ([^@: ]+).* mtu (\d+)", here("ip link"), re.MULTILINE)
    return {name: int(mtu) for name, mtu in found if name != "lo"}


@pytest.mark.parametrize(
    ("said", "port", "want"),
    [
        pytest.param("mtu: 9216", 9000, 9216, id="larger_than_a_port"),
        pytest.param("mtu: 1500", 1400, 1500, id="as_any_new_one"),
        pytest.param("stp: false", 9000, 9000, id="as_its_ports"),
    ],
)
def test_links_on_a_new_bridge_are_as_large_as_it(engine_in: EngineIn, said: str, port: int, want: int) -> None:
    engine = engine_in("here", ON_A_BRIDGE.format(said, port))
    engine.apply()
    got = mtus()
    assert {got[name] for name in ("a10", "a10.5", "br0", "m")} == {want}
    assert not engine.diff().steps


def test_links_on_a_bridge_that_gets_its_first_ports_are_as_large_as_it_is_then(engine_in: EngineIn) -> None:
    engine_in("here", "links: {br0: {kind: bridge, up: true}}").apply()
    engine_in("here", ON_A_BRIDGE.format("stp: false", 9000)).apply()
    assert mtus()["a10.5"] == 9000


@pytest.mark.parametrize(
    ("said", "want"),
    [pytest.param("mtu: 9000", 9000, id="as_said"), pytest.param("stp: false", 1500, id="as_the_least_of_its_ports")],
)
def test_ports_that_others_add_to_a_new_bridge_leave_it_as_large_as_said(
    engine_in: EngineIn, said: str, want: int
) -> None:
    engine = engine_in("here", ON_A_BRIDGE.format(said, 9000))
    engine.apply()
    here("ip link add tap0 mtu 1500 type dummy")
    here("ip link set tap0 master br0")
    assert mtus()["br0"] == want
    assert not engine.diff().steps


def test_bridge_with_a_port_that_stands_on_another_one_is_as_large_as_said(engine_in: EngineIn) -> None:
    engine = engine_in("here", BRIDGE_ON_A_BRIDGE)
    engine.apply()
    got = mtus()
    assert (got["br0"], got["a10"], got["br1"]) == (9216, 8000, 9000)
    assert not engine.diff().steps
