# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses: RTM_NEWADDR, RTM_DELADDR and their dump.

netgroupd's addresses carry its protocol, so one dump of both families finds
them wherever they are.  Of others an address is in the way of one that is to be
made if it is the same, for IPv6 with a prefix of any length.  What a member of a group gets by one message is derived
from the first two single steps: an address and the distance to the next.
"""

import struct
import time
from collections.abc import Iterator
from contextlib import suppress

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, u8, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.rows import blamer, dump_objects, goal, pack_rows, paths_of, single
from netgroupd.model.address import CLASS, FOREVER, SCOPES
from netgroupd.model.family import BY_SIZE, INET, INET6
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.value import Value, ip_bytes, ip_text
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

RTM_NEWADDR, RTM_DELADDR, RTM_GETADDR = 20, 21, 22
_HEADER = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, ifindex
# The same, and both addresses as attributes, by their length: packed at once, for a link may have 100,000 of them.
_IDENTITIES = {size: struct.Struct(f"=BBBBI HH{size}s HH{size}s") for size in (4, 16)}
_MARKS = struct.Struct("=HHB3x HHI")  # protocol and flags
_CACHE = struct.Struct("=IIII")  # preferred, valid, created, updated

_ADDRESS, _LOCAL, _CACHEINFO, _FLAGS, _PROTO = 1, 2, 6, 8, 11
_GROUP, _GROUP_MASK, _INCR = 32, 33, 34
_SECONDARY = 0x01  # of IPv6: temporary, made by the kernel out of another one
_TENTATIVE, _FOUND = 0x40, 0x08  # of IPv6: it may be another host's, and it is
_MADE_BY_KERNEL = frozenset({1, 2, 3})  # IFAPROT_KERNEL_LO, _RA, _LL
_BITS = {"nodad": 0x02, "home": 0x10, "mngtmpaddr": 0x100, "noprefixroute": 0x200, "autojoin": 0x400}
_PLAIN = tuple(CLASS.attrs[name] for name in ("label", "broadcast", "metric"))
_SCOPE = CLASS.attrs["scope"].type
_CENTI = 100  # the kernel counts the age of an address in hundredths of a second
_AGAIN = 1 << 32  # where it begins anew, which is after 497 days
_MINUTE = 60 * _CENTI


def _lifetime(remaining: int, updated: int, uptime: int) -> Value:
    """A lifetime as it was given: what the kernel tells is what is left of it."""
    if remaining in (0, FOREVER):  # one that was 0 from the start would else grow
        return remaining and "forever"
    age = (uptime - updated) % _AGAIN
    return remaining + (0 if age > _AGAIN - _MINUTE else age) // _CENTI  # or else it was updated just now


class _Decoder:
    """Makes objects out of the messages of one dump."""

    def __init__(self, proto: int, *, everything: bool = False, held: frozenset[Key] | None = None) -> None:
        self._proto = proto
        self._everything = everything
        self._held = None if held is None else frozenset(map(_told_apart, held))
        self._uptime = time.monotonic_ns() // (1_000_000_000 // _CENTI)

    def __call__(self, payload: memoryview, names: Names) -> Object | None:
        family, length, old_flags, scope, index = _HEADER.unpack_from(payload)
        found = message.attributes(payload, _HEADER.size)
        flags = int.from_bytes(found[_FLAGS], "little") if _FLAGS in found else old_flags
        proto = found[_PROTO][0] if _PROTO in found else 0
        temporary = family == INET6 and flags & _SECONDARY
        if not self._is_asked_for(proto, temporary=bool(temporary)):
            return None
        other = bytes(found[_ADDRESS]) if _ADDRESS in found else bytes(found[_LOCAL])
        local = bytes(found.get(_LOCAL, other))
        key = (names.name(index), f"{ip_text(local)}/{length}", None if other == local else ip_text(other))
        if self._held is not None and _told_apart(key) not in self._held:
            return None
        attrs: dict[str, Value] = {name: bool(flags & bit) for name, bit in _BITS.items()}
        attrs["metric"] = 0  # which is not told
        if _SCOPE.unpack:
            attrs["scope"] = _SCOPE.unpack(bytes((scope,)))
        for row in _PLAIN:
            if row.wire in found and row.type.unpack:
                attrs[row.name] = row.type.unpack(bytes(found[row.wire]))
        preferred, valid, _, updated = _CACHE.unpack_from(found[_CACHEINFO])
        attrs["valid_lft"] = _lifetime(valid, updated, self._uptime)
        attrs["preferred_lft"] = _lifetime(preferred, updated, self._uptime)
        if proto != self._proto:
            attrs[UNOWNED] = proto
        return Object("address", key, attrs)

    def _is_asked_for(self, proto: int, *, temporary: bool) -> bool:
        if self._held is not None:
            return proto != self._proto
        foreign = self._everything and not temporary and proto not in _MADE_BY_KERNEL
        return proto == self._proto or foreign


def _told_apart(key: Key) -> Key:
    """What the kernel tells the addresses of a link apart by."""
    address = str(key[1])
    return (key[0], address.partition("/")[0]) if ":" in address else key


def dump(context: Context, selection: Selection) -> list[Object]:
    """All addresses that are netgroupd's; of ``everything``, also those that somebody else has set."""
    held = selection.held.get("address")
    mark = b"" if selection.everything or held else u8(_PROTO, context.proto)[:5]
    decode = _Decoder(context.proto, everything=selection.everything, held=held)
    found: list[Object] = []
    for index in map(context.names.index, selection.places) if selection.places else (0,):
        asked = message.request(RTM_GETADDR, message.NLM_F_DUMP, _HEADER.pack(0, 0, 0, 0, index))
        found += dump_objects(context, asked, decode, "dump of addresses", mark)
    return found


