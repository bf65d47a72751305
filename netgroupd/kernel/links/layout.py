# SPDX-License-Identifier: GPL-2.0-or-later
"""One RTM_NEWLINK message taken apart slowly -> the layout by which others like it are read at known places.

Links of one kind give messages of one layout: the same attributes of the same
lengths in the same places.  The headers of the attributes and the values that
links share are the key under which the finished attributes of such a link are
remembered.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from typing import Any, NamedTuple

from netgroupd.kernel.links.nests import DATA, LINK, PORT
from netgroupd.kernel.links.numbers import (
    IFLA_ALLMULTI,
    IFLA_BROADCAST,
    IFLA_IFNAME,
    IFLA_LIMITS,
    IFLA_LINK_NETNSID,
    IFLA_LINKINFO,
    IFLA_MAP,
    IFLA_OPERSTATE,
    IFLA_PARENT_DEV_NAME,
    IFLA_PROMISCUITY,
    IFLA_PROP_LIST,
    IFLA_QDISC,
)
from netgroupd.kernel.links.wire import Wire, Wires
from netgroupd.kernel.links.wire_special import PRIMARY
from netgroupd.kernel.netlink.message import walk
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import OF_PAIR, PAIRS
from netgroupd.model.value import Value

IFINFO = struct.Struct("=BxHiII")
_INFO_KIND, _INFO_DATA, _INFO_SLAVE_KIND, _INFO_SLAVE_DATA = 1, 2, 4, 5

FLAGS = {
    "up": (0x1, False),
    "arp": (0x80, True),
    "promisc": (0x100, False),
    "allmulticast": (0x200, False),
    "multicast": (0x1000, False),
}
"""The flags of struct ifinfomsg that rows stand for, and whether they say the opposite."""

_SIMULATED = "netdevsim"  # such a link has no kind, but is on a bus of that name
_OWN = frozenset({"mac", "link", "master", "alias"})
_PORT = "port."
_SHORT = 4  # longer payloads differ from link to link
# No row is in these, and links have the same, or one of few.
_ALIKE = (IFLA_BROADCAST, IFLA_QDISC, IFLA_MAP, IFLA_OPERSTATE, IFLA_PROMISCUITY, IFLA_ALLMULTI, *IFLA_LIMITS)
_REFERENCE = dict[int, str]().__getitem__  # the name of a link by its index, before there are names
MEMO = 1 << 12
"""Layouts and attributes that are remembered before starting anew."""


class _Own(NamedTuple):
    """A value that differs from link to link: where it is, which row it is, and how it is read."""

    start: int
    end: int
    row: str
    wire: Wire


class _Values(dict[bytes, Value]):
    """What the payloads of one row mean, each read once."""

    def __init__(self, read: Callable[[bytes], Value]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, payload: bytes) -> Value:
        value = self._read(payload)
        if len(self) < MEMO:
            self[payload] = value
        return value


class Layout(NamedTuple):
    """Messages of one shape: what identifies their shared part, and what stands where in the rest."""

    shared: struct.Struct  # the pieces of the shared part
    own: struct.Struct  # the index, the name, then the value of each row
    rows: tuple[str, ...]
    reads: tuple[Callable[[Any], Value], ...]  # what the value of each row means
    known: dict[bytes, dict[str, Value]]
    form: struct.Struct  # for what is noted of a message
    body: struct.Struct  # for the same of one without its header

    @property
    def signature(self) -> tuple[str, str, tuple[object, ...]]:
        """What tells it from other layouts; values of one size at one place may be of two rows, or read in two ways."""
        return (
            self.shared.format,
            self.own.format,
            (*self.rows, *self.reads),
        )

    def key(self, message: memoryview) -> bytes:
        """The shared part of a message."""
        return b"".join(self.shared.unpack_from(message))

    def naming(self, names: Mapping[int, str]) -> "Layout":
        """The same for a dump that brings links of these ``names``."""
        return self._replace(reads=tuple(names.__getitem__ if read is _REFERENCE else read for read in self.reads))


def _cut(places: list[tuple[int, int]], codes: Mapping[int, str]) -> struct.Struct:
    """What takes the bytes at ``places``, in their order, out of a message; ``codes`` by where one starts."""
    layout, at = "=", 0
    for start, end in places:
        layout += f"{start - at}x{codes.get(start, f'{end - start}s')}"
        at = end
    return struct.Struct(layout)


def pieces(places: Iterable[tuple[int, int]]) -> struct.Struct:
    """What takes the bytes at ``places`` out of a message, those side by side as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return _cut(found, {})


