# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of bridges and their ports: RTM_NEWVLAN, RTM_DELVLAN and their dump, whose ranges are spread out.

These messages serve ports and bridges alike, and carry the options of a VLAN
too.  Each VLAN has its own object, and a message is about one or a range of them.
"""

import struct
from collections.abc import Iterator, Mapping
from functools import partial

from netgroupd.kernel.layer2.by_a_port import by_a_port
from netgroupd.kernel.links.numbers import RTM_DELLINK, RTM_SETLINK
from netgroupd.kernel.lists import BODY, dump_lists, ends, header
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, nest, u8, u16, u32, walk
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, goal, pack_rows, paths_of
from netgroupd.model.bridge_vlan import CLASS, LOST_IN_RANGES, STATES, is_out
from netgroupd.model.state import NOTHING, Object
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op
from netgroupd.plan.without_mac import BY_A_PORT

RTM_NEWVLAN, RTM_DELVLAN, RTM_GETVLAN = 112, 113, 114

_FLAGS, _STATS = 1, 1  # of a dump: with them no VLANs come as one range
_ENTRY = 1
_INFO, _RANGE, _STATE, _TUNNEL, _NEIGH_SUPPRESS = 1, 2, 3, 4, 9
_MULTICAST = (CLASS.attrs["mcast_router"], CLASS.attrs["mcast_max_groups"])
_READ = (CLASS.attrs["state"], *_MULTICAST, CLASS.attrs["neigh_suppress"])
_TUNNEL_ID, _TUNNEL_CMD = 1, 2
_VLAN_INFO = struct.Struct("=HH")  # flags, vid
_BITS = {"pvid": 2, "untagged": 4}


def dump(context: Context, selection: Selection) -> list[Object]:
    """Every VLAN of the selected links, the one that a new port is in by itself too."""
    ask = partial(dump_lists, context, selection, RTM_GETVLAN, _decode, "dump of VLANs")
    if not selection.vlans_apart and not selection.everything:
        found = ask()
        if not any(vlan.attrs.get(name) for vlan in found for name in LOST_IN_RANGES):
            return found
    return ask(said=u32(_FLAGS, _STATS))


def _decode(payload: memoryview, link: str) -> Iterator[Object]:
    for kind, start, end in walk(payload, BODY):
        if kind == _ENTRY:
            yield from _decode_entry(attributes(payload, start, end), link)


def _decode_entry(found: Mapping[int, memoryview], link: str) -> Iterator[Object]:
    flags, first = _VLAN_INFO.unpack_from(found[_INFO])
    last = int.from_bytes(found[_RANGE], "little") if _RANGE in found else first
    attrs: dict[str, Value] = {name: bool(flags & bit) for name, bit in _BITS.items()}
    for row in _READ:
        if row.wire in found and row.type.unpack:
            attrs[row.name] = row.type.unpack(bytes(found[row.wire]))
    tunnel = attributes(found[_TUNNEL]).get(_TUNNEL_ID) if _TUNNEL in found else None
    for vid in range(first, last + 1):
        if tunnel is None:
            yield Object("bridge_vlan", (link, vid), attrs)
        else:
            tunnel_id = int.from_bytes(tunnel, "little") + vid - first
            yield Object("bridge_vlan", (link, vid), {**attrs, "tunnel_id": tunnel_id})


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The message that a step takes; two where a tunnel is mapped anew, for the kernel wants the old one gone first."""
    one, first, last = ends(step)
    about = header(context.names.index(one.object.name))
    until = u16(_RANGE, last) if last > first else b""

    def say(kind: int, flags: int, *options: bytes) -> bytes:
        entry = nest(_ENTRY, attr(_INFO, _VLAN_INFO.pack(flags, first)), until, *options)
        return message.request(kind, 0, about, entry)

    if one.op is Op.DELETE or is_out(one.object):
        if one.op is not Op.DELETE:  # which would be refused where it is not there
            yield say(RTM_NEWVLAN, 0)
        yield say(RTM_DELVLAN, 0)
        return
    attrs, before = goal(one), one.before.attrs if one.before else NOTHING
    flags = sum(bit for name, bit in _BITS.items() if attrs.get(name))
    options = []
    # A bridge that keeps a spanning tree, or one for each VLAN, refuses to be told even what a VLAN is anyway.
    if "state" in one.attrs:
        options.append(u8(_STATE, STATES[str(attrs["state"])]))
    tunnel = attrs.get("tunnel_id")
    if before.get("tunnel_id") not in (None, tunnel):
        yield say(RTM_NEWVLAN, flags, nest(_TUNNEL, u32(_TUNNEL_CMD, RTM_DELLINK)))
    # One that was lost with its port's bridge is said again, as it was; one that is there the kernel refuses.
    if isinstance(tunnel, int) and "tunnel_id" in one.attrs:
        options.append(nest(_TUNNEL, u32(_TUNNEL_CMD, RTM_SETLINK), u32(_TUNNEL_ID, tunnel)))
    # A bridge says that it has it off, and refuses to be told so.
    if attrs.get("neigh_suppress") or before.get("neigh_suppress"):
        options.append(u8(_NEIGH_SUPPRESS, int(bool(attrs.get("neigh_suppress")))))
    # What nobody changes is not said: a bridge that does not learn groups in this VLAN refuses to be told of them.
    said = say(RTM_NEWVLAN, flags, *options, pack_rows(_MULTICAST, one.attrs, context.names))
    yield from by_a_port(said, context.names.index(one.object.name)) if one.attrs.get(BY_A_PORT) else (said,)


CODEC = Codec(
    dump,
    encode,
    blamer(
        {
            (_ENTRY, _INFO): "vid",
            (_ENTRY, _STATE): "state",
            (_ENTRY, _TUNNEL): "tunnel_id",
            (_ENTRY, _NEIGH_SUPPRESS): "neigh_suppress",
            **paths_of(_MULTICAST, _ENTRY),
        }
    ),
    BODY,
)
