# SPDX-License-Identifier: GPL-2.0-or-later
"""Who listens to the kernel while something is changed, and tells what was disturbed on the way.

What is the same before and after and was not meanwhile is disturbed: a link that was down or had another MAC or
master, an address or route that was away.  Nothing of netgroupd's reads the news here.
"""

import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from itertools import chain
from typing import NamedTuple, Self, TypeAlias

from netgroupd.errors import KernelError
from netgroupd.kernel.netlink.message import NLM_F_DUMP, NLM_F_REQUEST, request
from netgroupd.kernel.netlink.socket import Socket, split
from netgroupd.plan import present
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan
from netgroupd.plan.without_mac import is_by_a_port
from tests.vm.kernel_netlink import parse, parse_all, u32

_LINK, _ADDRESS, _ROUTE, _NEIGHBOUR, _RULE, _QDISC, _FILTER, _NEXTHOP, _VLAN = 16, 20, 24, 28, 32, 36, 44, 104, 112
_GROUPS = (1, 3, 4, 5, 7, 8, 9, 11, 19, 32, 33)
_BUFFER = 64 << 20
_UP = 1
_PERMANENT, _STATIC = 0x80, 0x40
_BRIDGED = socket.AF_BRIDGE
_UNSPEC = 0xFFFF0000
_TENTATIVE, _LINK_LOCAL = 0x40, 253
_CLONED = 0x200
_OF_LINK = ("name", "up", "mac", "mtu", "master", "link")

Key: TypeAlias = tuple[object, ...]
Values: TypeAlias = tuple[object, ...]
Seen: TypeAlias = tuple[Key, Values]


class Disturbed(NamedTuple):
    """What was not as before for a moment: its class, the link it is on, and what it is."""

    cls: str
    link: str
    what: str


def _link(body: bytes) -> Seen | None:
    family, index, flags = body[0], *struct.unpack_from("iI", body, 4)
    if family != socket.AF_UNSPEC:
        return None
    attrs = parse(body[16:])
    values = (bool(flags & _UP), attrs.get(1), attrs.get(4), attrs.get(10), attrs.get(5))
    return ("link", index), (attrs.get(3, b"").rstrip(b"\0").decode(), *values)


def _address(body: bytes) -> Seen | None:
    family, length, _, scope, index = struct.unpack_from("BBBBI", body)
    attrs = parse(body[8:])
    address = attrs.get(2) or attrs.get(1) or b""
    return None if scope == _LINK_LOCAL else (("address", index, family, address, length), ())


def _route(body: bytes) -> Seen | None:
    family, length, _, tos, table, protocol, _, kind, flags = struct.unpack_from("BBBBBBBBI", body)
    attrs = parse(body[12:])
    if flags & _CLONED or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    origin = "kernel" if protocol == 2 else protocol
    where = (family, length, attrs.get(1), u32(attrs[15]) if 15 in attrs else table, attrs.get(6), tos, kind, origin)
    index = u32(attrs[4]) if 4 in attrs else 0
    ways = b"" if 30 in attrs else attrs.get(9, b"")
    return ("route", index, *where, attrs.get(5), attrs.get(30), ways), ()


def _neighbour(body: bytes) -> Seen | None:
    family, index, state, flags, kind = struct.unpack_from("BxxxiHBB", body)
    attrs = parse(body[12:])
    # A bridge has the MACs of itself and its ports as permanent entries, and others as they change.
    if not state & (_STATIC if family == _BRIDGED else _PERMANENT) or kind not in (0, 1):
        return None
    what = "fdb" if family == _BRIDGED else "neighbour"
    return (
        what,
        index,
        family,
        attrs.get(1),
        attrs.get(2) if family == _BRIDGED else None,
        attrs.get(5),
        flags & 6,
    ), ()


def _rule(body: bytes) -> Seen | None:
    attrs = parse(body[12:])
    told = {kind: value for kind, value in attrs.items() if kind not in (21,)}
    return ("rule", 0, bytes(body[:8]), *sorted(told.items())), ()


def _queue(body: bytes) -> Seen | None:
    index, handle, parent, _ = struct.unpack_from("xxxxiIII", body)
    kind = parse(body[20:]).get(1, b"").rstrip(b"\0").decode()
    return None if not handle else (("qdisc", index, parent, kind), ())


def _filter(body: bytes) -> Seen | None:
    index, handle, parent, info = struct.unpack_from("xxxxiIII", body)
    attrs = parse(body[20:])
    return None if not handle else (("filter", index, parent, info, handle, attrs.get(11), attrs.get(1)), ())


def _nexthop(body: bytes) -> Seen | None:
    attrs = parse(body[8:])
    return ("nexthop", u32(attrs[5]) if 5 in attrs else 0, u32(attrs[1])), ()


def _vlans(body: bytes) -> Iterator[Seen]:
    """The VLANs of a bridge or port, which come as ranges."""
    (index,) = struct.unpack_from("xxxxI", body)
    for kind, entry in parse_all(body[8:]):
        if kind == 1:
            attrs = parse(entry)
            (first,) = struct.unpack_from("xxH", attrs[1])
            last = int.from_bytes(attrs[2], "little") if 2 in attrs else first
            yield from ((("bridge_vlan", index, vid), ()) for vid in range(first, last + 1))


