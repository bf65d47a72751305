# SPDX-License-Identifier: GPL-2.0-or-later
"""What changes in the kernel, as it happens, of the links in our groups and what belongs to them.

A classic BPF program on the socket drops the news of other links in the kernel,
before they cost memory.  When the news come faster than they are read, some are
lost: that is said once as ``OVERRUN``, and what is known must be read again.
Nothing is kept here but one buffer.
"""

import errno
import struct
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, Self

from netgroupd.kernel.features import RTNLGRP_LINK_BRIEF, features
from netgroupd.kernel.links import find
from netgroupd.kernel.links_read import Reader
from netgroupd.kernel.names import Names
from netgroupd.kernel.socket import Socket, split
from netgroupd.model.state import Key, Object

_LINK = 1
_GROUPS = {
    "link": (_LINK,),
    "address": (5, 9),
    "route": (7, 11, 27),
    "rule": (8, 19),
    "neighbour": (3,),
    "nexthop": (32,),
}
"""RTNLGRP numbers by class."""

_CLASSES = {16: "link", 20: "address", 24: "route", 28: "neighbour", 32: "rule", 104: "nexthop"}
"""The class by the number of RTM_NEW…; that of RTM_DEL… is one more."""

_IFLA_GROUP = 27
_NLATTR = 0xFFFFF000 + 12  # SKF_AD_OFF + SKF_AD_NLATTR: where attribute X is, from A on
_ATTRIBUTES = 32  # behind struct nlmsghdr and struct ifinfomsg
_ALL = 0xFFFFFFFF  # to accept less than all would cut it short for other listeners too


class News(StrEnum):
    """What has happened to an object."""

    THERE = "there"
    GONE = "gone"
    OVERRUN = "overrun"


class Event(NamedTuple):
    """One piece of news: a link that is there as it is now, of the other classes only that something has changed."""

    news: News
    cls: str = ""
    key: Key = ()
    object: Object | None = None


def _loaded(code: str, value: int) -> int:
    # BPF loads in network order what the kernel wrote in the host's.
    return int.from_bytes(struct.pack("=" + code, value), "big")


def link_filter(group: int, mask: int) -> list[tuple[int, int, int, int]]:
    """The BPF program that drops the news of links of other groups, and of nothing else."""
    return [
        (0x28, 0, 0, 4),  # A = nlmsg_type
        (0x15, 1, 0, _loaded("H", 16)),  # RTM_NEWLINK: skip the next
        (0x15, 0, 9, _loaded("H", 17)),  # not RTM_DELLINK: accept
        (0x00, 0, 0, _ATTRIBUTES),  # A = where to search
        (0x01, 0, 0, _IFLA_GROUP),  # X = for what
        (0x20, 0, 0, _NLATTR),  # A = where it is
        (0x15, 4, 0, 0),  # nowhere: drop
        (0x07, 0, 0, 0),  # X = A
        (0x40, 0, 0, 4),  # A = its payload
        (0x54, 0, 0, _loaded("I", mask)),  # A &= mask
        (0x15, 1, 0, _loaded("I", group & mask)),  # ours: accept
        (0x06, 0, 0, 0),
        (0x06, 0, 0, _ALL),
    ]


class Monitor:
    """Notifications of one network namespace; ``fileno`` tells when there are some.

    A link that leaves the groups watched is not told of any more.
    """

    def __init__(
        self,
        classes: Iterable[str] = ("link",),
        groups: tuple[int, int] | None = None,
        netns: str | None = None,
        buffer: int = 4 << 20,
    ) -> None:
        """Listen; ``groups`` is (id, mask) of the groups of the links that matter.

        ``buffer`` is how many bytes of news the kernel keeps until they are read.

        Raises:
            UsageError: There is no such namespace.
        """
        self._socket = Socket(netns, buffer=buffer)
        self._questions = Socket(netns)
        self._names = Names()
        self._names.find = lambda wanted: find(self._questions, wanted)
        self._reader = Reader(self._names)
        if groups:
            self._socket.attach(link_filter(*groups))
        brief = features().brief
        for cls in classes:
            for number in _GROUPS.get(cls, ()):
                self._socket.join(RTNLGRP_LINK_BRIEF if brief and number == _LINK else number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()
        self._questions.close()

    def fileno(self) -> int:
        """For ``select``."""
        return self._socket.fileno()

    def read(self) -> Iterator[Event]:
        """Yield the news that have come, and return when there are no more."""
        while True:
            try:
                packet = self._socket.waiting()
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                yield Event(News.OVERRUN)
                continue
            if packet is None:
                return
            for kind, _, _, payload in split(packet):
                if event := self._event(kind, payload):
                    yield event

    def _event(self, kind: int, payload: memoryview) -> Event | None:
        cls = _CLASSES.get(kind & ~1, "")
        news = News.GONE if kind & 1 else News.THERE
        if cls != "link":
            return Event(news, cls) if cls else None
        if payload[0]:  # a bridge telling of its port (AF_BRIDGE), which is another message
            return None
        link = self._reader.read(kind, payload)
        self._reader.finish()
        if link is None:
            return None
        if news is News.GONE:
            self._names.forget(link.name)
            return Event(news, cls, link.key)
        return Event(news, cls, link.key, link)
