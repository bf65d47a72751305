# SPDX-License-Identifier: GPL-2.0-or-later
"""Qdiscs see real packets: what leaves a link is told by the qdisc that it leaves through."""

import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step
from tests.vm.hosts import EngineIn
from tests.vm.tc_cases import SETUP, qdisc, rule, tclass
from tests.vm.tc_wire import ETH_P_ALL, ip4, udp
from tests.waiting import PATIENCE_S

_SO_TXTIME = 61


class Way:
    """Out of v0, through its qdisc."""

    def __init__(self) -> None:
        self.near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.near.bind(("v0", 0))
        self.far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.far.bind(("v1", ETH_P_ALL))
        self.far.settimeout(PATIENCE_S)

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
    assert {way.came(), way.came()} == {0, 6}  # of two queues of one class either may be the first


def test_drr_lets_through_what_a_rule_puts_into_a_class(way: Way) -> None:
    into = [
        rule("flower", {"dst_port": str(port), "ip_proto": "udp"}, protocol="ip", parent="1:", pref=port, classid=said)
        for port, said in ((1, "1:1"), (2, "1:2"), (3, "1:3"))
    ]
    classes = [tclass("drr", {}, f"1:{number}") for number in (1, 2)]
    _put(qdisc("drr", {}), *classes, _lossy("1:1"), *into)
    for port in (1, 2, 3, 4, 2):
        way.send(0, port)
    assert [way.came(), way.came()] == [2, 2]


def test_cbs_sends_no_more_than_its_credit(way: Way) -> None:
    slopes = {"idleslope": 8, "sendslope": 8 - 10_000_000, "hicredit": 60, "locredit": -1500}  # 1000 bytes a second
    _put(qdisc("cbs", slopes))
    begin = time.monotonic()
    for port in range(16):
        way.send(0, port)
    assert [way.came() for _ in range(16)] == [*range(16)]
    assert time.monotonic() - begin > 0.7  # 15 frames of 59 bytes behind the first


def test_etf_sends_packets_in_the_order_of_their_times(way: Way) -> None:
    _put(qdisc("etf", {"delta": "2s"}))
    way.near.setsockopt(socket.SOL_SOCKET, _SO_TXTIME, struct.pack("=iI", time.CLOCK_TAI, 0))
    begin, now = time.monotonic(), time.clock_gettime_ns(time.CLOCK_TAI)
    for port, seconds in ((1, 5), (2, 4)):
        at = struct.pack("=Q", now + seconds * 1_000_000_000)
        way.near.sendmsg([ip4(udp(dport=port))], [(socket.SOL_SOCKET, _SO_TXTIME, at)])
    with pytest.raises(OSError, match="No buffer space"):
        way.send(0, 3)  # without a time
    assert [way.came(), way.came()] == [2, 1]
    assert time.monotonic() - begin > 1.9


def test_gate_of_taprio_is_shut_for_one_class_and_open_for_another(way: Way) -> None:
    queues = {"num_tc": 2, "map": [0, 1] * 8, "queues": [2, 0, 2, 2]}
    _put(qdisc("taprio", {**queues, "sched_entry": ["S 01 1ms", "S 00 1ms"], "clockid": "monotonic"}))
    time.sleep(0.5)  # until the first cycle all are open
    for priority in (1, 0, 7, 6):
        way.send(priority, priority)
    assert {way.came(), way.came()} == {0, 6}  # of two queues of one class either may be the first


_TREES = {
    "etf": "qdiscs: [{kind: mq, handle: '1:'}, {kind: etf, handle: '2:', parent: '1:2', delta: 200us}]",
    "taprio_with_etf": "qdiscs: [{kind: taprio, handle: '1:', num_tc: 2, map: [%s], queues: [2, 0, 2, 2], clockid: TAI,"
    " flags: 1, txtime_delay: 200us, sched_entry: [S 01 900us, S 02 100us]},"
    " {kind: etf, parent: '1:2', handle: '2:', delta: 200us, skip_sock_check: true}]" % ("0, 1, " * 8),
    "taprio": "qdiscs: [{kind: taprio, handle: '1:', num_tc: 2, map: [%s], queues: [2, 0, 2, 2], clockid: TAI,"
    " base_time: 5s, sched_entry: [S 01 300us, S 02 1ms]}, {kind: pfifo, parent: '1:4', handle: '2:', limit: 7}]"
    % ("0, 1, " * 8),
    "cbs": "qdiscs: [{kind: cbs, handle: '1:', idleslope: 98688, sendslope: -901312, hicredit: 153, locredit: -1389},"
    " {kind: pfifo, parent: '1:1', handle: '2:', limit: 7}]",
    "drr": "qdiscs: {kind: drr, handle: '1:'}, classes: [{classid: '1:1', quantum: 3k}, {classid: '1:2'}],"
    " filters: {parent: '1:', pref: 1, matchall: {}, classid: '1:2'}",
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


def test_band_of_ets_goes_and_comes_with_the_qdisc_in_it(engine_in: EngineIn) -> None:
    small, large = (
        f"links: {{v0: {{kind: dummy, up: true}}}}\ntc: {{v0: {{qdiscs: [{said}]}}}}\n"
        for said in (
            "{kind: ets, handle: '1:', bands: 2}",
            "{kind: ets, handle: '1:', strict: 1, quanta: [1500, 3000, 3000]},"
            " {kind: pfifo, parent: '1:4', handle: '4:', limit: 7}",
        )
    )
    for text in (large, small, large):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
    engine_in("here", text).rollback()
    assert not engine_in("here", small).diff().steps
