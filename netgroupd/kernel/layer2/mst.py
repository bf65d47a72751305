# SPDX-License-Identifier: GPL-2.0-or-later
"""The states of bridge ports in spanning trees: RTM_SETLINK and a dump of RTM_GETLINK, both of PF_BRIDGE.

The kernel tells a state for each tree that a VLAN of the port is in, which is that of
the first of these VLANs, and takes one for any tree, whether there is such a VLAN or not.
No news tell when one changes.
"""

from collections.abc import Iterator

from netgroupd.kernel.links.numbers import IFLA_AF_SPEC, IFLA_EXT_MASK, RTM_GETLINK, RTM_SETLINK
from netgroupd.kernel.lists import BODY, dump_lists, header
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, nest, u16, u32, walk
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, pack_row, single
from netgroupd.model.mst import CLASS
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep

_REST = bytes(8)  # of struct ifinfomsg: flags, and which of them
_OF_TREES = 1 << 7
_TREES, _ENTRY = 6, 1
_MSTI, _STATE = 1, 2
_NOTHING = memoryview(b"")


def dump(context: Context, selection: Selection) -> list[Object]:
    """The states of the selected ports, but for those in the common tree."""
    said = _REST + u32(IFLA_EXT_MASK, _OF_TREES)
    return dump_lists(context, selection, RTM_GETLINK, _decode, "dump of spanning tree states", said=said)


def _decode(payload: memoryview, link: str) -> Iterator[Object]:
    spoken_of = attributes(payload, BODY + len(_REST)).get(IFLA_AF_SPEC, _NOTHING)
    trees = attributes(spoken_of).get(_TREES, _NOTHING)
    row = CLASS.attrs["state"]
    assert row.type.unpack is not None
    for _, start, end in walk(trees):
        found = attributes(trees, start, end)
        if msti := int.from_bytes(found[_MSTI], "little"):
            yield Object("mst", (link, msti), {row.name: row.type.unpack(bytes(found[_STATE]))})


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    name, msti = one.object.key
    assert isinstance(msti, int)
    state = pack_row(CLASS.attrs["state"], one.attrs["state"], context.names)
    trees = nest(_TREES, nest(_ENTRY, u16(_MSTI, msti), state))
    told = header(context.names.index(str(name))) + _REST
    yield message.request(RTM_SETLINK, 0, told, nest(IFLA_AF_SPEC, trees))


_PATH = (IFLA_AF_SPEC, _TREES, _ENTRY)
CODEC = Codec(dump, encode, blamer({(*_PATH, _MSTI): "msti", (*_PATH, _STATE): "state"}))
