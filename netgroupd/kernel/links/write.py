# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps about links to messages: everything that can ride on one message does.

What the kernel takes only of a link that exists (an alias, further names, the
attributes of a port, the MTU of a bridge) follows in a second message; and ``up`` never rides with
``master``, as the kernel would first bring the link up and then move it.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from netgroupd.kernel.layer2.by_a_port import by_a_port
from netgroupd.kernel.links import netdevsim, tuntap
from netgroupd.kernel.links.layout import FLAGS, IFINFO
from netgroupd.kernel.links.nests import DATA, ELSEWHERE, EXTERNAL_FOR_GOOD, LINK, PORT, WHOLE
from netgroupd.kernel.links.numbers import (
    IFLA_ALT_IFNAME,
    IFLA_GROUP,
    IFLA_GROUP_ADDRESS,
    IFLA_GROUP_MASK,
    IFLA_IFNAME,
    IFLA_LINKINFO,
    IFLA_NET_NS_FD,
    IFLA_NEW_GROUP,
    IFLA_NEW_IFINDEX,
    IFLA_PROP_LIST,
    RTM_DELLINK,
    RTM_DELLINKPROP,
    RTM_NEWLINK,
    RTM_NEWLINKPROP,
)
from netgroupd.kernel.links.other import configure, plug, tell
from netgroupd.kernel.links.team import PORT_ROWS
from netgroupd.kernel.links.wire import Wire, Wires
from netgroupd.kernel.links.wire_special import BEFORE
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import NLM_F_CREATE, NLM_F_EXCL, nest, request, text, u32
from netgroupd.kernel.netlink.message import attr as pack_attr
from netgroupd.kernel.netlink.request import Call, Context, Request
from netgroupd.kernel.rows import single
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.link import said_afterwards
from netgroupd.model.state import NOTHING, Attrs, Object
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.pairs import OF_PEER
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

_BASE, _STRIDE = 1, 2

_PORT = {name: kind for kind, wires in PORT.items() for name in wires.by_name}
assert len(_PORT) == sum(len(wires.by_name) for wires in PORT.values()), "port attributes share a name"

_NONE = Wires(())
_NOTHING_LATE = frozenset[str]()
_MADE_OTHERWISE = frozenset({"tun", "netdevsim"})
_FROM_THE_START = frozenset({"lightweight", "l2only"})
"""What no link is by itself, and what may not be said to one of these when it is there, not even that it is not."""
_QUEUED = frozenset({"bond", "team"})
_ONE_QUEUE: Attrs = {"numtxqueues": 1, "numrxqueues": 1}
"""What a lightweight link of those kinds has unless it says more: they have 16, of which none holds a packet."""
_VLAN = "vlan_default_pvid"


class _Parts(NamedTuple):
    """Which rows of a step go where; the same for every step with rows of these names."""

    flags: tuple[str, ...]
    common: tuple[Wire, ...]
    after: tuple[Wire, ...]
    data: tuple[Wire, ...]
    port: tuple[Wire, ...]
    port_kind: str
    kind: bytes  # IFLA_INFO_KIND
    elsewhere: bool  # whether some are set by other means than link messages


_parts: dict[tuple[object, ...], _Parts] = {}


def _sort(kind: str, late: frozenset[str], names: tuple[str, ...]) -> _Parts:
    ports = [name[5:] for name in names if name.startswith("port.")]
    port_kind = _PORT.get(ports[0], "") if ports else ""
    data = _NONE if kind in _MADE_OTHERWISE else DATA.get(kind, _NONE)
    port = PORT.get(port_kind, _NONE)
    return _Parts(
        tuple(name for name in names if name in FLAGS),
        LINK.needed(name for name in names if name not in late),
        LINK.needed(name for name in names if name in late),
        data.needed(names),
        port.needed(ports),
        port_kind,
        pack_attr(1, kind.encode()),
        kind in ELSEWHERE or kind in _MADE_OTHERWISE or any(name.startswith("team_") for name in ports),
    )


def parts_of(kind: str, creating: bool, attrs: Attrs) -> _Parts:
    """Sort the rows of ``attrs``, once for each set of names."""
    late = said_afterwards(kind, attrs) if creating else _NOTHING_LATE
    key = (kind, late, *attrs)
    if (found := _parts.get(key)) is None:
        found = _parts[key] = _sort(kind, late, tuple(attrs))
    return found


def _flags(attrs: Attrs, names: tuple[str, ...]) -> tuple[int, int]:
    values = mask = 0
    for name in names:
        bit, inverted = FLAGS[name]
        mask |= bit
        if bool(attrs[name]) != inverted:
            values |= bit
    return values, mask


