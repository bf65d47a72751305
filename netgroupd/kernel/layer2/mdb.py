# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast groups of bridge ports: RTM_NEWMDB, RTM_DELMDB and their dump, told apart by their protocol.

What snooping has learnt is not permanent and is left out, and so are the entries for
one sender that the kernel keeps for each of a list: they are that list.  Of a bridge
itself the kernel does not say who put it into a group.  A group of IP it forgets, so only
those by a MAC address, which it never joins by itself, are told.
"""

import struct
import time
from collections.abc import Iterator
from functools import partial

from netgroupd.kernel.lists import BODY, dump_lists, header
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, nest, u8, walk
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, goal, paths_of, single
from netgroupd.model.mdb import CLASS, MODES, family_of, group_bytes, is_of_host, senders
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value, ip_bytes, ip_text, mac_text
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import AnyStep, Op

RTM_NEWMDB, RTM_DELMDB, RTM_GETMDB = 84, 85, 86

_ENTRY = struct.Struct("=IBBH16s2s2x")  # ifindex, state, flags, VLAN, group, its protocol
_PERMANENT = 1
_BLOCKED = 8  # of a sender that a list excludes
_PROTOCOLS = {0: b"\0\0", 4: b"\x08\x00", 6: b"\x86\xdd"}
_SIZES = {_PROTOCOLS[4]: 4, _PROTOCOLS[6]: 16}
_MAC_SIZE = 6

_MDB, _OF_GROUP, _INFO = 1, 1, 1  # each inside the one before
_TOLD_LIST, _TOLD_MODE, _TOLD_SOURCE, _TOLD_PROTOCOL = 2, 3, 4, 5
_TOLD_SENDER, _TOLD_ADDRESS = 1, 1
_SET_ENTRY, _SET_ATTRS = 1, 2
_SOURCE, _LIST, _MODE, _PROTOCOL = 1, 2, 3, 4
_SENDER, _ADDRESS = 1, 1


def dump(context: Context, selection: Selection) -> list[Object]:
    """The entries that are netgroupd's, on any bridge; of selected bridges, the groups that they are in themselves."""

    def decode(payload: memoryview, link: str) -> Iterator[Object]:
        return _decode(payload, link, context)

    _forgotten.waited = False
    what = "dump of multicast groups"
    found = dump_lists(context, selection._replace(everything=True), RTM_GETMDB, decode, what)
    listed = {(*obj.key[:4], sender) for obj in found for sender in senders(obj.attrs)}
    chosen = (obj for obj in found if obj.key not in listed and _is_selected(obj, selection))
    return sorted(chosen, key=_in_order)


def _in_order(obj: Object) -> tuple[str, ...]:
    """Groups by their number: the kernel tells the last that it was told first."""
    link, port, group, vid, source = obj.key
    return f"{link} {port} {vid:04}", group_bytes(group).hex(), str(source)


def _is_selected(obj: Object, selection: Selection) -> bool:
    held, theirs = selection.held.get("mdb"), UNOWNED in obj.attrs
    if held:
        return theirs and obj.key in held
    if is_of_host(obj.key):
        return selection.everything or obj.name in selection.links
    return selection.everything or not theirs


def _decode(payload: memoryview, link: str, context: Context) -> Iterator[Object]:
    for _, start, end in _inside(payload, BODY, len(payload), (_MDB, _OF_GROUP, _INFO)):
        try:
            obj = _decode_entry(payload[start:end], link, context)
        except UnknownLinkError:
            continue
        if obj is not None:
            yield obj


def _inside(payload: memoryview, start: int, end: int, kinds: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """The attributes at the end of a path of nests."""
    for found in walk(payload, start, end):
        if found[0] == kinds[0]:
            yield from _inside(payload, *found[1:], kinds[1:]) if kinds[1:] else (found,)


def _decode_entry(entry: memoryview, link: str, context: Context) -> Object | None:
    index, state, flags, vid, where, protocol = _ENTRY.unpack_from(entry)
    if not state & _PERMANENT or flags & _BLOCKED:
        return None
    found = attributes(entry, _ENTRY.size)
    size = _SIZES.get(protocol, 0)
    port = context.names.name(index)
    source = ip_text(bytes(found[_TOLD_SOURCE])) if _TOLD_SOURCE in found else None
    group = ip_text(where[:size]) if size else mac_text(where[:_MAC_SIZE])
    key = (link, port, group, vid, source)
    if is_of_host(key):
        # The other end that a VXLAN sends a group to looks as if the VXLAN itself were in that.
        return None if size else Object("mdb", key, {})
    attrs: dict[str, Value] = {}
    if size and source is None and _TOLD_MODE in found:
        attrs["filter_mode"] = next(name for name, number in MODES.items() if number == found[_TOLD_MODE][0])
        if _TOLD_LIST in found:
            attrs["source_list"] = _decode_list(found[_TOLD_LIST])
    owner = found[_TOLD_PROTOCOL][0] if _TOLD_PROTOCOL in found else 0
    if owner != context.proto:
        attrs[UNOWNED] = owner
    return Object("mdb", key, attrs)


def _decode_list(told: memoryview) -> Value:
    each = (attributes(told, start, end) for kind, start, end in walk(told) if kind == _TOLD_SENDER)
    return tuple(sorted(ip_text(bytes(sender[_TOLD_ADDRESS])) for sender in each))


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes, which says all of the entry again."""
    one = single(step)
    link, port, group, vid, source = one.object.key
    about = header(context.names.index(str(link)))
    family = family_of(group)
    index = context.names.index(str(port))
    entry = attr(_SET_ENTRY, _ENTRY.pack(index, _PERMANENT, 0, vid, group_bytes(group), _PROTOCOLS[family]))
    said = attr(_SOURCE, ip_bytes(str(source))) if source is not None else b""
    joins = one.op is not Op.DELETE and is_of_host(one.object.key)
    if joins and not _forgotten.waited:
        yield Call(partial(time.sleep, _TICKS_S))
    _forgotten.waited = joins
    if one.op is Op.DELETE:
        yield message.request(RTM_DELMDB, 0, about, entry, nest(_SET_ATTRS, said) if said else b"")
        return
    if not joins:
        said += _encode_attrs(goal(one), context.proto)
    # What was learnt meanwhile makes room.
    how = message.NLM_F_CREATE | message.NLM_F_REPLACE
    yield message.request(RTM_NEWMDB, how, about, entry, nest(_SET_ATTRS, said) if said else b"")


class _Forgotten:
    """Whether groups that nobody is in any more are forgotten, and nothing else was said since.

    They are with the next tick of the kernel's clock, and with them a bridge that has
    joined one until then.
    """

    waited = False


_forgotten = _Forgotten()
_TICKS_S = 0.05  # at least five


def _encode_attrs(attrs: Attrs, proto: int) -> bytes:
    owner = attrs.get(UNOWNED, proto)
    assert isinstance(owner, int)
    said = u8(_PROTOCOL, owner)
    if listed := senders(attrs):
        said += nest(_LIST, *(nest(_SENDER, attr(_ADDRESS, ip_bytes(str(sender)))) for sender in listed))
    if listed or "filter_mode" in attrs:
        said += u8(_MODE, MODES[str(attrs.get("filter_mode", "exclude"))])
    return said


CODEC = Codec(
    dump,
    encode,
    blamer(
        {
            (_SET_ENTRY,): "group",
            (_SET_ATTRS, _SOURCE): "src",
            **paths_of(CLASS.attrs.values(), _SET_ATTRS),
        }
    ),
    BODY,
)
