# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of mqprio against the bytes that ``tc`` sends, and those that the kernel tells."""

from collections.abc import Mapping

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.kernel.netlink.message import attr, nest, u16, u32, u64
from netgroupd.kernel.tc.mqprio import pack_mqprio, unpack_mqprio
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from tests.config.reading import desired

_BASE: Mapping[str, Value] = {"num_tc": 2, "map": (0, 1) * 8, "queues": (2, 0, 2, 2), "hw": True}
_DCB: Mapping[str, Value] = {**_BASE, "mode": "dcb", "shaper": "dcb"}
TOLD: Mapping[str, Value] = {
    **_BASE,
    "mode": "channel",
    "shaper": "bw_rlimit",
    "min_rate": (125000, 250000),
    "max_rate": (375000, 10_000_000_000),
}
_SAID = "num_tc 2 map 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 queues 2@0 2@2 hw 1"
_STRUCTURE = "02" + "0001" * 8 + "01" + "02000200" + "0000" * 14 + "00000200" + "0000" * 14 + "0000"
_RATES = {
    number: f"c400{number}80 0c00{number}00 {first} 0c00{number}00 {second}" + f"0c00{number}00 0000000000000000" * 14
    for number, first, second in (
        ("03", "48e8010000000000", "90d0030000000000"),
        ("04", "d8b8050000000000", "00e40b5402000000"),
    )
}
OF_TC: Mapping[str, tuple[Mapping[str, Value], str]] = {
    _SAID: (_BASE, _STRUCTURE),
    f"{_SAID} mode dcb shaper dcb": (_DCB, _STRUCTURE),
    f"{_SAID} mode channel shaper bw_rlimit min_rate 1mbit 2mbit max_rate 3mbit 80gbit": (
        TOLD,
        (_STRUCTURE + "06000100 01000000 06000200 01000000" + _RATES["03"] + _RATES["04"]).replace(" ", ""),
    ),
}
"""What tc is told, what that is here, and what it sends."""


@pytest.mark.parametrize(("attrs", "want"), OF_TC.values(), ids=OF_TC)
def test_options_are_the_bytes_that_tc_sends(attrs: Mapping[str, Value], want: str) -> None:
    assert pack_mqprio(attrs).hex() == want


def _classes(*said: int) -> bytes:
    return b"".join(nest(5, u32(1, place), u32(2, one)) for place, one in enumerate((*said, *(1,) * (16 - len(said)))))


def test_preemption_is_told_class_by_class() -> None:
    packed = pack_mqprio({**_BASE, "fp": ("express", "preemptible")})
    assert packed[84:] == nest(5, u32(1, 0), u32(2, 1)) + nest(5, u32(1, 1), u32(2, 2))


def test_what_hardware_does_is_read_as_the_kernel_tells_it() -> None:
    rates = (attr(3, b"".join(u64(3, rate) for rate in (125000, 250000))), attr(4, u64(4, 375000) + u64(4, 10**10)))
    told = bytes.fromhex(_STRUCTURE) + u16(1, 1) + u16(2, 1) + b"".join(rates) + _classes(1, 2)
    assert unpack_mqprio(memoryview(told)) == {**TOLD, "fp": ("express", "preemptible")}


@pytest.mark.parametrize("attrs", [_DCB, TOLD, {**_BASE, "hw": False}], ids=["dcb", "channel", "software"])
def test_what_is_captured_can_be_said(attrs: Mapping[str, Value]) -> None:
    told = unpack_mqprio(memoryview(pack_mqprio(attrs) + _classes(2)))
    there = Object("qdisc", ("v0", "root"), {"kind": "mqprio", "handle": "1:", **told})
    found = desired(captured(State((there,)), {}, {}), known=("v0",)).state.of("qdisc")
    assert {key: one.attrs for key, one in found.items()} == {there.key: there.attrs}


def test_what_goes_without_saying_is_dcb() -> None:
    told = bytes.fromhex(_STRUCTURE) + _classes()
    assert unpack_mqprio(memoryview(told)) == {**_DCB, "fp": ("express", "express")}
    assert unpack_mqprio(memoryview(bytes.fromhex(_STRUCTURE))) == _DCB


def test_nothing_is_told_of_hardware_where_there_is_none() -> None:
    software = pack_mqprio({**_BASE, "hw": False})
    assert unpack_mqprio(memoryview(software + _classes())) == {**_BASE, "hw": False}