def header(index: int, values: int = 0, mask: int = 0) -> bytes:
    """Pack struct ifinfomsg."""
    return IFINFO.pack(0, 0, index, values, mask)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The messages of one step, one after the other.

    Raises:
        UnknownLinkError: It refers to a link that there is not.
    """
    if isinstance(step, GroupStep):
        return _group(step, context)
    one = single(step)
    if one.op is Op.CREATE:
        return _create(one, context)
    return _change(one, context) if one.op is Op.CHANGE else _delete(one.object, context)


def _delete(obj: Object, context: Context) -> Iterator[Request]:
    peer = obj.attrs.get("peer") if obj.attrs.get("kind") in PAIRS else None
    if peer and not context.names.knows(obj.name):
        return  # it went with its peer
    if obj.attrs.get("kind") == "netdevsim":
        yield Call(partial(netdevsim.delete, int(str(obj.attrs["id"]))))
    else:
        yield request(RTM_DELLINK, 0, header(context.names.index(obj.name)))
    context.names.forget(obj.name)
    if peer:
        context.names.forget(str(peer))


def _create(step: Step, context: Context) -> Iterator[Request]:
    attrs, obj, names = step.attrs, step.object, context.names
    name, kind = obj.name, str(obj.attrs.get("kind") or attrs.get("kind") or "")
    if kind in PAIRS and names.knows(name):
        yield from _set(names.index(name), kind, NOTHING, attrs, context)  # made as a peer
        return
    if kind in _MADE_OTHERWISE:
        yield from _create_otherwise(kind, name, attrs, context)
        return
    if attrs.get("lightweight") and kind in _QUEUED:
        attrs = {**_ONE_QUEUE, **attrs}
    parts = parts_of(kind, True, attrs)
    body = [wire.pack(attrs, attrs, names) for wire in parts.common]
    data = [wire.pack(attrs, attrs, names) for wire in parts.data]
    index = names.reserve(name)
    if attrs.get("peer"):
        data.append(_peer(attrs, context))
    late = ("up",) if attrs.get("up") and attrs.get("master") else ()
    flags = tuple(flag for flag in parts.flags if flag not in late) if late else parts.flags
    info = parts.kind + nest(2, *data) if data else parts.kind
    yield request(
        RTM_NEWLINK,
        NLM_F_CREATE | NLM_F_EXCL,
        header(index, *_flags(attrs, flags)),
        text(IFLA_IFNAME, name),
        _destination(name, names) if names.elsewhere else b"",
        *body,
        nest(IFLA_LINKINFO, info),
    )
    if late or parts.after or parts.port:
        after = (wire.pack(attrs, attrs, names) for wire in parts.after)
        port = _port(parts, attrs, context)
        yield request(RTM_NEWLINK, 0, header(index, *_flags(attrs, late)), *after, *port)
    if "altnames" in attrs:
        yield from _altnames(index, (), attrs["altnames"])
    if parts.elsewhere:
        yield from configure(kind, index, NOTHING, attrs, context)


def _create_otherwise(kind: str, name: str, attrs: Attrs, context: Context) -> Iterator[Request]:
    own = KINDS[kind].attrs
    later = {row: value for row, value in attrs.items() if row not in own and (value or row not in _FROM_THE_START)}
    if kind == "netdevsim":
        # The kernel chooses the index, so all that follows waits for it.
        def run() -> None:
            index = plug(name, int(str(attrs["id"])), context)
            for message in _set(index, "", NOTHING, later, context):
                assert isinstance(message, bytes)
                tell(context, message)

        yield Call(run)
        return
    index = context.names.reserve(name)
    yield Call(partial(tuntap.create, context.netns, name, index, attrs))
    if "group" in later:  # alone: what goes beside it may be refused, and nothing would say whose it is
        yield from _set(index, "", NOTHING, {"group": later.pop("group")}, context)
    yield from _set(index, "", NOTHING, later, context)


def _peer(attrs: Attrs, context: Context) -> bytes:
    # Both ends get an index of ours, so that either can be referred to at once, and are in our group from then on.
    name, names = str(attrs["peer"]), context.names
    group = u32(IFLA_GROUP, int(str(attrs.get("group", 0))))
    said = {row[len(OF_PEER) :]: value for row, value in attrs.items() if row.startswith(OF_PEER)}
    more = b"".join(wire.pack(said, said, names) for wire in LINK.needed(said))
    return pack_attr(
        1, header(names.reserve(name)) + text(IFLA_IFNAME, name) + group + _destination(name, names) + more
    )


def _destination(name: str, names: Names) -> bytes:
    """Say in which other namespace the link is to be."""
    return u32(IFLA_NET_NS_FD, names.elsewhere[name].fd) if name in names.elsewhere else b""


def _port(parts: _Parts, attrs: Attrs, context: Context) -> Iterator[bytes]:
    if not parts.port:
        return
    told = {name[5:]: value for name, value in attrs.items() if name.startswith("port.")}
    data = nest(5, *(wire.pack(told, told, context.names) for wire in parts.port))
    yield nest(IFLA_LINKINFO, pack_attr(4, parts.port_kind.encode()), data)


def _change(step: Step, context: Context) -> Iterator[Request]:
    before: Attrs = step.before.attrs if step.before else NOTHING
    kind = str(before.get("kind") or step.object.attrs.get("kind") or "")
    if "netns" in step.attrs:
        yield _move(step.object.name, context.names)
        return
    if not PORT_ROWS.isdisjoint(step.attrs) and (master := step.object.attrs.get("master")):
        before = {**before, "master": master}  # which it has by then
    yield from _set(context.names.index(step.object.name), kind, before, step.attrs, context)


def _move(name: str, names: Names) -> bytes:
    """Move a link to another namespace, which is a step of its own."""
    index = names.index(name)
    names.forget(name)
    new_index = u32(IFLA_NEW_IFINDEX, names.reserve(name))
    return request(RTM_NEWLINK, 0, header(index), _destination(name, names), new_index)


def _set(index: int, kind: str, before: Attrs, attrs: Attrs, context: Context) -> Iterator[Request]:
    names = context.names
    parts = parts_of(kind, False, attrs)
    # Some kinds refuse an MTU beside attributes of their own; a bridge takes another VLAN while it has a MAC.
    if attrs.get("pmtudisc") and before.get("ignore_df") and attrs.get("ignore_df") is False:
        # The kernel lets one discover the MTU that does not ignore the bit before.
        yield request(RTM_NEWLINK, 0, header(index), _data(kind, parts, before, {"ignore_df": False}, names))
    if parts.data:
        said = request(RTM_NEWLINK, 0, header(index), _data(kind, parts, before, attrs, names))
        yield from by_a_port(said, index) if attrs.get(_VLAN) and before.get("mac") == NO_MAC else (said,)
    late = ("up",) if attrs.get("up") and "master" in attrs else ()
    first = tuple(name for name in parts.flags if name not in late)
    if parts.common or first:
        body = (wire.pack(attrs, attrs, names) for wire in parts.common)
        yield request(RTM_NEWLINK, 0, header(index, *_flags(attrs, first)), *body)
    if late or parts.port:
        yield request(RTM_NEWLINK, 0, header(index, *_flags(attrs, late)), *_port(parts, attrs, context))
    if "altnames" in attrs:
        yield from _altnames(index, before.get("altnames"), attrs["altnames"])
    if parts.elsewhere:
        yield from configure(kind, index, before, attrs, context)


def _data(kind: str, parts: _Parts, before: Attrs, attrs: Attrs, names: Names) -> bytes:
    everything = {**before, **attrs, **{BEFORE + name: before.get(name) for name in attrs}}
    if kind in WHOLE:
        # What is none goes unsaid: those with Ethernet inside take no remote that is all zeros.
        told = {name for name, value in everything.items() if value is not None}
        if kind in EXTERNAL_FOR_GOOD:
            told.discard("external")
        data = [wire.pack(everything, everything, names) for wire in DATA[kind].needed(told)]
    else:
        data = [wire.pack(attrs, everything, names) for wire in parts.data]
    return nest(IFLA_LINKINFO, parts.kind, nest(2, *data))


def _altnames(index: int, have: Value, want: Value) -> Iterator[Request]:
    old = set(map(str, have)) if isinstance(have, tuple) else set()
    new = set(map(str, want)) if isinstance(want, tuple) else set()
    if gone := sorted(old - new):
        yield _property(RTM_DELLINKPROP, index, gone)
    if fresh := sorted(new - old):
        yield _property(RTM_NEWLINKPROP, index, fresh)


def _property(kind: int, index: int, names: list[str]) -> bytes:
    flags = NLM_F_CREATE | NLM_F_EXCL if kind == RTM_NEWLINKPROP else 0
    return request(kind, flags, header(index), nest(IFLA_PROP_LIST, *(text(IFLA_ALT_IFNAME, name) for name in names)))


def _group(step: GroupStep, context: Context) -> Iterator[Request]:
    selector = [u32(IFLA_GROUP, step.group)]
    if step.mask != 0xFFFFFFFF:
        selector.append(u32(IFLA_GROUP_MASK, step.mask))
    if step.op is Op.DELETE:
        yield request(RTM_DELLINK, 0, header(0), *selector)
        for each in step.steps:
            context.names.forget(each.object.name)
        return
    attrs = step.attrs
    counted = _is_counted(step)
    apart = {"group", "mac"} if counted else {"group"}
    parts = parts_of("", False, {name: value for name, value in attrs.items() if name not in apart})
    body = [wire.pack(attrs, attrs, context.names) for wire in parts.common]
    if counted:
        body.append(_macs(step))
    if "group" in attrs:
        value = attrs["group"]
        assert isinstance(value, int)
        body.append(u32(IFLA_NEW_GROUP, value))
    yield request(RTM_NEWLINK, 0, header(0, *_flags(attrs, parts.flags)), *selector, *body)


def _is_counted(step: GroupStep) -> bool:
    """Whether each member gets a MAC of its own."""
    macs = [single.attrs.get("mac") for single in step.steps[:2]]
    return len(macs) == 2 and None not in macs and macs[0] != macs[1]


def _macs(step: GroupStep) -> bytes:
    first, second = (bytes.fromhex(str(single.attrs["mac"]).replace(":", "")) for single in step.steps[:2])
    stride = int.from_bytes(second, "big") - int.from_bytes(first, "big")
    return nest(
        IFLA_GROUP_ADDRESS, pack_attr(_BASE, first), pack_attr(_STRIDE, stride.to_bytes(8, "little", signed=True))
    )
