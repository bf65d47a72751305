# SPDX-License-Identifier: GPL-2.0-or-later
"""The networks that VXLANs list: RTM_NEWTUNNEL, RTM_DELTUNNEL and their dump, whose ranges are spread out."""

from collections.abc import Iterator

from netgroupd.kernel.lists import BODY, dump_lists, ends, header, numbers
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, nest, u32, walk
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, goal
from netgroupd.model.state import Object
from netgroupd.model.value import Value, ip_bytes, ip_text
from netgroupd.plan.step import AnyStep, Op

RTM_NEWTUNNEL, RTM_DELTUNNEL, RTM_GETTUNNEL = 120, 121, 122

_ENTRY = 1
_START, _END, _GROUP, _GROUP6 = 1, 2, 3, 4


def dump(context: Context, selection: Selection) -> list[Object]:
    """Every network of the selected links."""
    return dump_lists(context, selection, RTM_GETTUNNEL, _decode, "dump of VNIs")


def _decode(payload: memoryview, link: str) -> Iterator[Object]:
    for kind, start, end in walk(payload, BODY):
        if kind != _ENTRY:
            continue
        entry = attributes(payload, start, end)
        remote = entry.get(_GROUP) or entry.get(_GROUP6)
        attrs: dict[str, Value] = {"remote": ip_text(bytes(remote))} if remote else {}
        for vni in numbers(entry, _START, _END):
            yield Object("vni", (link, vni), attrs)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one, first, last = ends(step)
    remote = goal(one).get("remote") if one.op is not Op.DELETE else None
    where = ip_bytes(str(remote)) if remote else b""
    entry = nest(
        _ENTRY,
        u32(_START, first),
        u32(_END, last) if last > first else b"",
        attr(_GROUP6 if len(where) > 4 else _GROUP, where) if where else b"",
    )
    kind = RTM_DELTUNNEL if one.op is Op.DELETE else RTM_NEWTUNNEL
    yield message.request(kind, 0, header(context.names.index(one.object.name)), entry)


CODEC = Codec(
    dump,
    encode,
    blamer({(_ENTRY, _START): "vni", (_ENTRY, _GROUP): "remote", (_ENTRY, _GROUP6): "remote"}),
    BODY,
)
