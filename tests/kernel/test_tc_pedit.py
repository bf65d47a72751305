# SPDX-License-Identifier: GPL-2.0-or-later
"""Rewriting of packets as `tc` has made it: the old way, and at places that depend on the packet."""

import struct

import pytest

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr, nest, text
from netgroupd.kernel.tc.actions.codec import pack_action, unpack_action
from netgroupd.kernel.tc.actions.seen import Remembered
from netgroupd.model.tc.pedit import MUNGE
from netgroupd.model.value import Value

_SEL = struct.Struct("=IIIiiBBH")  # what all actions have, how many keys, flags
_KEY = struct.Struct("=4s4sIIII")  # mask, value, offset, at, offset mask, shift


def _old(index: int = 1, *moved: int) -> bytes:
    key = _KEY.pack(bytes(4), b"\x0a\0\0\1", 12, *(moved or (0, 0, 0)))
    structure = attr(2, _SEL.pack(index, 0, 0, 1, 1, 1, 0, 0) + key)
    return nest(1, text(1, "pedit"), nest(2, attr(1, struct.pack("=QQQQ", index, 0, 0, 0)), structure))


def _munge(action: bytes, names: Names) -> Value:
    return unpack_action(memoryview(action)[4:], names)[1]["munge"]


@pytest.mark.parametrize(
    ("moved", "want"),
    [
        ((), "network 12 set 0x0a000001/0xffffffff"),
        ((1, 0xF0, 2), "network 12 set 0x0a000001/0xffffffff at 1/0xf0>>2"),
    ],
    ids=["one_place", "varying_place"],
)
def test_words_of_the_old_kind_are_set_in_the_network_header(moved: tuple[int, ...], want: str, names: Names) -> None:
    assert _munge(_old(1, *moved), names) == (want,)


def test_words_at_varying_places_go_out_as_they_came(names: Names) -> None:
    munge = MUNGE.parse(["network 12 set 0x0a000001/0xffffffff at 1/0xf0>>2", "ip 8 set 0x40000000/0xff000000"])
    assert _munge(pack_action(1, 0, {"kind": "pedit", "munge": munge}, names), names) == munge


@pytest.mark.parametrize("word", ["at 4294967296/0xf0>>2", "at 1/0xf0>>32", "at 1/0xf0", "at 1"])
def test_place_that_the_kernel_cannot_hold_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="expected a "):
        MUNGE.parse([f"network 12 set 0x0a000001/0xffffffff {word}"])


def test_equal_actions_of_the_old_kind_are_read_once(names: Names) -> None:
    seen = Remembered()
    first, second = (seen.read(memoryview(_old(index)), names) for index in (1, 2))
    assert first is second
