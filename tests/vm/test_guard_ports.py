# SPDX-License-Identifier: GPL-2.0-or-later
"""Of the ports of a bridge, the guard holds the one that the session comes by, and lets the others go."""

import socket
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.errors import GuardError
from tests.engine.guard_tc_cases import LOCAL, PEER
from tests.vm.test_guard_links import engine_in, ip, reaches, server
from tests.waiting import eventually

__all__ = ["server"]

_PORTS = """\
-n here link add eth2 up type veth peer name eth2 netns there
-n there link set eth2 up
-n here link add br0 up type bridge {options}
-n here link set eth1 master br0
-n here link set eth2 master br0
"""
_PLAIN = f"-n here address add {LOCAL}/8 dev br0\n-n there address add {PEER}/8 dev eth1\n"
_TAGGED = f"""\
-n here link add link br0 name br0.10 up type vlan id 10
-n there link add link eth1 name eth1.10 up type vlan id 10
-n here address add {LOCAL}/8 dev br0.10
-n there address add {PEER}/8 dev eth1.10
"""
_BRIDGE = "{kind: bridge, ports: [eth1, eth2]}"
_FILTERING = "{kind: bridge, vlan_filtering: true, vlans: ['10'], ports: [eth1, eth2]}"
_UNTAGGED = "{vlans: [{vid: 7, pvid: true, untagged: true}]}"
# What is there by hand, what files make of it, and what then goes.
CASES = {
    "out_of_the_bridge": (_PLAIN, f"br0: {_BRIDGE}", "br0: {kind: bridge, ports: [KEPT]}"),
    "down": (_PLAIN, f"br0: {_BRIDGE}, GONE: {{up: true}}", f"br0: {_BRIDGE}, GONE: {{up: false}}"),
    "out_of_the_vlan": (
        _TAGGED,
        f"br0: {_FILTERING}, KEPT: {{vlans: ['10']}}, GONE: {{vlans: ['10']}}",
        f"br0: {_FILTERING}, KEPT: {{vlans: ['10']}}, GONE: {{vlans: ['11']}}",
    ),
    "another_vlan_without_tag": (_PLAIN, f"br0: {_FILTERING}", f"br0: {_FILTERING}, GONE: {_UNTAGGED}"),
}


@pytest.mark.vm("stock")
@pytest.mark.parametrize(("setup", "now", "then"), CASES.values(), ids=CASES.keys())
def test_port_that_the_session_does_not_come_by_may_go(
    server: socket.socket, tmp_path: Path, setup: str, now: str, then: str
) -> None:
    ip(_PORTS.format(options="vlan_filtering 1" if _FILTERING in now else "") + setup)

    def engine(text: str, gone: str, kept: str) -> Engine:
        return engine_in("here", tmp_path, f"links: {{{text}}}".replace("GONE", gone).replace("KEPT", kept))

    engine(now, "eth1", "eth2").apply()
    eventually(lambda: reaches(server))
    with pytest.raises(GuardError, match=f"your session from {PEER}; --allow eth1"):
        engine(then, "eth1", "eth2").apply()
    engine(now, "eth2", "eth1").apply()
    engine(then, "eth2", "eth1").apply()
    eventually(lambda: reaches(server))
