# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules read out of messages, as a dump does it."""

import struct
from collections.abc import Mapping
from types import MappingProxyType

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import HEADER, HEADER_LEN, NLM_F_MULTI
from netgroupd.kernel.tc.filters import codec as filters
from netgroupd.kernel.tc.filters.read import Decoder
from netgroupd.kernel.tc.filters.seen import Seen
from netgroupd.kernel.tc.tcmsg import RTM_NEWTFILTER, Located
from netgroupd.model.state import Key, Object
from netgroupd.plan.step import Op, Step

SEQUENCE_NUMBER = 7
_NONE: Mapping[Key, Object] = MappingProxyType({})


def decoder(
    names: Names,
    where: str = "v0",
    parent: str = "ingress",
    *,
    expected: Mapping[Key, Object] = _NONE,
    handles: bool = True,
    everything: bool = False,
    seen: Seen | None = None,
) -> Decoder:
    """What reads the rules of a hook; with what was ``seen`` of others."""
    hook = Located.of(where, parent, names)
    return Decoder(names, hook, seen or Seen(expected, handles=handles), everything=everything)


def message(body: bytes) -> bytes:
    """A rule as it comes in a dump."""
    return HEADER.pack(HEADER_LEN + len(body), RTM_NEWTFILTER, NLM_F_MULTI, SEQUENCE_NUMBER, 0) + body


def read(by: Decoder, body: memoryview) -> Object | None:
    """The rule of a message without its header, by what was read before where it can be."""
    found: list[Object] = []
    return found[0] if by.skim(memoryview(message(bytes(body))), found) else by.read(body)


def dumped(names: Names, rule: Object, handle: int, more: bytes = b"") -> bytes:
    """What the kernel says of a rule that it gave ``handle``."""
    body = bytearray(filters._write(Step(Op.CREATE, None, rule, rule.attrs), names)[HEADER_LEN:] + more)
    struct.pack_into("=I", body, 8, handle)
    return message(bytes(body))


def in_full(names: Names, told: bytes) -> Object | None:
    return decoder(names).read(memoryview(told)[HEADER_LEN:])


def left_unread(names: Names, decoder: Decoder, told: bytes) -> int:
    """How many changes of one bit of what the kernel says leave it to be read in full; with any other it is read as
    that would read it.
    """
    unread = 0
    for place in range(HEADER_LEN, len(told)):
        changed = bytearray(told)
        changed[place] ^= 1
        end, got = skimmed(decoder, bytes(changed))
        unread += not end
        assert got == ([in_full(names, bytes(changed))] if end else [])
    return unread


def skimmed(decoder: Decoder, packet: bytes) -> tuple[int, list[Object]]:
    found: list[Object] = []
    return decoder.skim(memoryview(packet), found), found
