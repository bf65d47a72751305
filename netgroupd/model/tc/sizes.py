# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of packets as a link takes them (stab): what is said of it, and the table that the kernel looks them up in.

The kernel tells what the table was made for, not the table, and forgets both with any
change that does not say them again.
"""

from collections.abc import Mapping
from typing import NamedTuple

from netgroupd.model.state import integer
from netgroupd.model.tc.rates import LINK_LAYERS
from netgroupd.model.value import U16, Type, Value, number, record, word

_MTU, _ENTRIES = 2047, 512
_CELL, _PAYLOAD = 53, 48  # of ATM
_LARGEST = 0xFFFF
_FIELDS: Mapping[str, Type] = {
    "overhead": number(32, -(1 << 15), (1 << 15) - 1),
    "mpu": U16,
    "linklayer": word(8, LINK_LAYERS),
    "mtu": number(32, 0, 1 << 20),
    "tsize": number(16, 0, 4096),
}
_RECORD = record(_FIELDS)


def _parse(raw: object) -> Value:
    said = _RECORD.parse(raw)
    assert isinstance(said, Mapping)
    usual = {"overhead": 0, "mpu": 0, "linklayer": "ethernet", **said}
    if usual["linklayer"] == "ethernet" and not usual["mpu"]:
        return {**usual, "mtu": 0, "tsize": 0}  # a sum takes no table
    return {**usual, "mtu": said.get("mtu") or _MTU, "tsize": said.get("tsize") or _ENTRIES}


STAB = _RECORD._replace(parse=_parse)


class Table(NamedTuple):
    """A size is divided by a power of 2 to find its place, and what is there is multiplied by another."""

    cell_log: int
    size_log: int
    cell_align: int
    sizes: tuple[int, ...]


def table(stab: Mapping[str, Value]) -> Table:
    """The table for the sizes up to ``mtu``, as ``tc`` makes it; none where there is nothing to look up."""
    mtu, entries, mpu = (integer(stab, name) for name in ("mtu", "tsize", "mpu"))
    if not entries:
        return Table(0, 0, 0, ())
    cell_log = next(log for log in range(32) if mtu >> log <= entries - 1 or log == 31)
    atm = stab.get("linklayer") == "atm"
    sizes = [_on_link(max((place + 1) << cell_log, mpu), atm=atm) for place in range(entries)]
    size_log = next(log for log in range(32) if max(sizes) >> log <= _LARGEST)
    return Table(cell_log, size_log, -1, tuple(size >> size_log for size in sizes))


def _on_link(size: int, *, atm: bool) -> int:
    return -(-size // _PAYLOAD) * _CELL if atm else size
