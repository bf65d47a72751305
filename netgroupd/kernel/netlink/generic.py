# SPDX-License-Identifier: GPL-2.0-or-later
"""Generic netlink: what WireGuard, teams and drivers speak.  The socket is opened when first needed."""

import struct
from collections.abc import Iterator

from netgroupd.errors import KernelError
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, text, walk
from netgroupd.kernel.netlink.socket import NETLINK_GENERIC, Counters, Decode, Socket, T

_CONTROL = 0x10
_GET_FAMILY = 3
_FAMILY_ID, _FAMILY_NAME, _FAMILY_COMMANDS, _FAMILY_GROUPS, _COMMAND_ID = 1, 2, 6, 7, 1
_GROUP_NAME, _GROUP_ID = 1, 2


def header(command: int) -> bytes:
    """Pack struct genlmsghdr."""
    return struct.pack("=BBH", command, 1, 0)


class Generic:
    """Generic netlink in one network namespace."""

    def __init__(self, netns: str | None, counters: Counters) -> None:
        self._netns = netns
        self._counters = counters
        self._socket: Socket | None = None
        self._families: dict[str, int] = {}
        self._commands: dict[str, frozenset[int]] = {}
        self._groups: dict[tuple[str, str], int] = {}

    def close(self) -> None:
        """Give the socket back, if there is one."""
        if self._socket:
            self._socket.close()

    def _opened(self) -> Socket:
        if self._socket is None:
            self._socket = Socket(self._netns, NETLINK_GENERIC)
            self._socket.counters = self._counters
        return self._socket

    def family(self, name: str) -> int:
        """The number of a family.

        Raises:
            OSError: The kernel has none of that name.
        """
        if name not in self._families:
            asked = request(_CONTROL, 0, header(_GET_FAMILY), text(_FAMILY_NAME, name))
            answer, found = self._opened().ask(asked, lambda _kind, payload: bytes(payload))
            if answer.errno:
                raise OSError(answer.errno, f"this kernel has no {name}")
            told = attributes(memoryview(found[0]), 4)
            self._families[name] = int(struct.unpack("=H", told[_FAMILY_ID])[0])
            self._commands[name] = frozenset(_commands(told.get(_FAMILY_COMMANDS, memoryview(b""))))
            for group, number in _groups(told.get(_FAMILY_GROUPS, memoryview(b""))):
                self._groups[name, group] = number
        return self._families[name]

    def group(self, family: str, name: str) -> int:
        """The number of a multicast group of a family, for ``Socket.join``.

        Raises:
            OSError: There is no such family.
        """
        self.family(family)
        return self._groups[family, name]

    def knows(self, family: str, command: int) -> bool:
        """Whether a family that was spoken with has a command: older kernels have fewer."""
        return command in self._commands.get(family, ())

    def tell(self, family: str, command: int, *body: bytes) -> None:
        """Have the kernel do something.

        Raises:
            OSError: It refuses.
        """
        self.answered(family, command, lambda _kind, _payload: None, *body)

    def answered(self, family: str, command: int, decode: Decode[T], *body: bytes) -> list[T]:
        """Have the kernel do something, and what it answers.

        Raises:
            OSError: It refuses.
        """
        answer, found = self._opened().ask(request(self.family(family), 0, header(command), *body), decode)
        if answer.errno:
            raise OSError(answer.errno, answer.sentence)
        return found

    def read(self, family: str, command: int, decode: Decode[T], *body: bytes, dump: bool = True) -> list[T]:
        """What the kernel tells; nothing where it has no such family.

        Raises:
            KernelError: It refuses.
        """
        try:
            number = self.family(family)
        except OSError:
            return []
        asked = request(number, NLM_F_DUMP if dump else 0, header(command), *body)
        if dump:
            return self._opened().dump(asked, decode, f"read {family}")
        answer, found = self._opened().ask(asked, decode)
        if answer.errno:
            raise KernelError([answer.refusal(f"read {family}")])
        return found


def _commands(payload: memoryview) -> Iterator[int]:
    for _, start, end in walk(payload):
        yield int.from_bytes(attributes(payload, start, end)[_COMMAND_ID], "little")


def _groups(payload: memoryview) -> Iterator[tuple[str, int]]:
    for _, start, end in walk(payload):
        told = attributes(payload, start, end)
        yield bytes(told[_GROUP_NAME]).rstrip(b"\0").decode(), int.from_bytes(told[_GROUP_ID], "little")
