# SPDX-License-Identifier: GPL-2.0-or-later
"""What all messages of traffic control have in common: struct tcmsg and the TCA attributes."""

import struct
from typing import NamedTuple

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.model.tc.filter import block, block_number
from netgroupd.model.tc.handle import handle_number, handle_text

RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_DELTCLASS, RTM_GETTCLASS = 40, 41, 42
RTM_NEWTFILTER, RTM_DELTFILTER, RTM_GETTFILTER = 44, 45, 46
RTM_NEWACTION, RTM_DELACTION, RTM_GETACTION = 48, 49, 50
RTM_NEWCHAIN, RTM_DELCHAIN, RTM_GETCHAIN = 100, 101, 102

HEADER = struct.Struct("=BBHIIII")  # family, -, -, ifindex, handle, parent or block, info
KIND, OPTIONS, CHAIN, INGRESS_BLOCK, EGRESS_BLOCK = 1, 2, 11, 13, 14
MAGIC_BLOCK = 0xFFFFFFFF


class Place(NamedTuple):
    """Where something hangs: the link's index and the parent's handle, or the magic number and a block."""

    ifindex: int
    parent: int

    @classmethod
    def of(cls, where: str, parent: str, names: Names) -> "Place":
        """Find it; raises UnknownLinkError."""
        if number := block_number(where):
            return cls(MAGIC_BLOCK, number)
        return cls(names.index(where), handle_number(parent))

    def header(self, handle: int = 0, info: int = 0) -> bytes:
        """What a message about it begins with."""
        return HEADER.pack(0, 0, 0, self.ifindex, handle, self.parent, info)

    def has(self, payload: bytes | memoryview) -> bool:
        """Whether a dump tells of this place; of a hook in a shared block the kernel tells what is the block's."""
        return bool(HEADER.unpack_from(payload)[3] == self.ifindex)

    def names(self, names: Names) -> tuple[str, str] | None:
        """The name of the link or block, and the text of the parent; None if the link is gone."""
        if self.ifindex == MAGIC_BLOCK:
            return block(self.parent), ""
        try:
            return names.name(self.ifindex), handle_text(self.parent)
        except UnknownLinkError:
            return None


class Located(NamedTuple):
    """A hook: its link or block, its parent, and where messages say that it is."""

    where: str
    parent: str
    place: Place

    @classmethod
    def of(cls, where: str, parent: str, names: Names) -> "Located":
        """Find it; raises UnknownLinkError."""
        return cls(where, parent, Place.of(where, parent, names))