def of_others(context: Context, index: int) -> list[Object]:
    """What others than netgroupd and the kernel gave to the link of that number, or with 0 to all."""
    decode = _Decoder(context.proto, everything=True)
    asked = message.request(RTM_GETADDR, message.NLM_F_DUMP, _HEADER.pack(0, 0, 0, 0, index))
    found = dump_objects(context, asked, decode, "dump of addresses")
    return [address for address in found if UNOWNED in address.attrs]


def links_with(context: Context, address: str) -> frozenset[str]:
    """The links that have an address, whoever gave it."""
    wanted = ip_bytes(address)

    def holder(payload: memoryview, names: Names) -> Object | None:
        found = message.attributes(payload, _HEADER.size)
        if bytes(found.get(_LOCAL) or found[_ADDRESS]) != wanted:
            return None
        return Object("link", (names.name(_HEADER.unpack_from(payload)[-1]),), NOTHING)

    header = _HEADER.pack(BY_SIZE[len(wanted)], 0, 0, 0, 0)
    asked = message.request(RTM_GETADDR, message.NLM_F_DUMP, header)
    return frozenset(link.name for link in dump_objects(context, asked, holder, "dump of addresses", wanted))


def doubtful(socket: Socket) -> dict[bytes, int]:
    """The IPv6 addresses of which the kernel still looks whether another host has them, each with its link's number."""

    def holder(_kind: int, payload: memoryview) -> tuple[bytes, int] | None:
        found = message.attributes(payload, _HEADER.size)
        flags = int.from_bytes(found[_FLAGS], "little")
        if flags & (_TENTATIVE | _FOUND) != _TENTATIVE:
            return None
        return bytes(found.get(_LOCAL) or found[_ADDRESS]), _HEADER.unpack_from(payload)[-1]

    asked = message.request(RTM_GETADDR, message.NLM_F_DUMP, _HEADER.pack(INET6, 0, 0, 0, 0))
    return dict(socket.dump(asked, holder, "dump of addresses", enough=True))


def links_of_others(socket: Socket, proto: int) -> set[int]:
    """The numbers of links where others than ``proto`` have addresses that go with the first one of their subnet."""
    ours = bytes((proto,))

    def holder(_kind: int, payload: memoryview) -> int | None:
        _, _, flags, _, index = _HEADER.unpack_from(payload)
        if not flags & _SECONDARY or bytes(message.attributes(payload, _HEADER.size).get(_PROTO, b"")) == ours:
            return None
        return int(index)

    asked = message.request(RTM_GETADDR, message.NLM_F_DUMP, _HEADER.pack(INET, 0, 0, 0, 0))
    return set(socket.dump(asked, holder, "dump of addresses", enough=True))


def _parts(key: Key) -> tuple[bytes, int, bytes]:
    """The address, its prefix length, and the peer, which is the address itself where there is none."""
    address, _, length = str(key[1]).partition("/")
    local = ip_bytes(address)
    return local, int(length), ip_bytes(str(key[2])) if key[2] else local


