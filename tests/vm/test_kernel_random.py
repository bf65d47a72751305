# SPDX-License-Identifier: GPL-2.0-or-later
"""Random requests to everything that the patches add: the kernel may refuse them, it may not warn, and it stays well.

The requests are made of valid parts more often than not, or nothing but the parser would see them.  The seed is the
parameter, so that a failure can be had again.
"""

import random
import socket
import struct

import pytest

from tests.vm.kernel_netlink import (
    ADDRESS,
    BULK,
    CREATE,
    DELADDR,
    DELLINK,
    DUMP,
    GETADDR,
    GETLINK,
    GROUP,
    GROUP_ADDRESS,
    GROUP_INHERIT,
    GROUP_MASK,
    IFA_GROUP,
    IFA_GROUP_MASK,
    IFA_INCR,
    IFA_LOCAL,
    IFA_MASTER,
    IFNAME,
    INFO_KIND,
    LIGHT,
    LINK,
    LINKINFO,
    MASTER,
    MTU,
    NEW_GROUP,
    NEWADDR,
    NEWLINK,
    SETLINK,
    Netlink,
    attr,
    nest,
)

pytestmark = pytest.mark.vm("patched")
_REQUESTS = 1500
_KINDS = ("dummy", "bridge", "vrf", "ifb", "macvlan", "nokind")
_GROUPS = (0, 1, 5, 6, 0x50001, 0x50002, 0x7FFFFFF0, 0xFFFFFFFF)


def number(rng: random.Random) -> int:
    """A number that is likely to be a case of its own."""
    return rng.choice((0, 1, 5, rng.randrange(16), rng.choice(_GROUPS), 68, 1280, 1500, 65536, 1 << 31, 0xFFFFFFFF))


def link_attr(rng: random.Random) -> bytes:
    """One attribute of a link, maybe of the wrong size."""
    kind = rng.choice(
        (
            ADDRESS,
            MTU,
            LINK,
            MASTER,
            GROUP,
            GROUP_MASK,
            NEW_GROUP,
            GROUP_INHERIT,
            LIGHT,
            LINKINFO,
            GROUP_ADDRESS,
            IFNAME,
        )
    )
    match kind:
        case _ if rng.random() < 0.05:
            return attr(kind, rng.randbytes(rng.randrange(12)))
        case _ if kind == ADDRESS:
            return attr(kind, rng.randbytes(6))
        case _ if kind == LINKINFO:
            return nest(kind, attr(INFO_KIND, rng.choice(_KINDS)))
        case _ if kind == IFNAME:
            return attr(kind, f"r{rng.randrange(8)}")
        case _ if kind == GROUP_ADDRESS:
            parts = (attr(1, rng.randbytes(6)), attr(2, rng.randbytes(8)), attr(3, number(rng)))
            return nest(kind, *rng.sample(parts, rng.randrange(4)))
    return attr(kind, number(rng))


def link_request(rng: random.Random) -> tuple[int, int, bytes]:
    """One request about links."""
    kind = rng.choice((NEWLINK, NEWLINK, NEWLINK, SETLINK, DELLINK, GETLINK))
    flags = DUMP if kind == GETLINK else rng.choice((0, 0, CREATE, BULK))
    state = (0, 0) if kind == GETLINK else (rng.randrange(2), rng.randrange(2))
    index = rng.choice((0, 0, 0, rng.randrange(2, 20))) if kind != GETLINK else 0
    body = struct.pack("BxHiII", 0, 0, index, *state)
    return kind, flags, body + b"".join(link_attr(rng) for _ in range(rng.randrange(1, 6)))


def address_request(rng: random.Random) -> tuple[int, int, bytes]:
    """One request about addresses."""
    kind = rng.choice((NEWADDR, NEWADDR, DELADDR, GETADDR))
    family, size = rng.choice(((socket.AF_INET, 4), (socket.AF_INET6, 16)))
    head = struct.pack("BBBBI", family, 0 if kind == GETADDR else rng.choice((0, 24, 32, 64, 128, 200)), 0, 0, 0)
    parts = [attr(IFA_GROUP, rng.choice(_GROUPS)), attr(IFA_GROUP_MASK, number(rng))]
    if kind == GETADDR:
        parts.append(attr(IFA_MASTER, number(rng)))
    else:
        step = bytes(size - 2) + rng.randbytes(2)
        parts += [attr(IFA_LOCAL, bytes([10]) + rng.randbytes(size - 1)), attr(IFA_INCR, step)]
    chosen = rng.sample(parts, rng.randrange(1, len(parts) + 1))
    return kind, DUMP if kind == GETADDR else 0, head + b"".join(chosen)


def mangled(rng: random.Random, body: bytes) -> bytes:
    """The request with some bytes changed, or its end cut off."""
    changed = bytearray(body)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed[: rng.randrange(8, len(changed) + 1)])


@pytest.mark.parametrize("seed", range(4))
def test_random_requests_do_no_harm(seed: int) -> None:
    rng = random.Random(seed)
    with Netlink() as nl:
        for step in range(_REQUESTS):
            kind, flags, body = rng.choice((link_request, link_request, address_request))(rng)
            nl.ask(kind, flags, mangled(rng, body) if rng.random() < 0.1 else body)
            if step % 100 == 0:
                nl.add_link(f"k{step}", "dummy", attr(GROUP, rng.choice(_GROUPS)))
        assert 1 in nl.links()
