# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of everything that the patches add, by several processes at once, while what they are about goes away.

It needs two processors, and a kernel that looks: ``kcsan`` for data races, ``debug`` for what is used after it is
freed, for locks, and for readers that nobody waits for.
``python -m netgroupd.lab run --kernel debug --cpus 2 --timeout 900 -- python -m tests.vm.at_once SECONDS [WORD…]``.
With words only those processes run that have one of them in their names.

Nearly every request may be refused, as the others take away what it is about.  The kernel may not warn, which the lab
notices on the console, and it stays well: when all are done, what there is can be listed and deleted.
"""

import ctypes
import errno
import os
import random
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.vm.kernel_netlink import (
    BATCHTFILTER,
    BULK,
    CREATE,
    DELADDR,
    DELLINK,
    DELTFILTER,
    DUMP,
    EXCL,
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
    INFO_DATA,
    INFO_KIND,
    LIGHT,
    LINK,
    LINKINFO,
    MASTER,
    NEW_GROUP,
    NEWADDR,
    NEWLINK,
    NEWQDISC,
    NEWTFILTER,
    NODAD,
    Netlink,
    attr,
    nest,
)

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_DELQDISC, _NEWROUTE, _DELROUTE, _NEWCHAIN, _DELCHAIN = 37, 24, 25, 100, 101
_NET_NS_PID, _CARRIER = 19, 33
_KIND, _OPTIONS, _CHAIN, _INGRESS_BLOCK = 1, 2, 11, 13
_CLSACT, _INGRESS, _BLOCK = 0xFFFFFFF1, 0xFFFFFFF2, -1
_BASE = 0x100
_MASTERS = ("vrf0", "vrf1", "br0")
_HOOKS = tuple(f"hook{number}" for number in range(4))
_LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(what: int) -> None:
    """Leave a namespace for a new one."""
    if _LIBC.unshare(what):
        raise OSError(ctypes.get_errno(), "unshare")


def index_of(name: str) -> int:
    """Return the index of a link, or one that none has."""
    try:
        return socket.if_nametoindex(name)
    except OSError:
        return 0x7FFFFFF0


def selection(rng: random.Random, kind: int = GROUP, mask: int = GROUP_MASK) -> bytes:
    """Select one group, or several by a mask."""
    group = attr(kind, _BASE + rng.randrange(8))
    return group + (attr(mask, rng.choice((0xFFFFFFF8, 0xFFFFFFFE, 0xFFFFFFF9))) if rng.random() < 0.4 else b"")


def kinds(rng: random.Random) -> tuple[str, bytes, bytes]:
    """A kind of link with its data, and the link below it."""
    below = attr(LINK, index_of(rng.choice(_HOOKS)))
    return rng.choice(
        (
            ("dummy", b"", b""),
            ("dummy", b"", b""),
            ("vlan", attr(1, struct.pack("H", rng.randrange(1, 64))), below),
            ("macvlan", attr(1, 4), below),
            ("vxlan", attr(1, rng.randrange(64)) + attr(15, struct.pack("!H", 4789)), b""),
            ("bond", attr(1, b"\4") + attr(3, 10), b""),
            ("vrf", attr(1, rng.randrange(100, 164)), b""),
            ("bridge", b"", b""),
        )
    )


def make_link(nl: Netlink, rng: random.Random) -> None:
    """Make a link, light or not, in a group or not."""
    kind, data, below = kinds(rng)
    info = nest(LINKINFO, attr(INFO_KIND, kind), *([nest(INFO_DATA, data)] if data else []))
    more = [attr(IFNAME, f"made{rng.randrange(48)}"), info]
    if below:
        more.append(below)
    if rng.random() < 0.7:
        more.append(attr(LIGHT, rng.randrange(64)))
    if rng.random() < 0.8:
        more.append(attr(GROUP, _BASE + rng.randrange(8)))
    if rng.random() < 0.2:
        more.append(attr(GROUP_INHERIT, 1))
    nl.link(NEWLINK, *more, flags=CREATE | EXCL, up=rng.random() < 0.5)


def links(nl: Netlink, rng: random.Random) -> None:
    """Make links, and delete them one by one and many at a time."""
    if rng.random() < 0.8:
        make_link(nl, rng)
        return
    choice = rng.randrange(4)
    if choice == 0:
        nl.link(DELLINK, index=index_of(f"made{rng.randrange(48)}"))
    elif choice == 1:
        nl.link(DELLINK, selection(rng), flags=BULK)
    elif choice == 2:
        nl.link(DELLINK, selection(rng), attr(MASTER, index_of(rng.choice(_MASTERS))), flags=BULK)
    else:
        nl.link(DELLINK, nest(LINKINFO, attr(INFO_KIND, kinds(rng)[0])), selection(rng), flags=BULK)


def groups(nl: Netlink, rng: random.Random) -> None:
    """Change groups: members, state, masters, addresses."""
    chosen = selection(rng)
    change = rng.randrange(6)
    if change == 0:
        nl.link(NEWLINK, chosen, attr(NEW_GROUP, _BASE + rng.randrange(8)))
    elif change == 1:
        nl.link(NEWLINK, chosen, up=rng.random() < 0.6)
    elif change == 2:
        nl.link(NEWLINK, chosen, attr(MASTER, rng.choice((0, index_of(rng.choice(_MASTERS))))))
    elif change == 3:
        base = attr(1, bytes((2, 0, 0, 0, rng.randrange(256), 0)))
        nl.link(NEWLINK, chosen, nest(GROUP_ADDRESS, base, attr(3, rng.randrange(64))))
    elif change == 4:
        nl.link(NEWLINK, chosen, attr(_CARRIER, struct.pack("B", rng.randrange(2))))
    else:
        member = index_of(f"made{rng.randrange(48)}")
        nl.link(NEWLINK, attr(GROUP, _BASE + rng.randrange(8)), index=member)


def addresses(nl: Netlink, rng: random.Random) -> None:
    """Number groups and take the addresses away."""
    kind = rng.choice((NEWADDR, DELADDR))
    chosen = selection(rng, IFA_GROUP, IFA_GROUP_MASK)
    if rng.random() < 0.5:
        local, step = bytes((10, rng.randrange(4), 0, 1)), bytes((0, 0, 1, 0))
        nl.address(kind, socket.AF_INET, 24, chosen, attr(IFA_LOCAL, local), attr(IFA_INCR, step))
    else:
        local = bytes((0xFD, rng.randrange(4), *bytes(13), 1))
        step = bytes(7) + b"\1" + bytes(8)
        nl.address(kind, socket.AF_INET6, 64, chosen, attr(IFA_LOCAL, local), attr(IFA_INCR, step), NODAD)


def routes(nl: Netlink, rng: random.Random) -> None:
    """Routes of IPv6 that age, through links whose state changes."""
    kind = rng.choice((_NEWROUTE, _NEWROUTE, _DELROUTE))
    oif = index_of(rng.choice((*_HOOKS, f"made{rng.randrange(48)}")))
    head = struct.pack("BBBBBBBBI", socket.AF_INET6, 64, 0, 0, 254, 16, 0, 1, 0)
    prefix = bytes((0xFC, rng.randrange(32), *bytes(14)))
    nl.ask(kind, CREATE if kind == _NEWROUTE else 0, head + attr(1, prefix) + attr(4, oif) + attr(23, 1))
    if rng.random() < 0.3:
        nl.link(NEWLINK, attr(_CARRIER, struct.pack("B", rng.randrange(2))), index=oif)


def dumps(nl: Netlink, rng: random.Random) -> None:
    """List with conditions, sometimes not to the end."""
    link = rng.random() < 0.6
    if link:
        more = selection(rng) if rng.random() < 0.8 else attr(MASTER, index_of(rng.choice(_MASTERS)))
        kind, body = GETLINK, struct.pack("BxHiII", 0, 0, 0, 0, 0) + more
    else:
        family = rng.choice((socket.AF_INET, socket.AF_INET6))
        chosen = (selection(rng, IFA_GROUP, IFA_GROUP_MASK), attr(IFA_MASTER, index_of(rng.choice(_MASTERS))))
        kind, body = GETADDR, struct.pack("BBBBI", family, 0, 0, 0, 0) + b"".join(rng.sample(chosen, 1))
    if rng.random() < 0.2:
        with Netlink() as other:
            next(other.parts(kind, body), None)
    else:
        nl.ask(kind, DUMP, body)


def place(rng: random.Random) -> tuple[int, int]:
    """Where filters are: at a link, in a block, or nowhere."""
    choice = rng.random()
    if choice < 0.3:
        return _BLOCK, 7  # its number is where a link has the parent
    return (index_of(rng.choice(_HOOKS)) if choice < 0.95 else rng.randrange(1, 9)), _INGRESS


def filter_entry(rng: random.Random) -> bytes:
    """One entry of a batch: mostly a flower filter that drops."""
    index, parent = place(rng)
    new = rng.random() < 0.7
    kind = rng.choice(("flower", "flower", "flower", "flower", "matchall"))
    drop = nest(1, attr(1, "gact"), nest(2, attr(2, struct.pack("IIiii", 0, 0, 2, 0, 0))))
    options = [attr(8, struct.pack("H", 8)), attr(12, struct.pack("!I", 0x0A000000 + rng.randrange(64)))]
    if rng.random() < 0.7:
        options.append(nest(3, drop))
    priority = rng.randrange(1, 4) if kind == "flower" else 9
    handle = rng.randrange(64) if rng.random() < 0.5 or not new else 0
    body = struct.pack("BxHiIII", 0, 0, index, handle, parent, priority << 16 | 8) + attr(_KIND, kind)
    if rng.random() < 0.3:
        body += attr(_CHAIN, rng.randrange(3))
    body += nest(_OPTIONS, *options) if kind == "flower" else nest(_OPTIONS)
    flags = rng.choice((CREATE, CREATE | EXCL)) if new else 0
    return struct.pack("IHH", 8 + len(body), NEWTFILTER if new else DELTFILTER, flags) + body + bytes(-len(body) % 4)


def batches(nl: Netlink, rng: random.Random) -> None:
    """Send a batch of filters, to run in several threads."""
    entries = b"".join(filter_entry(rng) for _ in range(rng.choice((1, 60, 300))))
    nl.ask(BATCHTFILTER, 0, struct.pack("BBH", 0, rng.random() < 0.1, rng.randrange(5)) + entries + bytes(4))


def add_hook(nl: Netlink, rng: random.Random, name: str) -> None:
    """Make a link with a place for filters, of its own or in the block."""
    nl.link(NEWLINK, attr(IFNAME, name), nest(LINKINFO, attr(INFO_KIND, "dummy")), flags=CREATE | EXCL, up=True)
    block = attr(_INGRESS_BLOCK, 7) if rng.random() < 0.5 else b""
    head = struct.pack("BxHiIII", 0, 0, index_of(name), 0xFFFF0000, _CLSACT, 0)
    nl.ask(NEWQDISC, CREATE, head + attr(_KIND, "clsact") + block)


def hooks(nl: Netlink, rng: random.Random) -> None:
    """Take away what filters hang on, and put it there again."""
    name = rng.choice(_HOOKS)
    index, parent = place(rng)
    choice = rng.randrange(5)
    if choice == 0:
        nl.link(DELLINK, index=index_of(name))
    elif choice == 1:
        nl.ask(_DELQDISC, 0, struct.pack("BxHiIII", 0, 0, index_of(name), 0xFFFF0000, _CLSACT, 0))
    elif choice == 2:
        chain = rng.choice((_NEWCHAIN, _DELCHAIN))
        body = struct.pack("BxHiIII", 0, 0, index, 0, parent, 0) + attr(_CHAIN, rng.randrange(3))
        nl.ask(chain, CREATE if chain == _NEWCHAIN else 0, body)
    elif choice == 3:
        nl.ask(DELTFILTER, 0, struct.pack("BxHiIII", 0, 0, index, 0, parent, 0))
    add_hook(nl, rng, name)
    time.sleep(0.02)


def in_own_namespace(pipe: int, rng: random.Random) -> None:
    """Make links in a namespace of a user's own, and go away with all of them."""
    uid = os.getuid()
    if rng.random() < 0.5:
        unshare(_CLONE_NEWUSER)
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
    unshare(_CLONE_NEWNET)
    os.write(pipe, b".")
    with Netlink() as nl:
        for name in _HOOKS:
            add_hook(nl, rng, name)
        for _ in range(40):
            rng.choice((links, links, groups, addresses, batches, routes))(nl, rng)


