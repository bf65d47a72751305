# SPDX-License-Identifier: GPL-2.0-or-later
"""A device of WireGuard that changes while it is read."""

import base64

from netgroupd.kernel.links import wireguard
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import attr, nest, u16, u32
from netgroupd.kernel.netlink.socket import Counters, Decode, Skim, Socket, T

_KEYS = [base64.b64encode(bytes((number,)) * 32).decode() for number in (1, 2)]


class _Changing(Socket):
    """Tells of two peers, then of one, and that the first reading was of no one time."""

    def __init__(self) -> None:
        self._readings = iter((_KEYS, _KEYS[:1], _KEYS[:1]))
        self.counters = Counters()

    def _dump_once(
        self, message: bytes, decode: Decode[T], what: str, mark: bytes, skim: Skim[T] | None
    ) -> tuple[list[T], bool]:
        keys = next(self._readings)
        peers = (nest(0, attr(1, base64.b64decode(key)), u16(5, 25)) for key in keys)
        told = decode(0, memoryview(bytes(4) + u16(6, 51820) + u32(7, 0) + nest(8, *peers)))
        return [told] if told is not None else [], keys is not _KEYS


class _Speaking(Generic):
    def __init__(self, socket: Socket) -> None:
        super().__init__(None, Counters())
        self._socket = socket
        self._families = {wireguard.FAMILY: 30}


def test_peer_that_goes_while_the_device_is_read_is_not_told() -> None:
    peers = wireguard.read(_Speaking(_Changing()), 1, ())["peers"]
    assert isinstance(peers, tuple)
    assert [peer["public_key"] for peer in peers if isinstance(peer, dict)] == _KEYS[:1]
