# SPDX-License-Identifier: GPL-2.0-or-later
"""Neighbours and proxies: RTM_NEWNEIGH, RTM_DELNEIGH and their two dumps, told apart by their protocol."""

import struct
from collections.abc import Callable, Iterator, Mapping

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, u8, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, dump_objects, goal, pack_row, single
from netgroupd.model.family import BY_SIZE
from netgroupd.model.neighbour import CLASS, STATES
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value, ip_bytes, ip_text
from netgroupd.plan.compare import UNOWNED, UNSAID
from netgroupd.plan.step import AnyStep, Op

RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH = 28, 29, 30
HEADER = struct.Struct("=BBHiHBB")  # family, -, -, ifindex, state, flags, type

_DST, _LLADDR, _IFINDEX, _PROTOCOL, _FLAGS_EXT = 1, 2, 8, 12, 15
_PROXY = 0x08
_BITS = {"router": 0x80, "extern_learn": 0x10}
_MANAGED = 1
_ALL_LINKS = "*"  # as ``ip`` says it; no file can
_MAC_SIZE = 6
_LLADDR_ROW = CLASS.attrs["lladdr"]


def dump(context: Context, selection: Selection) -> list[Object]:
    """All neighbours that are netgroupd's; of ``everything``, also lasting ones and proxies of others."""
    held = selection.held.get("neighbour")
    mark = b"" if selection.everything or held else u8(_PROTOCOL, context.proto)[:5]

    def decode(payload: memoryview, names: Names) -> Object | None:
        return _decode(payload, names, context.proto, foreign=selection.everything, held=held)

    found: list[Object] = []
    for index in map(context.names.index, selection.places) if selection.places else (0,):
        found += _on(context, index, decode, mark)
    return found


def of_others(context: Context, index: int) -> list[Object]:
    """Lasting ones and proxies of others on the link of that number, or with 0 on all."""

    def decode(payload: memoryview, names: Names) -> Object | None:
        return _decode(payload, names, context.proto, foreign=True)

    return [neighbour for neighbour in _on(context, index, decode) if UNOWNED in neighbour.attrs]


def _on(
    context: Context, index: int, decode: Callable[[memoryview, Names], Object | None], mark: bytes = b""
) -> Iterator[Object]:
    told = u32(_IFINDEX, index) if index else b""
    for flags in (0, _PROXY):
        asked = message.request(RTM_GETNEIGH, message.NLM_F_DUMP, HEADER.pack(0, 0, 0, 0, 0, flags, 0), told)
        yield from dump_objects(context, asked, decode, "dump of neighbours", mark)


def _decode(
    payload: memoryview, names: Names, proto: int, *, foreign: bool = False, held: frozenset[Key] | None = None
) -> Object | None:
    _, _, _, index, state, flags, _ = HEADER.unpack_from(payload)
    found = attributes(payload, HEADER.size)
    protocol = found[_PROTOCOL][0] if _PROTOCOL in found else 0
    proxy = bool(flags & _PROXY)
    managed = bool(_FLAGS_EXT in found and found[_FLAGS_EXT][0] & _MANAGED)
    lasting = proxy or managed or state & STATES["permanent"] or (state & STATES["noarp"] and _is_of_one(found))
    if protocol != proto and not (foreign and lasting) and not (held and (lasting or protocol)):
        return None
    of_all_links = foreign and proxy and not index
    key: Key = (_ALL_LINKS if of_all_links else names.name(index), ip_text(bytes(found[_DST])), proxy)
    if held and (protocol == proto or key not in held):
        return None
    attrs: dict[str, Value] = {name: bool(flags & bit) for name, bit in _BITS.items()}
    attrs["managed"] = managed
    if not (proxy or managed):
        # Once learnt, a neighbour goes from state to state by itself.
        kept = (name for name in ("permanent", "noarp") if state & STATES[name])
        attrs["state"] = next(kept, "reachable")
    if found.get(_LLADDR) and _LLADDR_ROW.type.unpack and not managed:  # which the kernel finds out
        attrs["lladdr"] = _LLADDR_ROW.type.unpack(bytes(found[_LLADDR]))
    if protocol != proto:
        attrs[UNOWNED] = protocol
    if of_all_links:
        attrs[UNSAID] = True
    return Object("neighbour", key, attrs)


def _is_of_one(found: Mapping[int, memoryview]) -> bool:
    """Whether a neighbour is one host by its MAC; of groups and broadcasts the kernel says by itself what they have."""
    mac = bytes(found.get(_LLADDR, b""))
    return len(mac) == _MAC_SIZE and any(mac) and not mac[0] & 1


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    link, address, proxy = one.object.key
    index = context.names.index(str(link))
    target = ip_bytes(str(address))
    flags = _PROXY if proxy else 0
    attrs = goal(one)
    protocol = attrs.get(UNOWNED, context.proto)
    assert isinstance(protocol, int)
    # The kernel takes no zero in the place of a protocol: one of nobody's is one that nobody has been told of.
    if one.op is Op.DELETE or (one.op is Op.CHANGE and not protocol):
        header = HEADER.pack(BY_SIZE[len(target)], 0, 0, index, 0, flags, 0)
        yield message.request(RTM_DELNEIGH, 0, header, attr(_DST, target))
    if one.op is Op.DELETE:
        return
    flags |= sum(bit for name, bit in _BITS.items() if attrs.get(name))
    managed = _is_managed(attrs, one.object.attrs)
    # The kernel finds out what a managed neighbour has, so it begins in no state.
    state = 0 if managed else STATES[str(attrs.get("state", "permanent"))]
    yield message.request(
        RTM_NEWNEIGH,
        message.NLM_F_CREATE | message.NLM_F_REPLACE,  # what was learnt meanwhile makes room
        HEADER.pack(BY_SIZE[len(target)], 0, 0, index, state, flags, 0),
        attr(_DST, target),
        u8(_PROTOCOL, protocol) if protocol else b"",
        pack_row(_LLADDR_ROW, attrs["lladdr"], context.names) if "lladdr" in attrs and not managed else b"",
        u32(_FLAGS_EXT, _MANAGED) if managed else b"",
    )


def _is_managed(attrs: Attrs, said: Attrs) -> bool:
    """Whether the kernel keeps it resolved: also where it did and nobody says what it would find out."""
    return bool(attrs.get("managed") and (said.get("managed") or not (said.get("lladdr") or said.get("state"))))


CODEC = Codec(dump, encode, blamer({(_DST,): "ip", (_LLADDR,): "lladdr", (_FLAGS_EXT,): "managed"}), HEADER.size)