_READ = {
    _LINK: _link,
    _ADDRESS: _address,
    _ROUTE: _route,
    _NEIGHBOUR: _neighbour,
    _RULE: _rule,
    _QDISC: _queue,
    _FILTER: _filter,
    _NEXTHOP: _nexthop,
}
_DUMPS = (
    (_LINK, bytes(16)),
    (_ADDRESS, bytes(8)),
    (_ROUTE, bytes((socket.AF_INET,)) + bytes(11)),
    (_ROUTE, bytes((socket.AF_INET6,)) + bytes(11)),
    (_NEIGHBOUR, bytes(12)),
    (_NEIGHBOUR, bytes((_BRIDGED,)) + bytes(11)),
    (_RULE, bytes((socket.AF_INET,)) + bytes(11)),
    (_RULE, bytes((socket.AF_INET6,)) + bytes(11)),
    (_QDISC, bytes(20)),
    (_NEXTHOP, bytes(8)),
    (_VLAN, bytes(8)),
)


def _seen(kind: int, payload: memoryview) -> list[Seen]:
    if kind == _VLAN:
        return [*_vlans(bytes(payload))]
    seen = _READ[kind](bytes(payload)) if kind in _READ else None
    return [seen] if seen else []


def _text(part: object) -> str:
    return repr(part) if not isinstance(part, bytes) else str(ip_address(part)) if len(part) in (4, 16) else part.hex()


def _called(key: Key) -> str:
    parts = [*map(_text, key[2:])]
    return f"{parts[1]}/{parts[2]}" if key[0] == "address" else str(parts)


class Witness:
    """Listens in a network namespace from when it is made on."""

    def __init__(self, netns: str) -> None:
        self._asking = Socket(netns)
        self._listening = Socket(netns, buffer=_BUFFER)
        for group in _GROUPS:
            self._listening.join(group)
        self._before = self._there()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._asking.close()
        self._listening.close()

    def disturbed(self) -> list[Disturbed]:
        """What is as it was, and was not meanwhile."""
        after, before = self._there(), self._before
        names = {int(str(key[1])): str(value[0]) for key, value in before.items() if key[0] == "link"}
        return [*dict.fromkeys(self._told(before, after, names))]

    def _told(
        self, before: Mapping[Key, Values], after: Mapping[Key, Values], names: Mapping[int, str]
    ) -> Iterator[Disturbed]:
        for comes, key, value in self._news():
            if key not in before or key not in after:
                continue
            name = names.get(int(str(key[1])), "")
            if not comes:
                yield Disturbed(str(key[0]), name, f"{_called(key)} was away")
            for what, had, has, meanwhile in zip(_OF_LINK, before[key], after[key], value, strict=False):
                if had == has != meanwhile:
                    yield Disturbed("link", name, f"{what} was {_text(meanwhile)} for a moment, not {_text(had)}")

    def _there(self) -> dict[Key, Values]:
        found: dict[Key, Values] = {}
        for kind, body in _DUMPS:
            message = request(kind + 2, NLM_F_REQUEST | NLM_F_DUMP, body)
            with suppress(KernelError):  # of VLANs before there is any bridge
                found.update(chain.from_iterable(self._asking.dump(message, _seen)))
        return found

    def _news(self) -> Iterable[tuple[bool, Key, Values]]:
        while (packet := self._listening.waiting()) is not None:
            for kind, _, _, payload in split(packet):
                yield from ((not kind & 1, *seen) for seen in _seen(kind & ~1, payload))


_NOTHING = ("not 000000000000", "not False")
"""What a link is that has no MAC, or is down, and gets one or comes up with another."""
_AWAY = frozenset({"up", "master", "mac"})


def undisturbed(witness: Witness, plan: Plan, *, refused: bool = False) -> None:
    """See that nothing was disturbed of which the plan says nothing; what was ``refused`` has gone back as well."""
    excuses = _Excuses(plan, refused=refused)
    found = [one for one in witness.disturbed() if not excuses.fit(one)]
    assert not found, "\n".join((*map(str, found), present.text(plan), *plan.warnings))


class _Excuses:
    """What a plan says that it does."""

    def __init__(self, plan: Plan, *, refused: bool) -> None:
        steps = [*singles(plan.steps)]
        self._shaken = plan.gone | plan.cycled | plan.moved
        self._emptied = plan.emptied
        self._named = {step.object.name for step in steps if step.object.cls == "link"}
        self._refused = refused
        self._shaken |= self._named if refused else set()
        self._said = {(step.object.name, name) for step in steps if step.object.cls == "link" for name in step.attrs}
        self._told = {(step.object.cls, link) for step in steps for link in hangs_on(step.object)}
        self._addresses = {step.object.key[:2] for step in steps if step.object.cls == "address"}
        self._classes = {step.object.cls for step in steps}
        said = {name for _, name in self._said}
        self._sized = "mtu" in said
        # A bridge by a port that goes, or that it has for a moment.
        self._readdressed = bool(plan.gone) or not said.isdisjoint(("mac", "master")) or any(map(is_by_a_port, steps))

    def fit(self, one: Disturbed) -> bool:
        """Whether there is a reason."""
        if one.link in self._shaken:
            return True
        if one.cls == "link":
            return self._fit_link(one.link, *one.what.split()[:1], nothing=one.what.endswith(_NOTHING))
        if one.cls == "address" and not self._refused:
            return (one.link, one.what.split()[0]) in self._addresses
        if one.cls in ("filter", "rule", "route", "nexthop") and ({one.cls, "nexthop"} & self._classes):
            return True
        by_kernel = one.cls == "route" and ("address", one.link) in self._told and "'kernel'" in one.what
        forgotten = one.link in self._emptied or (one.cls == "neighbour" and self._readdressed)
        return by_kernel or forgotten or (one.cls, one.link) in self._told

    def _fit_link(self, link: str, what: str, *, nothing: bool) -> bool:
        if what in ("mac", "mtu") and (self._shaken or self._refused):
            return True  # a bridge has that of its ports
        if what == "mtu":
            return self._sized
        return nothing or (link, what) in self._said or (what not in _AWAY and link in self._named)
