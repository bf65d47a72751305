# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of addresses, VLANs of ports and ports of bonds that the guard lets pass keep what goes by them."""

import socket
import subprocess
from pathlib import Path

import pytest

from netgroupd.engine.session import CONSOLE
from netgroupd.errors import GuardError
from tests.engine.guard_tc_cases import LOCAL, PEER
from tests.vm.test_guard_links import engine_in, ip, reaches, server
from tests.waiting import eventually

__all__ = ["server"]
pytestmark = [pytest.mark.vm("stock"), pytest.mark.usefixtures("server")]

_BOND = "bond0: {kind: bond, mode: active-backup, miimon: 50, up: true, ports: [%s], addresses: [%s/8]}"
_BEHIND = f"""\
-n there address add {PEER}/32 dev lo
-n there link set lo up
-n there route add {LOCAL}/32 via 192.0.2.1
"""
_SECOND = """\
-n here link add eth2 type veth peer name eth2 netns there
-n here link set eth2 up
-n there link set eth2 up
-n there link add b0 up type bridge
-n there link set eth1 master b0
-n there link set eth2 master b0
"""


def test_address_of_a_session_gets_another_length(server: socket.socket, tmp_path: Path) -> None:
    ip(f"-n there address add {PEER}/8 dev eth1")
    engine_in("here", tmp_path, f"links: {{eth1: {{addresses: [192.0.2.1/24, {LOCAL}/8]}}}}").apply()
    eventually(lambda: reaches(server))
    engine_in("here", tmp_path, f"links: {{eth1: {{addresses: [192.0.2.1/24, {LOCAL}/9]}}}}").apply()
    eventually(lambda: reaches(server))


@pytest.mark.parametrize("others", [False, True], ids=["ours", "of_others"])
def test_subnet_of_the_default_route_is_numbered_anew(tmp_path: Path, others: bool) -> None:
    route = "" if others else "routes: [{to: default, via: 192.0.2.2}]"
    text = "links: {eth1: {addresses: [192.0.2.%s]}}\n" + route
    engine_in("here", tmp_path, text % "1/24", CONSOLE).apply()
    if others:
        ip("-n here route add default via 192.0.2.2")
    engine_in("here", tmp_path, text % "7/25", CONSOLE).apply()
    got = subprocess.run(["ip", "-n", "here", "route", "get", PEER], check=True, capture_output=True, text=True)
    assert "via 192.0.2.2 dev eth1 src 192.0.2.7" in got.stdout
    assert not engine_in("here", tmp_path, text % "7/25", CONSOLE).diff().steps


def test_link_that_has_nothing_but_the_address_of_a_session(server: socket.socket, tmp_path: Path) -> None:
    ip(_BEHIND)
    text = "links: {eth1: {addresses: [192.0.2.1/24]}%s}\nroutes: [{to: default, via: 192.0.2.2}]"
    engine_in("here", tmp_path, text % f", d0: {{kind: dummy, up: true, addresses: [{LOCAL}/32]}}").apply()
    eventually(lambda: reaches(server))
    engine = engine_in("here", tmp_path, text % "")
    with pytest.raises(GuardError, match="to delete dummy d0 would cut the way of your session"):
        engine.apply()
    engine.apply(allow=frozenset({"d0"}))
    assert not reaches(server)


def test_bond_goes_on_with_another_port(server: socket.socket, tmp_path: Path) -> None:
    ip(f"{_SECOND}-n there address add {PEER}/8 dev b0")
    engine_in("here", tmp_path, f"links: {{eth1: {{}}, eth2: {{}}, {_BOND % ('eth1, eth2', LOCAL)}}}").apply()
    eventually(lambda: reaches(server))
    engine_in("here", tmp_path, f"links: {{eth1: {{}}, eth2: {{}}, {_BOND % ('eth2', LOCAL)}}}").apply()
    eventually(lambda: reaches(server))
    engine = engine_in("here", tmp_path, f"links: {{eth1: {{}}, eth2: {{}}, {_BOND % ('', LOCAL)}}}")
    with pytest.raises(GuardError, match="--allow eth2 says"):
        engine.apply()
    engine.apply(allow=frozenset({"eth2"}))
    assert not reaches(server)


_TAGGED = """\
-n there link add link eth1 name v type vlan id 5
-n there link set v up
"""
_BRIDGED = (
    "links: {br0: {kind: bridge, vlan_filtering: true, up: true, ports: eth1, vlans: [5, 10]}, "
    "br0.5: {up: true, addresses: [%s/8]}, eth1: {vlans: [%s]}}"
)


def test_way_goes_on_in_its_vlan(server: socket.socket, tmp_path: Path) -> None:
    ip(f"{_TAGGED}-n there address add {PEER}/8 dev v")
    engine_in("here", tmp_path, _BRIDGED % (LOCAL, "5, 10")).apply()
    eventually(lambda: reaches(server))
    engine_in("here", tmp_path, _BRIDGED % (LOCAL, "5, {vid: 7, pvid: true, untagged: true}")).apply()
    eventually(lambda: reaches(server))
    engine = engine_in("here", tmp_path, _BRIDGED % (LOCAL, "10"))
    with pytest.raises(GuardError, match="to delete bridge_vlan eth1 vid 5 would cut the way of your session"):
        engine.apply()
    engine.apply(allow=frozenset({"eth1"}))
    assert not reaches(server)