def spaces(nl: Netlink, rng: random.Random) -> None:
    """Namespaces that come, get members of groups, and go."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with suppress(OSError):
            in_own_namespace(writer, random.Random(rng.random()))
        os._exit(0)
    os.close(writer)
    try:
        if os.read(reader, 1):
            nl.link(NEWLINK, selection(rng), attr(_NET_NS_PID, child))
    finally:
        os.close(reader)
        os.waitpid(child, 0)


def packets(_: Netlink, rng: random.Random) -> None:
    """Send to whatever has addresses."""
    for family, to in ((socket.AF_INET, f"10.{rng.randrange(4)}.{rng.randrange(9)}.9"), (socket.AF_INET6, "fd01::9")):
        with socket.socket(family, socket.SOCK_DGRAM) as sender, suppress(OSError):
            sender.sendto(b"x", (to, 9))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender, suppress(OSError):
        sender.bind((rng.choice(_HOOKS), 0))
        sender.send(bytes(12) + b"\x08\x00E" + bytes(40))
    time.sleep(0.002)


PROCESSES = (links, groups, addresses, routes, dumps, batches, batches, hooks, spaces, packets)


def work(action: Callable[[Netlink, random.Random], None], seed: int, until: float) -> int:
    """Do one thing over and over; return how often."""
    rng = random.Random(seed)
    steps = 0
    with Netlink() as nl:
        while time.monotonic() < until:
            try:
                action(nl, rng)
            except OSError as error:
                if error.errno not in (errno.ENOBUFS, errno.ENODEV, errno.ENOMEM, errno.EAGAIN):
                    raise
            steps += 1
    return steps


def start(action: Callable[[Netlink, random.Random], None], seed: int, until: float) -> int:
    """Start a process that does one thing over and over."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        print(f"{action.__name__}: {work(action, seed, until)} steps", flush=True)
        status = 0
    except BaseException:
        traceback.print_exc()
    os._exit(status)


