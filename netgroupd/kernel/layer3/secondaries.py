# SPDX-License-Identifier: GPL-2.0-or-later
"""What others gave, and what has just come, stays when the first address of its subnet, which was ours, goes.

The kernel deletes the other addresses of that subnet with it, unless the link
promotes them.  Many distributions have that on for all links, and some do not:
where it matters it is on for the time of a change.
"""

from collections.abc import Callable

from netgroupd.kernel.layer3.addresses import links_of_others
from netgroupd.kernel.links.numbers import IFLA_AF_SPEC, IFLA_EXT_MASK, RTM_GETLINK, RTM_NEWLINK, SKIP_STATS
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, nest, request, u32
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.family import INET

_CONF = 1
_PROMOTE = 20  # IPV4_DEVCONF_PROMOTE_SECONDARIES, counted from 1
_FEW = 16  # links to ask about one by one; of more all are told at once


class Secondaries:
    """The links on which others have such addresses, looked for when the first address is about to go."""

    def __init__(self, socket: Socket, proto: int, settle: Callable[[], None]) -> None:
        """``settle`` waits for what is on its way."""
        self._socket = socket
        self._settle = settle
        self._proto = proto
        self._links: set[int] | None = None
        self._come: set[int] = set()
        self._promoting: list[int] = []
        self._asked = 0
        self._known: dict[int, bool] = {}

    def came(self, link: int) -> None:
        """Note that the link of this number gets an address: what it loses afterwards goes in favour of that one."""
        self._come.add(link)

    def spare(self, link: int) -> bytes:
        """What lets others' addresses stay on the link of this number, if said before it loses one; "" for nothing."""
        if self._links is None:
            self._settle()
            self._links = links_of_others(self._socket, self._proto)
        if link in self._links or link in self._come:
            self._links.discard(link)
            self._come.discard(link)
            if not self._promotes(link):
                self._promoting.append(link)
                return _promote(link, 1)
        return b""

    def done(self) -> None:
        """Have the links as they were; one that has gone is none any more."""
        self._socket.tell([_promote(link, 0) for link in self._promoting])
        self._promoting.clear()
        self._asked = 0
        self._known.clear()
        self._come.clear()
        self._links = None

    def _promotes(self, link: int) -> bool:
        self._asked += 1
        skip = u32(IFLA_EXT_MASK, SKIP_STATS)
        if self._asked <= _FEW:
            return any(found for _, found in self._socket.ask(request(RTM_GETLINK, 0, header(link), skip), _setting)[1])
        if not self._known:
            self._known.update(self._socket.dump(request(RTM_GETLINK, NLM_F_DUMP, header(0), skip), _setting))
        return self._known.get(link, False)


def _promote(link: int, wanted: int) -> bytes:
    said = nest(IFLA_AF_SPEC, nest(INET, nest(_CONF, u32(_PROMOTE, wanted))))
    return request(RTM_NEWLINK, 0, header(link), said)


def _setting(_kind: int, payload: memoryview) -> tuple[int, bool]:
    """The number of a link, and whether it promotes addresses."""
    link = int.from_bytes(payload[4:8], "little")
    for start, number in ((16, IFLA_AF_SPEC), (0, INET), (0, _CONF)):
        payload = attributes(payload, start).get(number, memoryview(b""))
    return link, any(payload[4 * (_PROMOTE - 1) : 4 * _PROMOTE])
