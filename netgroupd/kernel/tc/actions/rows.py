# SPDX-License-Identifier: GPL-2.0-or-later
"""Fields of actions that are one attribute each."""

from collections.abc import Mapping

from netgroupd.kernel.netlink.message import attr
from netgroupd.model.tc.action import FIELDS
from netgroupd.model.value import Value


def packed(kind: str, name: str, value: Value) -> bytes:
    """One field as the kernel holds it."""
    pack = FIELDS[kind][name].pack
    assert pack is not None, name
    return pack(value)


def simple(kind: str, numbers: Mapping[str, int], fields: Mapping[str, Value]) -> bytes:
    """The attributes of those of ``fields`` that have a number."""
    return b"".join(
        attr(number, packed(kind, name, fields[name])) for name, number in numbers.items() if name in fields
    )


def read(kind: str, numbers: Mapping[str, int], found: Mapping[int, memoryview]) -> dict[str, Value]:
    """The fields that have a number and are there."""
    fields: dict[str, Value] = {}
    for name, number in numbers.items():
        unpack = FIELDS[kind][name].unpack
        if number in found and unpack:
            fields[name] = unpack(bytes(found[number]))
    return fields
