# SPDX-License-Identifier: GPL-2.0-or-later
"""(what pedit writes, packet) -> whether nobody takes the packet any more.

Known are the headers of Ethernet and of IP, and the ports behind them, as far as ``packet`` tells.
Whose protocol, addresses or ports are others is for somebody else; a header of IPv4 whose sum is
not made again is thrown away.
"""

from collections.abc import Iterable, Mapping
from itertools import chain

from netgroupd.engine.guard.packet import HEADER_BYTES, Packet
from netgroupd.model.tc.pedit import Word, read_word
from netgroupd.model.tc.protocol import PROTOCOLS
from netgroupd.model.value import Value

Action = Mapping[str, Value]

_ETHERNET = 14
_OF_FRAME = (range(6), range(12, 14))  # where it goes, and its protocol: asked by who gets it, and not here any more
_OF_IP = {"ip": (range(9, 10), range(12, 24)), "ipv6": (range(6, 7), range(8, 44))}


def is_lost(actions: Iterable[Action], packet: Packet, *, leaving: bool) -> bool:
    """Whether nobody takes a packet that ``actions`` have been done to, of which only pedit and csum matter here."""
    headers: _Headers | None = None
    for action in actions:
        if action["kind"] == "pedit":
            headers = headers or _Headers(packet, leaving=leaving)
            headers.write(action["munge"])
        elif action["kind"] == "csum" and headers:
            headers.sum(action.get("of", ()))
    return headers is not None and headers.are_strange()


class _Headers:
    """The headers of one packet, as one action after the other leaves them."""

    def __init__(self, packet: Packet, *, leaving: bool) -> None:
        self._packet = packet
        framed, known = _frame(packet) if leaving else (bytes(_ETHERNET), bytes(_ETHERNET))
        self._before = framed + packet.header[0]
        self._now = bytearray(self._before)
        self._known = bytearray(known + packet.header[1])
        self._summed = bytes(self._now)

    def write(self, words: Value) -> None:
        """Do what pedit is told."""
        assert isinstance(words, tuple)
        for word in map(read_word, map(str, words)):
            start = self._start(word)
            if start is not None:
                self._write(word, start + word.offset)

    def _start(self, word: Word) -> int | None:
        """Where in the frame a word is counted from; None where nothing tells, or the kernel writes none."""
        if word.header == "eth":
            return None if self._packet.tags else 0
        if word.header in ("tcp", "udp"):
            same = word.header == self._packet.known.get("ip_proto")
            return _ETHERNET + HEADER_BYTES[self._packet.protocol] if same else None
        return _ETHERNET if len(self._packet.tags) <= 1 else None

    def _write(self, word: Word, at: int) -> None:
        value, mask = (number.to_bytes(4, "big") for number in (word.value, word.mask))
        for place in range(at, min(at + 4, len(self._now))):
            bits = mask[place - at]
            if word.moved or word.command != "set":
                self._known[place] &= 0 if word.moved else ~bits
            self._now[place] = self._now[place] & ~bits | value[place - at] & bits

    def sum(self, layers: Value) -> None:
        """Make the sums of some headers again."""
        assert isinstance(layers, tuple)
        if "iph" in layers:
            self._summed = bytes(self._now)

    def are_strange(self) -> bool:
        """Whether nobody takes it any more that has them."""
        of_ip = (range(_ETHERNET + part.start, _ETHERNET + part.stop) for part in _OF_IP.get(self._packet.protocol, ()))
        if any(self._differs(place, self._before) for place in chain(*_OF_FRAME, *of_ip)):
            return True
        header = range(_ETHERNET, _ETHERNET + HEADER_BYTES["ip"]) if self._packet.protocol == "ip" else ()
        return any(self._differs(place, self._summed) for place in header)

    def _differs(self, place: int, other: bytes) -> bool:
        within = place < len(self._now)
        return within and bool((self._now[place] ^ other[place]) & self._known[place])


def _frame(packet: Packet) -> tuple[bytes, bytes]:
    """The header of Ethernet, and what of it is known."""
    mac = str(packet.known.get("dst_mac") or "")
    kind = PROTOCOLS.get(packet.protocol, 0)
    value = bytes.fromhex(mac.replace(":", "")) if mac else bytes(6)
    known = (b"\xff" if mac else b"\0") * 6 + bytes(6) + (b"\xff" if kind else b"\0") * 2
    return value + bytes(6) + kind.to_bytes(2, "big"), known
