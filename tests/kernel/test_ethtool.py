# SPDX-License-Identifier: GPL-2.0-or-later
"""Bitsets on the wire, what features are told as, and what is said to a driver that no guest has."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import bitset
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import attributes
from netgroupd.kernel.netlink.request import Call, Context
from netgroupd.kernel.settings.ethtool import CODEC, unpack
from netgroupd.kernel.settings.ethtool_features import Features, changed, values
from netgroupd.model.ethtool import FAMILIES, PARTS
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, Step

NAMES = ["rx-gro", *FAMILIES["tso"], *FAMILIES["sg"]]
NUMBERS = {name: place for place, name in enumerate(NAMES, 40)}
ALL = sum(1 << number for number in NUMBERS.values())


def of(*names: str) -> int:
    return sum(1 << NUMBERS[name] for name in names)


GRO, TSO, ECN, TSO6 = (of(name) for name in NAMES[:4])


def nested(message: bytes) -> memoryview:
    """The payload of a nest that is packed alone."""
    (payload,) = attributes(memoryview(message)).values()
    return payload


def test_compact_bits_come_back() -> None:
    value, mask = of("rx-gro"), of("rx-gro", "tx-tcp-segmentation")
    assert bitset.unpack_compact(nested(bitset.compact(3, 64, value, mask))) == (value, mask)
    assert len(attributes(nested(bitset.compact(3, 33, 1, 1)))[4]) == 8  # in words of 32 bits


def test_named_bits_come_back() -> None:
    said = {"one": True, "other": False}
    assert bitset.unpack_named(nested(bitset.changed(2, said))) == said
    assert bitset.unpack_named(nested(bitset.exactly(2, ("one", "two")))) == {"one": True, "two": True}
    assert bitset.unpack_named(nested(bitset.exactly(2, ()))) == {}


TOLD = [
    pytest.param("rx-gro", Features(ALL, GRO, GRO), True, id="on"),
    pytest.param("rx-gro", Features(ALL, 0, 0), False, id="off"),
    pytest.param("rx-gro", Features(ALL, GRO, 0), "off [requested on]", id="kept_off"),
    pytest.param("rx-gro", Features(ALL, 0, GRO), "on [requested off]", id="kept_on"),
    pytest.param("rx-gro", Features(0, 0, GRO), True, id="fixed"),
    pytest.param("tso", Features(ALL, TSO | ECN | TSO6, TSO | ECN | TSO6), True, id="all"),
    pytest.param("tso", Features(TSO | TSO6, TSO | TSO6, TSO | TSO6), True, id="all_that_can_change"),
    pytest.param("tso", Features(ALL, TSO6, TSO6), "tx-tcp6-segmentation", id="one"),
    pytest.param("tso", Features(ALL, TSO | ECN | TSO6, 0), "off [requested on]", id="all_kept_off"),
    pytest.param("tso", Features(ALL, TSO, 0), "off [requested tx-tcp-segmentation]", id="one_kept_off"),
    pytest.param("tso", Features(0, 0, 0), False, id="none_there"),
    pytest.param("tso", Features(0, 0, ECN), True, id="one_fixed"),
]


@pytest.mark.parametrize(("name", "features", "want"), TOLD)
def test_feature_is_told(name: str, features: Features, want: Value) -> None:
    assert values(features, (name,), NUMBERS) == {name: want}


def test_feature_that_the_kernel_does_not_know_is_not_told() -> None:
    assert values(Features(ALL, ALL, ALL), ("tx-foo", "tx"), NUMBERS) == {}


CHANGED = [
    pytest.param(Features(ALL, ALL, ALL), Features(ALL, ALL, ALL), {}, id="nothing"),
    pytest.param(Features(ALL, ALL & ~GRO, ALL & ~GRO), Features(ALL, ALL, ALL), {"rx-gro": False}, id="one"),
    pytest.param(Features(ALL, GRO, GRO), Features(ALL, ALL, ALL), {"sg": False, "tso": False}, id="words_for_several"),
    pytest.param(
        Features(ALL, ALL & ~TSO, ALL & ~TSO), Features(ALL, ALL, ALL), {"tx-tcp-segmentation": False}, id="one_of_them"
    ),
    pytest.param(Features(ALL, ALL & ~GRO, ALL), Features(ALL, ALL, ALL), {}, id="wish_that_is_not_fulfilled"),
    pytest.param(Features(ALL & ~GRO, 0, 0), Features(ALL, GRO, GRO), {}, id="cannot_be_changed"),
]


@pytest.mark.parametrize(("features", "usual", "want"), CHANGED)
def test_what_somebody_changed_is_found(features: Features, usual: Features, want: Mapping[str, Value]) -> None:
    assert changed(features, usual, NUMBERS) == want


class Driver:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int, bytes]] = []

    def tell(self, family: str, command: int, *body: bytes) -> None:
        self.said.append((family, command, b"".join(body)))


def told(part: str, attrs: dict[str, Value], differs: dict[str, Value] | None = None) -> Mapping[int, memoryview]:
    """What a driver is told that is to have ``attrs``, of which so much ``differs``, but for its header."""
    driver, names = Driver(), Names()
    names.note("e1", 7)
    context = Context(cast(Any, None), names, cast(Any, None), None, cast(Generic, driver))
    wanted = Object("ethtool", ("e1", part), attrs)
    (call,) = CODEC.encode(Step(Op.CHANGE, wanted, wanted, attrs if differs is None else differs), context)
    assert isinstance(call, Call)
    call.run()
    ((family, command, body),) = driver.said
    assert (family, command) == ("ethtool", PARTS[part].set)
    found = attributes(memoryview(body))
    assert bytes(attributes(found[1])[1]) == (7).to_bytes(4, "little")
    return {kind: payload for kind, payload in found.items() if kind != 1}


SAID: list[tuple[str, dict[str, Value]]] = [
    ("wol", {"modes": ("magic", "ucast")}),
    ("wol", {"modes": ()}),
    ("private_flags", {"link-down-on-close": True, "legacy-rx": False}),
    ("fec", {"modes": ("baser", "off"), "auto": False}),
    ("link_modes", {"speed": 1000, "duplex": "full", "autoneg": False}),
    ("rings", {"rx": 5, "tcp_data_split": "on", "tx_push": True}),
    (
        "coalesce",
        {name: 5 if row.wire not in (11, 12, 24, 25) else True for name, row in PARTS["coalesce"].attrs.items()},
    ),
]


@pytest.mark.parametrize(("part", "attrs"), SAID)
def test_what_is_said_is_what_is_read(part: str, attrs: dict[str, Value]) -> None:
    assert unpack(part, told(part, attrs), (), cast(Generic, None)) == attrs


@pytest.mark.parametrize(("part", "whole"), [("link_modes", True), ("rings", False)])
def test_of_link_modes_all_that_is_wanted_is_said_and_else_what_differs(part: str, *, whole: bool) -> None:
    attrs = dict(next(attrs for of, attrs in SAID if of == part))
    differs = dict([attrs.popitem()])
    found = unpack(part, told(part, {**attrs, **differs}, differs), (), cast(Generic, None))
    assert found == ({**attrs, **differs} if whole else differs)


def test_speed_of_a_link_without_a_carrier_is_not_told() -> None:
    unknown: dict[str, Value] = {"speed": 0xFFFFFFFF, "duplex": 0xFF, "autoneg": True}
    assert unpack("link_modes", told("link_modes", unknown), (), cast(Generic, None)) == {"autoneg": True}


def test_nothing_is_said_of_what_no_file_mentions_any_more() -> None:
    gone = Object("ethtool", ("e1", "rings"), {"rx": 5})
    assert [*CODEC.encode(Step(Op.DELETE, gone, None), cast(Context, None))] == []
