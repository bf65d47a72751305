# SPDX-License-Identifier: GPL-2.0-or-later
"""Qdiscs see real packets: what leaves a link is told by the qdisc that it leaves through."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step
from tests.vm.hosts import EngineIn
from tests.vm.tc_cases import SETUP, qdisc
from tests.vm.tc_wire import ETH_P_ALL, ip4, udp


class Way:
    """Out of v0, through its qdisc."""

    def __init__(self) -> None:
        self.near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.near.bind(("v0", 0))
        self.far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.far.bind(("v1", ETH_P_ALL))
        self.far.settimeout(20)

    def send(self, priority: int, port: int) -> None:
        """Send a packet of this priority to this port."""
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        self.near.send(ip4(udp(dport=port)))

    def came(self) -> int:
        """The port of the next packet that comes out."""
        return int.from_bytes(self.far.recv(2048)[36:38], "big")


@pytest.fixture
def way() -> Iterator[Way]:
    """A veth pair whose ends say nothing by themselves."""
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    opened = Way()
    with closing(opened.near), closing(opened.far):
        yield opened


def _put(*objects: Object) -> None:
    with Kernel() as kernel:
        refused = kernel.apply([Step(Op.CREATE, None, obj, obj.attrs) for obj in objects])
        assert not refused, [str(one.refusal) for one in refused]


def _lossy(parent: str) -> Object:
    return qdisc("netem", {"loss": 100}, parent=parent, handle="9:")


def test_band_of_ets_is_that_of_the_priority(way: Way) -> None:
    _put(qdisc("ets", {"strict": 1, "quanta": [1500, 1500], "priomap": [2, 1] * 8}), _lossy("1:2"))
    for priority in (1, 0, 7, 6):
        way.send(priority, priority)
    assert [way.came(), way.came()] == [0, 6]


_TREES = {
    "ets": "qdiscs: {kind: ets, handle: '1:', strict: 2, quanta: [9000, 3000], priomap: [%s]}" % ("3, " * 16),
}


@pytest.mark.parametrize("tree", _TREES.values(), ids=_TREES)
def test_tree_is_captured_as_it_is_said(engine_in: EngineIn, tree: str) -> None:
    text = f"links: {{v0: {{kind: veth, peer: v1, numtxqueues: 4, up: true}}}}\ntc: {{v0: {{{tree}}}}}\n"
    engine_in("here", text).apply()
    assert not engine_in("here", text).diff().steps
    captured = engine_in("here", text).capture()
    engine_in("there", captured).apply()
    assert not engine_in("there", text).diff().steps
    assert engine_in("there", captured).capture() == captured
