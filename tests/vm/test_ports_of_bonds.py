# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs as ports of bonds and teams, which bring them up: the link below is up before, all in one change."""

import json

import pytest

from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling, become, there_and_back
from tests.vm.witness import Witness

pytestmark = pytest.mark.vm("stock")

_ONE = "links: {%s: {kind: %s, up: on, ports: t0.5}, t0: {kind: dummy, up: on}}\n"
_STACKED = """links:
  b0: {kind: bond, mode: active-backup, up: on, ports: [t0.5.6, t1.5]}
  t[0-1]: {kind: dummy, up: on}
  b0.7: {up: on, addresses: 192.0.2.1/24}
"""


def _up(name: str) -> bool:
    return "UP" in json.loads(here(f"ip -j link show dev {name}"))[0]["flags"]


@pytest.mark.parametrize("kind", ["bond", "team"])
def test_vlan_is_a_port_of_what_is_made_with_it(engine_in: EngineIn, kind: str) -> None:
    engine = engine_in("here", _ONE % ("b0", kind))
    engine.apply()
    assert not engine.diff().steps
    assert _up("t0.5")
    engine.rollback(0)
    assert "t0" not in here("ip link")


@pytest.mark.parametrize("kind", ["bond", "team"])
def test_link_below_was_down(engine_in: EngineIn, kind: str) -> None:
    engine = engine_in("here", _ONE % ("b0", kind))
    here("ip link add t0 type dummy")
    engine.apply()
    assert not engine.diff().steps
    engine.rollback(0)
    assert not _up("t0")


def test_vlans_of_vlans_and_what_stands_on_the_bond(engine_in: EngineIn) -> None:
    engine = engine_in("here", _STACKED)
    engine.apply()
    assert not engine.diff().steps
    assert _up("t0.5.6")
    assert _up("b0.7")


_QUEUES = """links:
  b0: {kind: bond, ports: 't[0-1]'}
  t0: {kind: dummy, port: {queue_id: %s}}
  t1: {kind: dummy, port: {queue_id: %s}}
"""


@pytest.mark.parametrize("after", [(2, 1), (2, 3), (0, 1)])
def test_ports_of_a_bond_swap_their_queues(engine_in: EngineIn, after: tuple[int, int]) -> None:
    engine_in("here", _QUEUES % (1, 2)).apply()
    engine = engine_in("here", _QUEUES % after)
    engine.apply()
    assert not engine.diff().steps
    engine.rollback(1)
    assert "queue_id 1" in here("ip -d link show t0")


@pytest.mark.parametrize("kind", ["bond", "team"])
@pytest.mark.parametrize("there", [False, True], ids=["made", "there"])
def test_bridge_has_the_mac_of_its_ports_all_the_time(engine_in: EngineIn, kind: str, there: bool) -> None:
    bond = f"b0: {{kind: {kind}%s}}"
    text = """links:
      br: {kind: bridge}
      t0: {kind: dummy, master: br, mac: "fe:ff:ff:ff:ff:f0"}
      t1: {kind: dummy, mac: "fe:ff:ff:ff:ff:f8"%s}
      %s
    """
    engine_in("here", text % ("", bond % "" if there else "")).apply()
    engine = engine_in("here", text % (", master: b0", bond % ", master: br"))
    with Witness("here") as witness:
        engine.apply()
        assert not [one for one in witness.disturbed() if one.link == "br"]
    assert not engine.diff().steps
    engine.rollback(0)


_PORTS = "links: {'t[0-1]': {kind: dummy%s}%s}"  # which are made before what they are ports of
_STANDING = {
    "alone": ", b1: {kind: %s, mtu: %d, ports: 't[0-1]'}",
    "in_a_bond": ", b1: {kind: %s, master: b0, ports: 't[0-1]'}, b0: {kind: bond, mtu: %d}",
}


@pytest.mark.parametrize("standing", _STANDING)
@pytest.mark.parametrize("kind", ["bond", "team"])
def test_ports_are_as_large_as_theirs_again(kernel: Stumbling, kind: str, standing: str) -> None:
    become(kernel, state_of(_PORTS % ("", "")))
    become(kernel, state_of(_PORTS % ("", _STANDING[standing] % (kind, 1500))))
    there_and_back(kernel, state_of(_PORTS % ("", _STANDING[standing] % (kind, 1400))))


@pytest.mark.parametrize("kind", ["bond", "team"])
def test_ports_are_told_the_mtu_that_they_get(kernel: Stumbling, kind: str) -> None:
    become(kernel, state_of(_PORTS % ("", "")))
    for mtu in (1500, 1600):
        become(kernel, state_of(_PORTS % (f", mtu: {mtu}", _STANDING["alone"] % (kind, mtu))))


@pytest.mark.parametrize("kind", ["bond", "team"])
def test_ports_that_are_to_be_down_have_their_addresses_in_one_run(kernel: Stumbling, kind: str) -> None:
    on_it = "addresses: [10.0.0.1/24, '2001:db8::1/64'], neighbours: [{ip: 10.0.0.9, lladdr: 02:00:00:00:00:09}]"
    text = f"links: {{b: {{kind: {kind}, up: true}}, p: {{kind: dummy, up: false, {on_it}%s}}%s}}"
    become(kernel, state_of(text % ("", "")))
    new = ", n: {kind: dummy, up: false, master: b, addresses: ['2001:db8:1::1/64']}"
    become(kernel, state_of(text % (", master: b", new)))
