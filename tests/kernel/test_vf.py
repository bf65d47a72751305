# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions as bytes: what goes together, and the GUIDs, which no simulated card has."""

import struct

import pytest

from netgroupd.kernel import vf
from netgroupd.kernel.netlink.message import attr, attributes, nest, walk
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, Step

GUID = "00:11:22:33:44:55:66:77"


def told(before: dict[str, Value], said: dict[str, Value]) -> list[dict[int, bytes]]:
    """The attributes of each IFLA_VF_INFO about function 3."""
    one, other = (Object("vf", ("eth0", 3), attrs) for attrs in (before, {**before, **said}))
    parts = nest(22, *vf._told(Step(Op.CHANGE, one, other, said)))
    found = attributes(memoryview(parts), 4)
    assert not found or set(found) == {1}
    inner = memoryview(parts)[4:]
    return [
        {kind: bytes(payload) for kind, payload in attributes(inner, start, end).items()}
        for _, start, end in walk(inner, 0)
    ]


def test_vlan_goes_with_its_tag_and_both_rates_together() -> None:
    before: dict[str, Value] = {"vlan": 5, "qos": 3, "proto": "802.1ad", "min_tx_rate": 7, "max_tx_rate": 9}
    (found,) = told(before, {"vlan": 6, "max_tx_rate": 8})
    assert bytes(attributes(memoryview(found[12]))[1]) == struct.pack("=III", 3, 6, 3) + b"\x88\xa8\0\0"
    assert found[6] == struct.pack("=III", 3, 7, 8)
    assert found.keys() == {12, 6}


def test_each_guid_is_told_apart_from_all_else() -> None:
    found = told({}, {"trust": True, "node_guid": GUID, "port_guid": GUID})
    payload = struct.pack("=I4xQ", 3, 0x0011223344556677)
    assert found == [{9: struct.pack("=II", 3, 1)}, {10: payload}, {11: payload}]


def test_guids_are_read_as_they_are_written() -> None:
    number = struct.pack("=I", 3)
    function = b"".join(
        (attr(1, number + bytes(32)), attr(10, number + bytes(4) + struct.pack("=Q", 0x0011223344556677)))
    )
    assert vf._read(attributes(memoryview(function))) == {"mac": "00:00:00:00:00:00", "node_guid": GUID}


@pytest.mark.parametrize(("number", "want"), [(0xFFFFFFFF, {}), (0, {"spoofchk": False}), (1, {"spoofchk": True})])
def test_what_a_driver_does_not_tell_is_left_out(number: int, want: dict[str, Value]) -> None:
    function = b"".join((attr(1, struct.pack("=I32x", 3)), attr(4, struct.pack("=II", 3, number))))
    assert vf._read(attributes(memoryview(function))) == {"mac": "00:00:00:00:00:00", **want}


@pytest.mark.parametrize(("tag", "want"), [(b"\0\0", "802.1q"), (b"\x81\0", "802.1q"), (b"\x88\xa8", "802.1ad")])
def test_driver_that_tells_of_no_tag_has_the_usual_one(tag: bytes, want: str) -> None:
    vlan = nest(12, attr(1, struct.pack("=III2s2x", 3, 0, 0, tag)))
    found = vf._read(attributes(memoryview(attr(1, struct.pack("=I32x", 3)) + vlan)))
    assert found["proto"] == want


def test_message_about_the_most_functions_fits_the_list() -> None:
    said: dict[str, Value] = {
        "mac": "02:00:00:00:00:01",
        "vlan": 5,
        "max_tx_rate": 9,
        "spoofchk": True,
        "state": "auto",
        "query_rss": True,
        "trust": True,
        "node_guid": GUID,
        "port_guid": GUID,
    }
    one = Object("vf", ("eth0", 3), said)
    from netgroupd.plan.vf import MOST  # noqa: PLC0415

    assert MOST * len(b"".join(vf._told(Step(Op.CREATE, None, one, said)))) < 1 << 16
