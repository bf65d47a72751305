# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the VLANs of bridges: RTM_NEWVLAN and its dump with BRIDGE_VLANDB_GLOBAL_OPTIONS, in ranges.

Only a bridge has them; which of its ports are in the VLAN does not matter, nor whether
it is itself.
"""

import errno
from collections.abc import Iterator
from functools import partial

from netgroupd.errors import KernelError
from netgroupd.kernel.layer2.bridge_vlans import RTM_GETVLAN, RTM_NEWVLAN
from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.lists import BODY, dump_lists, ends, header, numbers
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, nest, u16, u32, walk
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, pack_rows, paths_of, simple_rows, unpack_rows
from netgroupd.model.state import Object
from netgroupd.model.vlan_global import CLASS
from netgroupd.plan.step import AnyStep

_OPTIONS = 2
_ID, _RANGE = 1, 2
_FLAGS, _GLOBAL = 1, 2  # of a dump: of these instead of who is in the VLANs
_ROWS = simple_rows(CLASS.attrs)
_NONE = frozenset({errno.ENODEV, errno.EINVAL})  # it has gone, or is no bridge


def dump(context: Context, selection: Selection) -> list[Object]:
    """The options of all VLANs of the selected bridges."""
    decode = partial(_decode, names=context.names)
    ask = partial(dump_lists, kind=RTM_GETVLAN, decode=decode, what="dump of VLAN options")
    said = u32(_FLAGS, _GLOBAL)
    if selection.everything or len(selection.bridges) > FEW:
        return ask(context, selection._replace(links=selection.bridges), said=said)
    found: list[Object] = []
    for bridge in sorted(selection.bridges):
        try:
            index = context.names.index(bridge)
            found += ask(context, selection._replace(links=frozenset({bridge})), said=said, index=index)
        except UnknownLinkError:
            continue
        except KernelError as error:
            if error.refusals[0].errno not in _NONE:
                raise
    return found


def _decode(payload: memoryview, link: str, names: Names) -> Iterator[Object]:
    for kind, start, end in walk(payload, BODY):
        if kind != _OPTIONS:
            continue
        told = attributes(payload, start, end)
        attrs = unpack_rows(_ROWS, told, names)
        for vid in numbers(told, _ID, _RANGE):
            yield Object("vlan_global", (link, vid), attrs)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one, first, last = ends(step)
    until = u16(_RANGE, last) if last > first else b""
    options = nest(_OPTIONS, u16(_ID, first), until, pack_rows(_ROWS, one.attrs, context.names))
    yield message.request(RTM_NEWVLAN, 0, header(context.names.index(one.object.name)), options)


CODEC = Codec(dump, encode, blamer({(_OPTIONS, _ID): "vid", **paths_of(CLASS.attrs.values(), _OPTIONS)}), BODY)