def main() -> int:
    """Let them all run, then see whether what is left can be deleted."""
    seconds, *words = sys.argv[1:]
    signal.alarm(int(seconds) * 4 + 300)
    unshare(_CLONE_NEWNET)
    with Netlink() as nl:
        nl.link(NEWLINK, index=1, up=True)
        for number, name in enumerate(_MASTERS):
            nl.add_link(name, "vrf" if name.startswith("vrf") else "bridge", data=attr(1, 10 + number))
        for name in _HOOKS:
            add_hook(nl, random.Random(0), name)
        until = time.monotonic() + int(seconds)
        wanted = [one for one in PROCESSES if not words or any(word in one.__name__ for word in words)]
        children = [start(action, number, until) for number, action in enumerate(wanted)]
        failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
        everyone = (attr(GROUP, _BASE), attr(GROUP_MASK, 0xFFFFFFF8))
        there = nl.links(*everyone)
        for name in _MASTERS:
            nl.link(DELLINK, index=index_of(name))
        said = nl.link(DELLINK, *everyone, flags=BULK).text
        left = nl.links(*everyone)
        print(f"{failed} processes failed; {len(there)} links in groups, {len(left)} cannot be deleted {said}")
    return int(bool(failed or left))


if __name__ == "__main__":
    sys.exit(main())