def _lifetimes(attrs: Attrs) -> bytes:
    valid, preferred = (
        FOREVER if attrs.get(name, "forever") == "forever" else attrs[name] for name in ("valid_lft", "preferred_lft")
    )
    assert isinstance(valid, int)
    assert isinstance(preferred, int)
    return attr(_CACHEINFO, _CACHE.pack(min(preferred, valid), valid, 0, 0))


def _said(attrs: Attrs, names: Names) -> tuple[int, int, bytes]:
    """The scope, the flags, and whatever else an address has that has more than the usual."""
    scope = attrs.get("scope", "global")
    number = SCOPES[scope] if isinstance(scope, str) else scope
    assert isinstance(number, int)
    flags = sum(bit for name, bit in _BITS.items() if attrs.get(name))
    lifetimes = _lifetimes(attrs) if "valid_lft" in attrs or "preferred_lft" in attrs else b""
    return number, flags, lifetimes + pack_rows(_PLAIN, attrs, names)


_USUAL = (SCOPES["global"], 0, b"")


def _body(key: Key, attrs: Attrs, index: int, context: Context) -> bytes:
    """Everything that the message about one new or changed address says."""
    scope, flags, more = _said(attrs, context.names) if attrs else _USUAL
    proto = attrs.get(UNOWNED, context.proto)
    return _identity(key, index, scope) + _MARKS.pack(5, _PROTO, proto, 8, _FLAGS, flags) + more


def _encode_one(step: Step, context: Context) -> bytes:
    key = step.object.key
    index = context.names.index(str(key[0]))
    if step.op is Op.DELETE:
        return message.request(RTM_DELADDR, 0, _identity(key, index))
    how = message.NLM_F_CREATE | message.NLM_F_EXCL if step.op is Op.CREATE else message.NLM_F_REPLACE
    return message.request(RTM_NEWADDR, how, _body(key, goal(step), index, context))


def _identity(key: Key, index: int, scope: int = 0) -> bytes:
    local, length, other = _parts(key)
    size = len(local)
    attr_size = size + 4
    return _IDENTITIES[size].pack(
        BY_SIZE[size], length, 0, scope, index, attr_size, _LOCAL, local, attr_size, _ADDRESS, other
    )


def _distance(step: GroupStep) -> bytes:
    """How far the second member's address is from the first one's."""
    first = _parts(step.steps[0].object.key)[0]
    second = _parts(step.steps[1].object.key)[0] if len(step.steps) > 1 else first
    away = int.from_bytes(second, "big") - int.from_bytes(first, "big")
    assert away >= 0
    return away.to_bytes(len(first), "big")


def _encode_group(step: GroupStep, context: Context) -> bytes:
    first = step.steps[0]
    key = first.object.key
    attrs = NOTHING if step.op is Op.DELETE else goal(first)
    body = _identity(key, 0) if step.op is Op.DELETE else _body(key, attrs, 0, context)
    selector = u32(_GROUP, step.group) + u32(_GROUP_MASK, step.mask) + attr(_INCR, _distance(step))
    kind = RTM_DELADDR if step.op is Op.DELETE else RTM_NEWADDR
    how = message.NLM_F_CREATE | message.NLM_F_EXCL if step.op is Op.CREATE else 0
    return message.request(kind, how, body, selector)


def _tell(step: AnyStep, context: Context) -> Iterator[bytes]:
    """An IPv4 address that goes may be the one that others hang on: those of others, or one that comes before."""
    for one in singles((step,)):
        name, address, _ = one.object.key
        if ":" in str(address):
            continue
        with suppress(UnknownLinkError):  # a member that has gone meanwhile
            index = context.names.index(str(name))
            if step.op is not Op.DELETE:
                context.came(index)
            elif before := context.spare(index):
                yield before


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes, behind those that let others stay."""
    yield from _tell(step, context)
    yield _encode_group(step, context) if isinstance(step, GroupStep) else _encode_one(single(step), context)


CODEC = Codec(
    dump,
    encode,
    blamer({(_ADDRESS,): "peer", (_LOCAL,): "address", (_CACHEINFO,): "valid_lft", **paths_of(_PLAIN)}),
    _HEADER.size,
)
