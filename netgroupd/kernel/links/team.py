# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of teams and their ports, by generic netlink."""

import struct
from collections.abc import Iterable, Mapping

from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import attr, attributes, nest, text, u8, u32, walk
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value

FAMILY = "team"
_SET, _GET = 1, 2
_IFINDEX, _OPTIONS = 1, 2
_NAME, _TYPE, _DATA, _PORT = 1, 3, 4, 6
_U32, _STRING, _FLAG, _S32 = 3, 5, 6, 14

_TEAM = {
    "mode": _STRING,
    "notify_peers_count": _U32,
    "notify_peers_interval": _U32,
    "mcast_rejoin_count": _U32,
    "mcast_rejoin_interval": _U32,
}
_NOT_TOLD_YET = "*NOMODE*"
_PORT_OPTIONS = {"enabled": _FLAG, "priority": _S32, "queue_id": _U32}
_PORT_PREFIX = "port.team_"
PORT_ROWS = frozenset(_PORT_PREFIX + name for name in _PORT_OPTIONS)


def _option(name: str, kind: int, value: Value, port: int) -> bytes:
    parts = [text(_NAME, name), u8(_TYPE, kind)]
    if kind == _STRING:
        parts.append(text(_DATA, str(value)))
    elif kind != _FLAG:
        parts.append(attr(_DATA, struct.pack("=i" if kind == _S32 else "=I", value)))
    elif value:
        parts.append(attr(_DATA, b""))
    if port:
        parts.append(u32(_PORT, port))
    return nest(1, *parts)


def _tell(generic: Generic, team: int, options: Iterable[bytes]) -> None:
    # One at a time: the kernel stops at the first that nobody listens to the news
    # of, having set it, and says that there is no such process.
    for option in options:
        try:
            generic.tell(FAMILY, _SET, u32(_IFINDEX, team), nest(_OPTIONS, option))
        except ProcessLookupError:
            continue


def configure(generic: Generic, index: int, attrs: Attrs) -> None:
    """Set the options of a team.

    Raises:
        OSError: The kernel refuses.
    """
    _tell(generic, index, [_option(name, kind, attrs[name], 0) for name, kind in _TEAM.items() if name in attrs])


def configure_port(generic: Generic, team: int, port: int, attrs: Attrs) -> None:
    """Set the options of a port of a team.

    Raises:
        OSError: The kernel refuses.
    """
    told = {name: attrs[_PORT_PREFIX + name] for name in _PORT_OPTIONS if _PORT_PREFIX + name in attrs}
    _tell(generic, team, [_option(name, _PORT_OPTIONS[name], value, port) for name, value in told.items()])


def _value(kind: int, payload: memoryview | None) -> Value:
    if kind == _FLAG:
        return payload is not None
    assert payload is not None
    if kind == _STRING:
        return bytes(payload).rstrip(b"\0").decode(errors="replace")
    value: int = struct.unpack("=i" if kind == _S32 else "=I", payload)[0]
    return value


def read(generic: Generic, index: int) -> Mapping[int, dict[str, Value]]:
    """The options by index: 0 is the team itself, the others its ports.

    Raises:
        KernelError: The kernel refuses.
    """
    found: dict[int, dict[str, Value]] = {0: {}}

    def decode(_kind: int, payload: memoryview) -> None:
        told = attributes(payload, 4)
        for _, start, end in walk(told[_OPTIONS]) if _OPTIONS in told else ():
            option = attributes(told[_OPTIONS], start, end)
            name = bytes(option[_NAME]).rstrip(b"\0").decode()
            port = struct.unpack("=I", option[_PORT])[0] if _PORT in option else 0
            if name in (_PORT_OPTIONS if port else _TEAM):
                row = _PORT_PREFIX + name if port else name
                value = _value(option[_TYPE][0], option.get(_DATA))
                if value != _NOT_TOLD_YET:
                    found.setdefault(port, {})[row] = value

    generic.read(FAMILY, _GET, decode, u32(_IFINDEX, index), dump=False)
    return found
