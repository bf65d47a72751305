# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of the u32 rules that the kernel lists belong to the hook that was asked for.

Rules of u32 on one qdisc or block share their hash tables, so those of one
preference are listed with each chain and hook that has this preference.  The table
that a preference begins with tells them apart: the kernel says which it is, and
what no rule leads to from there is of another.
"""

from collections.abc import Sequence
from typing import NamedTuple

from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import text, u32
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, KIND, RTM_GETTFILTER, Place
from netgroupd.model.state import Object
from netgroupd.plan.tc.tables import is_u32, match_of

_ROOT = 0xFFF00000
_TABLE_SHIFT = 20


class Hung(NamedTuple):
    """Where rules hang on one hook: the chain, and preference and protocol as in struct tcmsg."""

    chain: int
    info: int


def without_others(socket: Socket, place: Place, hung: Hung, rules: Sequence[Object]) -> list[Object]:
    """The ``rules`` of a hook without those of u32 that are listed there and hang on another."""
    found = [rule for rule in rules if is_u32(rule) and rule.key[2:4] == (hung.chain, hung.info >> 16)]
    reached = set[int]()
    fresh = {_beginning(socket, place, hung)}
    while fresh:
        reached |= fresh
        led = (match_of(rule.key).get("link") for rule in found if _table(rule) in fresh)
        fresh = {table for table in led if isinstance(table, int)} - reached
    others = {id(rule) for rule in found if _table(rule) not in reached}  # they may match the same
    return [rule for rule in rules if id(rule) not in others]


def _table(rule: Object) -> int:
    handle = rule.attrs["handle"]
    assert isinstance(handle, int)
    return handle >> _TABLE_SHIFT


def _beginning(socket: Socket, place: Place, hung: Hung) -> int:
    """The number of the table in which packets begin; 0, which no table has, if the rules are gone by now."""
    asked = message.request(
        RTM_GETTFILTER,
        0,
        place.header(_ROOT, hung.info),
        text(KIND, "u32"),
        u32(CHAIN, hung.chain),
    )
    _, told = socket.ask(asked, lambda _kind, payload: int(HEADER.unpack_from(payload)[4]))
    return told[0] >> _TABLE_SHIFT if told else 0
