# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that were read before: what says what it said is not read again, and what says something else is."""

import struct
from array import array
from collections.abc import Callable, Sequence
from typing import cast

import pytest

from netgroupd.kernel.features import Features
from netgroupd.kernel.links.again import Again
from netgroupd.kernel.links.codec import dump
from netgroupd.kernel.links.read import Reader
from netgroupd.kernel.links.seen import Notes, Reading, Seen
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import HEADER_LEN, NLM_F_MULTI, attr, nest, request, text, u32
from netgroupd.kernel.netlink.request import Context, Selection
from netgroupd.kernel.netlink.socket import Socket

_ROWS = frozenset({"kind", "group", "link", "mtu"})
_IFINFO = struct.Struct("=BxHiII")
_IFNAME, _MTU, _LINK, _STATS64, _LINKINFO, _GROUP = 3, 4, 5, 23, 18, 27


def link(index: int, name: str, *more: bytes, mtu: int = 1500, packets: int = 0) -> bytes:
    """What the kernel tells of a link; ``packets`` it has counted."""
    told = (text(_IFNAME, name), u32(_MTU, mtu), u32(_GROUP, 7), attr(_STATS64, struct.pack("=Q", packets)))
    return request(16, NLM_F_MULTI, _IFINFO.pack(0, 1, index, 0, 0), *told, *more)


def vlan(index: int, name: str, lower: int, *, mtu: int = 1500) -> bytes:
    """The same of a VLAN."""
    return link(index, name, u32(_LINK, lower), nest(_LINKINFO, text(1, "vlan")), mtu=mtu)


PACKET = [link(1, "low"), vlan(2, "low.1", 1), link(3, "lower"), vlan(4, "up.1", 9)]
NAMES = {9: "elsewhere"}


def reading(messages: Sequence[bytes], names: dict[int, str] = NAMES) -> Reading:
    """What is kept when these are read for the first time."""
    notes = Notes.empty()
    reader = Reader(known(names), rows=_ROWS, notes=notes)
    links = [reader.read(16, memoryview(message)[HEADER_LEN:]) for message in messages]
    reader.finish()
    indices = array("i", reader.by_index)
    return Reading((), _ROWS, [link for link in links if link], indices, notes, reader.beyond)


def known(names: dict[int, str]) -> Names:
    found = Names()
    for index, name in names.items():
        found.note(name, index)
    return found


def again(last: Reading, messages: Sequence[bytes], names: dict[int, str] = NAMES) -> Reading | None:
    """What comes of these after ``last``, in one packet and as a socket would hand it over."""
    taking = Again(last)
    packet = memoryview(bytearray(b"".join(messages)))
    start = taking.skim(packet)
    while start < len(packet):
        size = int.from_bytes(packet[start : start + 4], "little")
        taking.take(16, packet[start + HEADER_LEN : start + size])
        start += size
    return taking.reading(known(names), whole=False)


def test_nothing_is_read_of_links_that_only_counted_on() -> None:
    last = reading(PACKET)
    assert again(last, [link(1, "low", packets=9), *PACKET[1:]]) is last


def test_link_that_says_something_else_is_read_and_the_others_are_the_same() -> None:
    last = reading(PACKET)
    changed = [*PACKET[:1], vlan(2, "low.1", 3, mtu=1400), *PACKET[2:]]
    now = again(last, changed)
    assert now
    assert now.links == reading(changed).links
    assert now.links[0] is last.links[0]
    assert again(now, changed) is now
    back = again(now, PACKET)
    assert back
    assert (back.links, back.notes.marks) == (last.links, last.notes.marks)


NEW = link(5, "new")


@pytest.mark.parametrize(
    ("messages", "read"),
    [
        pytest.param(PACKET[2:], 0, id="the_first_less"),
        pytest.param([PACKET[0], *PACKET[2:]], 0, id="one_less"),
        pytest.param([*PACKET[:2], PACKET[3]], 0, id="another_less"),
        pytest.param(PACKET[:-1], 0, id="the_last_less"),
        pytest.param([*PACKET, NEW], 1, id="one_more"),
        pytest.param([*PACKET[:2], vlan(4, "up.1", 9, mtu=1400), NEW], 2, id="one_less_one_changed_and_one_more"),
        pytest.param([], 0, id="none"),
    ],
)
def test_links_come_and_go_among_those_that_are_not_read(messages: Sequence[bytes], read: int) -> None:
    last, fresh = reading(PACKET), reading(messages)
    now = again(last, messages)
    assert now
    assert (now.links, now.indices, now.notes.marks) == (fresh.links, fresh.indices, fresh.notes.marks)
    assert sum(link not in map(id, last.links) for link in map(id, now.links)) == read
    assert again(now, messages) is now


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([link(1, "wol"), *PACKET[1:]], id="another_name"),
        pytest.param([PACKET[0], vlan(5, "low.1", 1), *PACKET[2:]], id="another_index"),
        pytest.param([*PACKET, link(2, "low.1")], id="one_twice"),
        pytest.param(PACKET[::-1], id="another_order"),
    ],
)
def test_there_is_no_answer_where_the_links_are_others(messages: Sequence[bytes]) -> None:
    assert again(reading(PACKET), messages) is None


def test_there_is_none_where_a_link_has_gone_that_another_may_name_for_ever() -> None:
    last = reading(PACKET)._replace(rows=_ROWS | {"dev"})
    assert again(last, PACKET[:-1]) is None
    assert again(last, [*PACKET, NEW])


def test_there_is_none_where_what_has_come_is_what_another_refers_to() -> None:
    assert again(reading(PACKET, {}), [*PACKET, link(9, "elsewhere")], {}) is None


@pytest.mark.parametrize("names", [{9: "renamed"}, {}], ids=["renamed", "gone"])
def test_there_is_none_either_where_a_link_that_they_refer_to_is_another(names: dict[int, str]) -> None:
    assert again(reading(PACKET), PACKET, names) is None


def test_an_attribute_more_is_something_else() -> None:
    more = [link(1, "low", text(20, "alias")), *PACKET[1:]]
    now = again(reading(PACKET), more)
    assert now
    assert now.notes.marks == reading(more).notes.marks != reading(PACKET).notes.marks


class Dumps:
    """A socket whose every dump brings the same links."""

    def dump(
        self, _asked: bytes, read: Callable[[int, memoryview], object], _what: str, *, enough: bool
    ) -> list[object]:
        """Hand over the messages."""
        assert enough
        return [read(16, memoryview(message)[HEADER_LEN:]) for message in PACKET]


def test_link_that_came_in_two_dumps_is_not_remembered() -> None:
    for groups, remembered in (({7}, True), ({7, 8}, False)):
        context = Context(
            cast(Socket, Dumps()), known(NAMES), Features(dump_group=True), None, cast(Generic, None), seen=Seen()
        )
        dump(context, Selection(frozenset({"link"}), groups=frozenset(groups), rows=_ROWS))
        assert context.seen
        assert bool(context.seen.last) == remembered
