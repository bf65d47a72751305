# SPDX-License-Identifier: GPL-2.0-or-later
"""The states of bridge ports in spanning trees: RTM_SETLINK and a dump of RTM_GETLINK, both of PF_BRIDGE.

The kernel tells a state for each tree that a VLAN of the port is in, which is that of
the first of these VLANs, and takes one for any tree, whether there is such a VLAN or not.
No news tell when one changes.
"""

import struct
from collections.abc import Iterator

from netgroupd.kernel.links.numbers import IFLA_AF_SPEC, IFLA_EXT_MASK, RTM_GETLINK, RTM_SETLINK
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, nest, u16, u32, walk
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, pack_row, single
from netgroupd.model.mst import CLASS
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep

_HEADER = struct.Struct("=BxHiII")  # family, device type, ifindex, flags, which of them
_AF_BRIDGE = 7
_OF_TREES = 1 << 7
_TREES, _ENTRY = 6, 1
_MSTI, _STATE = 1, 2


def dump(context: Context, selection: Selection) -> list[Object]:
    """The states of the selected ports, but for those in the common tree."""
    asked = message.request(RTM_GETLINK, message.NLM_F_DUMP, _header(0), u32(IFLA_EXT_MASK, _OF_TREES))
    told = context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of spanning tree states")
    found: list[Object] = []
    for payload in told:
        spoken_of = attributes(memoryview(payload), _HEADER.size)
        trees = attributes(spoken_of[IFLA_AF_SPEC]).get(_TREES) if IFLA_AF_SPEC in spoken_of else None
        if trees is None:
            continue
        try:
            link = context.names.name(_HEADER.unpack_from(payload)[2])
        except UnknownLinkError:
            continue
        if selection.everything or link in selection.links:
            found += _decode(trees, link)
    return found


def _header(index: int) -> bytes:
    return _HEADER.pack(_AF_BRIDGE, 0, index, 0, 0)


def _decode(trees: memoryview, link: str) -> Iterator[Object]:
    row = CLASS.attrs["state"]
    assert row.type.unpack is not None
    for _, start, end in walk(trees):
        told = attributes(trees, start, end)
        if msti := int.from_bytes(told[_MSTI], "little"):
            yield Object("mst", (link, msti), {row.name: row.type.unpack(bytes(told[_STATE]))})


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    name, msti = one.object.key
    assert isinstance(msti, int)
    state = pack_row(CLASS.attrs["state"], one.attrs["state"], context.names)
    trees = nest(_TREES, nest(_ENTRY, u16(_MSTI, msti), state))
    yield message.request(RTM_SETLINK, 0, _header(context.names.index(str(name))), nest(IFLA_AF_SPEC, trees))


_PATH = (IFLA_AF_SPEC, _TREES, _ENTRY)
CODEC = Codec(dump, encode, blamer({(*_PATH, _MSTI): "msti", (*_PATH, _STATE): "state"}))