def _forms(size: int, restless: list[tuple[int, int]]) -> tuple[struct.Struct, struct.Struct]:
    """What takes out of a message of ``size`` bytes, with its header, its length and all that is not ``restless``.

    And what takes the same, but for the length, out of one without.
    """
    edges = [0, *(edge for span in sorted(restless) for edge in span), size]
    rest = "".join(
        f"{stop - start}s{after - stop}x"
        for start, stop, after in zip(edges[::2], edges[1::2], [*edges[2::2], size], strict=True)
    )
    return struct.Struct(f"=I12x{rest}"), struct.Struct(f"={rest}")


_COMMON = {
    **{number: Wire(number, (), lambda *_: b"", lambda _: {}) for number in _ALIKE},
    **{number: wire._replace(own=wire.names[0] in _OWN) for number, wire in LINK.by_number.items()},
}


class Shape:
    """One message taken apart slowly: where its headers, shared and own values are; ``rows`` are read, if not all."""

    def __init__(self, message: memoryview, rows: Set[str] | None = None) -> None:
        self._message = message
        self._of_port = rows is None or any(row.startswith(_PORT) for row in rows)
        self._kept: list[tuple[int, int]] = [(2, 4), (8, 12)]  # the type of device, the flags
        self.shared: dict[str, Value] = {}
        self.own: list[_Own] = []
        self.name = (0, 0)
        self._restless: list[tuple[int, int]] = []
        self._here = True
        self._read()
        if rows is not None:
            self._leave(rows)

    def _keep(self, start: int, end: int) -> None:
        """Note what messages must have in common; zeros fill it up to the next attribute."""
        self._kept.append((start, min((end + 3) & ~3, len(self._message))))

    def _attributes(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        for number, begin, stop in walk(self._message, start, end):
            self._keep(begin - 4, begin)
            yield number, begin, stop

    def _read(self) -> None:
        _, _, _, flags, _ = IFINFO.unpack_from(self._message)
        self.shared |= {name: bool(flags & bit) != inverted for name, (bit, inverted) in FLAGS.items()}
        self.shared |= {"kind": "", **LINK.absent}
        linkinfo: tuple[int, int] | None = None
        parents: tuple[int, int] | None = None
        for number, begin, stop in self._attributes(16, len(self._message)):
            if number == IFLA_IFNAME:
                # Names of several lengths take the same room, padded with zeros.
                self.name = (begin, (stop + 3) & ~3)
                self._kept[-1] = (begin - 2, begin)
            elif number == IFLA_LINKINFO:
                linkinfo = (begin, stop)
            elif number == IFLA_LINK_NETNSID:
                self._here = False
            elif number == IFLA_PARENT_DEV_NAME:
                parents = (begin, stop)
            elif number == IFLA_PROP_LIST:
                self.own.append(_Own(begin, stop, "altnames", _ALTNAMES))
            else:
                self._attribute(_COMMON.get(number), begin, stop, restless=number in LINK.restless)
        if linkinfo:
            self._linkinfo(*linkinfo)
        parent = self._text(parents) if parents else ""
        if parent.startswith(_SIMULATED) and parent.removeprefix(_SIMULATED).isdigit():
            self.shared |= {"kind": _SIMULATED, "id": int(parent.removeprefix(_SIMULATED))}
        self._lower()
        if self.shared.pop(PRIMARY, True) is False:  # what is said of both ends is the other one's
            self._leave((self.shared.keys() | {each.row for each in self.own}) - OF_PAIR)

    def _linkinfo(self, start: int, end: int) -> None:
        found = {number: (begin, stop) for number, begin, stop in self._attributes(start, end)}
        if kind := self._text(found.get(_INFO_KIND)):
            self.shared["kind"] = kind
            self._nest(DATA.get(kind), found.get(_INFO_DATA), "")
        if kind := self._text(found.get(_INFO_SLAVE_KIND)):
            self._nest(PORT.get(kind), found.get(_INFO_SLAVE_DATA), _PORT)

    def _text(self, where: tuple[int, int] | None) -> str:
        if where is None:
            return ""
        self._keep(*where)
        return bytes(self._message[slice(*where)]).rstrip(b"\0").decode(errors="replace")

    def _nest(self, wires: Wires | None, where: tuple[int, int] | None, prefix: str) -> None:
        if wires is None:
            return
        self.shared |= {prefix + name: value for name, value in wires.absent.items()}
        if where and prefix == _PORT and not self._of_port:  # much of what ports tell is about that
            found = walk(self._message, *where)
            self._restless += [(begin, stop) for number, begin, stop in found if number in wires.restless]
            return
        for number, begin, stop in self._attributes(*where) if where else ():
            self._attribute(wires.by_number.get(number), begin, stop, prefix, restless=number in wires.restless)

    def _attribute(self, wire: Wire | None, begin: int, stop: int, prefix: str = "", *, restless: bool) -> None:
        if wire is None:
            self._restless += [(begin, stop)] if restless else []
            return
        if wire.own:
            self.own.append(_Own(begin, stop, prefix + wire.names[0], wire))
            return
        self._keep(begin, stop)
        values = wire.unpack(bytes(self._message[begin:stop]))
        self.shared |= {prefix + name: value for name, value in values.items()}

    def _lower(self) -> None:
        # What is reported as the lower link is of a pair the other end, and of a
        # tunnel the link of its row "dev".
        kind = KINDS.get(str(self.shared["kind"]))
        lower = next((own for own in self.own if own.row == "link"), None)
        if lower is None:
            return
        self.own.remove(lower)
        if self._here and kind and (kind.lower or kind.name in PAIRS):
            self.own.append(lower if kind.lower else lower._replace(row="peer"))

    def _leave(self, rows: Set[str]) -> None:
        """Forget all but ``rows``."""
        self.own = [each for each in self.own if each.row in rows]
        self.shared = {row: value for row, value in self.shared.items() if row in rows}

    def layout(self) -> Layout:
        """What a message must have in common with this one to be read like it."""
        own = sorted(self.own)
        references = {each.start: "I" for each in own if each.wire.refers}
        places = [(4, 8), self.name, *((each.start, each.end) for each in own)]
        return Layout(
            pieces(self._kept),
            _cut(places, {4: "i", **references}),
            tuple(each.row for each in own),
            tuple(map(_meaning, own)),
            {},
            *_forms(len(self._message), self._restless),
        )


def _altnames(payload: bytes) -> Value:
    view = memoryview(payload)
    names = (bytes(view[begin:stop]).rstrip(b"\0") for _, begin, stop in walk(view))
    return tuple(sorted(name.decode(errors="surrogateescape") for name in names))


def _meaning(own: _Own) -> Callable[[Any], Value]:
    if own.wire.refers:
        return _REFERENCE
    assert own.wire.value is not None, own.row
    # Of longer ones hardly two links have the same.
    return own.wire.value if own.end - own.start > _SHORT else _values(own.wire.value).__getitem__


@cache
def _values(read: Callable[[bytes], Value]) -> _Values:
    return _Values(read)


_ALTNAMES = Wire(
    IFLA_PROP_LIST,
    ("altnames",),
    lambda _wanted, _all, _names: b"",
    lambda payload: {"altnames": _altnames(payload)},
    True,
    _altnames,
)
