# SPDX-License-Identifier: GPL-2.0-or-later
"""What mqprio and taprio leave to hardware: told as ``tc`` tells it, and refused in a sentence where none takes it."""

import errno
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.message import attributes
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.tc.mqprio import pack_mqprio
from netgroupd.kernel.tc.taprio import unpack_taprio
from netgroupd.kernel.tc.tcmsg import HEADER, OPTIONS, RTM_NEWQDISC
from netgroupd.model.state import Object, State
from netgroupd.model.tc import queues
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.hooks import hooks_of
from tests.kernel.test_tc_mqprio import OF_TC, TOLD
from tests.vm.tc_wire import ETH_P_ALL

_BUS = Path("/sys/bus/netdevsim")
_QUEUES = ["ip", "link", "add", "v0", "numtxqueues", "4", "type", "veth", "peer", "name", "v1"]
_HEADER = 16  # of a netlink message


@pytest.fixture
def card() -> Iterator[str]:
    """A simulated network card with four queues, which leaves mqprio to nobody; other tests have other numbers."""
    before = {name for _, name in socket.if_nameindex()}
    (_BUS / "new_device").write_text("10 1 4")
    try:
        (name,) = {name for _, name in socket.if_nameindex()} - before
        yield name
    finally:
        (_BUS / "del_device").write_text("10")


@pytest.fixture
def tap() -> Iterator[socket.socket]:
    """A socket that hears all netlink messages."""
    subprocess.run(["ip", "-batch", "-"], input="link add n0 type nlmon\nlink set n0 up", text=True, check=True)
    with closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))) as tapped:
        tapped.bind(("n0", ETH_P_ALL))
        yield tapped
    subprocess.run(["ip", "link", "del", "n0"], check=True)


def _told(tap: socket.socket) -> bytes:
    """The options of the next qdisc that somebody asks for."""
    while True:
        message = tap.recv(65536)
        if int.from_bytes(message[4:6], "little") == RTM_NEWQDISC:
            return bytes(attributes(memoryview(message), _HEADER + HEADER.size)[OPTIONS])


def test_schedule_for_a_card_is_told_as_tc_tells_it(card: str, tap: socket.socket) -> None:
    said = "num_tc 2 map 0 1 queues 2@0 2@2 base-time 7 sched-entry S 01 300000 sched-entry S 02 500000 flags 0x2"
    command = ["tc", *f"qdisc add dev {card} root handle 1: taprio {said}".split()]
    sentence = "Device does not have a PTP clock"
    assert sentence in subprocess.run(command, capture_output=True, text=True, check=False).stderr
    wanted = queues.whole("taprio", unpack_taprio(memoryview(_told(tap))))
    assert (wanted["flags"], wanted["sched_entry"]) == (2, ("S 01 300000", "S 02 500000"))
    assert _refused(card, wanted, "taprio")[1] == sentence
    assert unpack_taprio(memoryview(_told(tap))) == {**wanted, "cycle_time_extension": 0}


def _root(kernel: Kernel, link: str) -> Object:
    return kernel.dump(Selection(classes=frozenset({"qdisc"}), everything=True)).of("qdisc")[link, "root"]


@pytest.mark.parametrize("said", OF_TC)
def test_options_are_told_as_tc_tells_them(card: str, tap: socket.socket, said: str) -> None:
    command = ["tc", *f"qdisc add dev {card} root handle 1: mqprio {said}".split()]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Operation not supported" in refused.stderr
    attrs, wanted = OF_TC[said]
    assert _told(tap).hex() == wanted
    assert pack_mqprio(attrs).hex() == wanted


def _refused(link: str, attrs: Mapping[str, Value], kind: str = "mqprio") -> tuple[int, str]:
    wanted = Object("qdisc", (link, "root"), {"kind": kind, "handle": "1:", **attrs})
    with Kernel() as kernel:
        (refused,) = kernel.apply([Step(Op.CREATE, None, wanted, wanted.attrs)])
        there = kernel.dump(Selection(classes=frozenset({"qdisc"}), hooks=hooks_of(State((wanted,)))))
        assert [*there] == []
    return refused.refusal.errno, refused.refusal.sentence


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ({}, (errno.EOPNOTSUPP, "Operation not supported")),
        ({"fp": ("express", "express")}, (errno.EOPNOTSUPP, "Operation not supported")),
        ({"fp": ("express", "preemptible")}, (errno.EOPNOTSUPP, "Device does not support preemption")),
        ({"shaper": "dcb"}, (errno.EINVAL, "min_rate accepted only when shaper is in bw_rlimit mode")),
    ],
    ids=["rates", "express", "preemptible", "rates_of_another_shaper"],
)
def test_card_that_takes_none_of_it_says_so(card: str, more: Mapping[str, Value], want: tuple[int, str]) -> None:
    number, sentence = _refused(card, {**TOLD, **more})
    assert (number, sentence.partition(" (")[0]) == want


def test_link_without_hardware_says_so() -> None:
    subprocess.run(_QUEUES, check=True)
    assert _refused("v0", TOLD) == (errno.EINVAL, "Device does not support hardware offload")


def test_kernel_tells_nothing_of_hardware_where_there_is_none() -> None:
    subprocess.run(_QUEUES, check=True)
    said = "qdisc add dev v0 root handle 1: mqprio num_tc 2 map 0 1 0 1 0 1 0 1 queues 2@0 2@2 hw 0"
    subprocess.run(["tc", *said.split()], check=True)
    with Kernel() as kernel:
        found = _root(kernel, "v0")
    assert found.attrs.keys() == {"kind", "handle", "num_tc", "map", "queues", "hw"}
