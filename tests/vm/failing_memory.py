# SPDX-License-Identifier: GPL-2.0-or-later
"""Every request that the patches add, with each of its allocations failing in turn; then a look for what leaked.

It needs the debug kernel, whose failslab fails the n-th allocation of a system call and whose kmemleak finds what
nothing points to any more:
``python -m netgroupd.lab run --kernel debug --memory 4G --timeout 900 -- python -m tests.vm.failing_memory``.

A request may succeed although an allocation failed (a notification is lost, a hash stays small), or be refused; it
may not do half, and the kernel may not warn, which the lab notices on the console.
"""

import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.kernel_scale import batch, flower, links
from tests.vm.kernel_netlink import (
    ACK,
    ADDRESS,
    BATCHTFILTER,
    BULK,
    CREATE,
    DELADDR,
    DELLINK,
    DUMP,
    EXCL,
    GETTFILTER,
    GROUP,
    GROUP_ADDRESS,
    GROUP_MASK,
    IFA_GROUP,
    IFA_INCR,
    IFA_LOCAL,
    IFNAME,
    INFO_KIND,
    LIGHT,
    LINKINFO,
    MASTER,
    MTU,
    NEW_GROUP,
    NEWADDR,
    NEWLINK,
    NEWQDISC,
    REQUEST,
    Netlink,
    attr,
    nest,
)

_FAIL_NTH = Path("/proc/thread-self/fail-nth")
_FAILSLAB = Path("/sys/kernel/debug/failslab")
_LEAKS = Path("/sys/kernel/debug/kmemleak")
_CLONE_NEWNET = 0x40000000
_MEMBERS = 4
_MOST = 2000
_LIGHT = {"light": 0b10011, "layer 2": 0b11111, "no sysfs": 0b111111}


class Case(NamedTuple):
    """A request, what shows how much of it was done, and how to take it back.

    A request for a group that ``stops`` at the member that refuses, and names it, may be half done: there are two
    states for the others.
    """

    name: str
    request: tuple[int, int, bytes]
    state: Callable[[Netlink], object]
    undo: Callable[[Netlink], object]
    stops: bool = False


def head(index: int = 0, flags: int = 0, change: int = 0) -> bytes:
    """The fixed part of a request about links."""
    return struct.pack("BxHiII", 0, 0, index, flags, change)


def by_group(*attrs: bytes, kind: int = NEWLINK, flags: int = 0, up: int = 0) -> tuple[int, int, bytes]:
    """A request to the members."""
    return kind, flags, head(flags=up, change=up) + attr(GROUP, 5) + b"".join(attrs)


def values(nl: Netlink, kind: int) -> object:
    """One attribute of all members."""
    return [one.get(kind) for one in nl.links().values() if one[IFNAME].startswith(b"d")]


def add_members(nl: Netlink) -> None:
    """Make the group; again, where a case has deleted it."""
    have = {one[IFNAME].rstrip(b"\0").decode() for one in nl.links().values()}
    for number, message in enumerate(links(_MEMBERS, "d", attr(GROUP, 5))):
        if f"d{number}" not in have:
            assert nl.ask(*message).error == 0


def delete(nl: Netlink, name: str) -> None:
    """Delete a link if it is there."""
    nl.link(DELLINK, attr(IFNAME, name))


def count_of(family: int, nl: Netlink) -> int:
    """How many addresses there are."""
    return len(nl.addresses(family))


def ask(request: tuple[int, int, bytes], nl: Netlink) -> object:
    """Send what takes a case back."""
    return nl.ask(*request)


def address_cases() -> Iterator[Case]:
    """Addresses for a group."""
    for family, size, plen in ((2, 4, 24), (10, 16, 64)):
        base = bytes([10 if family == 2 else 0xFD]) + bytes(size - 2) + b"\1"
        body = attr(IFA_LOCAL, base) + attr(IFA_GROUP, 5) + attr(IFA_INCR, bytes(size - 1) + b"\1")
        body += attr(8, 2)  # no DAD
        fixed = struct.pack("BBBBI", family, plen, 0, 0, 0)
        add, remove = (NEWADDR, 0, fixed + body), (DELADDR, 0, fixed + body)
        for name, request, back in (("add", add, remove), ("delete", remove, add)):
            yield Case(f"{name} addresses, family {family}", request, partial(count_of, family), partial(ask, back))


def link_cases(vrf: int) -> Iterator[Case]:
    """Links, one and by group."""
    yield Case(
        "change the MTU of a group",
        by_group(attr(MTU, 1400)),
        lambda nl: values(nl, MTU),
        lambda nl: nl.ask(*by_group(attr(MTU, 1500))),
    )
    yield Case(
        "a group into a VRF",
        by_group(attr(MASTER, vrf)),
        lambda nl: values(nl, MASTER),
        lambda nl: nl.ask(*by_group(attr(MASTER, 0))),
        stops=True,
    )
    yield Case(
        "move a group",
        by_group(attr(NEW_GROUP, 6)),
        lambda nl: values(nl, GROUP),
        lambda nl: nl.link(NEWLINK, attr(GROUP, 6), attr(NEW_GROUP, 5)),
    )
    count_up = nest(GROUP_ADDRESS, attr(1, bytes.fromhex("020000000001")))
    count_back = nest(GROUP_ADDRESS, attr(1, bytes.fromhex("020000000101")))
    yield Case(
        "addresses that count up",
        by_group(count_up),
        lambda nl: values(nl, ADDRESS),
        lambda nl: nl.ask(*by_group(count_back)),
    )
    yield Case("delete a group", by_group(kind=DELLINK), lambda nl: len(nl.links()), add_members)
    yield Case(
        "delete in bulk",
        by_group(attr(GROUP_MASK, 0xFFFFFFFF), kind=DELLINK, flags=BULK),
        lambda nl: len(nl.links()),
        add_members,
    )
    # No bridges: one that cannot be registered leaks its entry of the forwarding database, br_fdb_hash_fini() not
    # freeing any, and that is none of the patches'.
    for name, flags in _LIGHT.items():
        for kind in ("dummy", "ifb"):
            body = head() + attr(IFNAME, "new") + nest(LINKINFO, attr(INFO_KIND, kind)) + attr(LIGHT, flags)
            yield Case(
                f"make a {kind}: {name}",
                (NEWLINK, CREATE | EXCL, body),
                lambda nl: len(nl.links()),
                lambda nl: delete(nl, "new"),
            )


def port_case(nl: Netlink, kind: str) -> Case:
    """A port that is not in sysfs, and its master."""
    master = nl.add_link(f"m{kind}", kind)
    port = nl.add_link(f"d{kind}", "dummy", attr(LIGHT, 0b100000))
    return Case(
        f"a port without sysfs into a {kind}",
        (NEWLINK, 0, head(port) + attr(MASTER, master)),
        lambda nl: nl.get(port).get(MASTER),
        lambda nl: nl.link(NEWLINK, attr(MASTER, 0), index=port),
    )


def filter_case(nl: Netlink) -> Case:
    """A batch of filters; the entries that fail are told, so that the count says how many should be there."""
    index = nl.add_link("tc0", "dummy")
    qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, 0xFFFFFFF1, 0) + attr(1, "clsact")
    assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
    fixed = struct.pack("BxHiIII", 0, 0, index, 0, 0xFFFFFFF2, 0)
    serial = struct.pack("BBH", 0, 1, 1) + batch([flower(index, 0x0A000000 + k) for k in range(3)], 1)[4:]
    return Case(
        "a batch of filters",
        (BATCHTFILTER, 0, serial),
        lambda nl: sum(b"flower" in one.body for one in nl.ask(GETTFILTER, DUMP, fixed).messages),
        lambda nl: nl.ask(45, 0, fixed),
        stops=True,
    )


def send_failing(nl: Netlink, request: tuple[int, int, bytes], nth: int) -> tuple[bool, bool]:
    """Send with the n-th allocation failing: whether one did, and whether the kernel says it is done."""
    kind, flags, body = request
    blob = struct.pack("IHHII", 16 + len(body), kind, flags | REQUEST | ACK, 1, 0) + body
    descriptor = os.open(_FAIL_NTH, os.O_RDWR)
    done = True
    try:
        os.write(descriptor, str(nth).encode())
        try:
            nl.socket.send(blob)
        except OSError:
            done = False
        left = int(os.pread(descriptor, 16, 0).strip(b"\0\n "))
        os.pwrite(descriptor, b"0", 0)
    finally:
        os.close(descriptor)
    try:
        nl.socket.setblocking(False)
        reply = nl.socket.recv(1 << 17)
        done = done and struct.unpack_from("i", reply, 16)[0] == 0
    except OSError:  # the reply was what there was no memory for, or the request
        pass
    finally:
        nl.socket.setblocking(True)
    return left == 0, done


def exercise(nl: Netlink, case: Case) -> str:
    """Fail each allocation of a case in turn; return what is wrong."""
    case.undo(nl)
    before = case.state(nl)
    assert nl.ask(*case.request).error == 0, case.name
    after = case.state(nl)
    assert before != after, case.name
    case.undo(nl)
    wrong = []
    failed = 0
    for nth in range(1, _MOST):
        assert case.state(nl) == before, f"{case.name}: not taken back after {nth - 1}"
        hit, done = send_failing(nl, case.request, nth)
        got = case.state(nl)
        if got not in (before, after) and not case.stops:
            wrong.append(nth)
        failed += hit and not done
        case.undo(nl)
        if not hit:
            break
    print(
        f"{case.name}: {nth - 1} allocations, {failed} refused the request, half done after {wrong or 'none'}",
        flush=True,
    )
    return case.name if wrong else ""


def leaks() -> str:
    """What kmemleak finds: twice, as a pointer may be in a register the first time."""
    for _ in range(2):
        time.sleep(6)  # younger objects are not reported
        _LEAKS.write_text("scan", encoding="ascii")
    return _LEAKS.read_text(encoding="ascii")


def main() -> int:
    """Run every case in a namespace of its own."""
    for name, value in {"ignore-gfp-wait": "N", "verbose": "0"}.items():
        (_FAILSLAB / name).write_text(value, encoding="ascii")
    _LEAKS.write_text("clear", encoding="ascii")
    ctypes.CDLL(None).unshare(_CLONE_NEWNET)
    wrong = []
    with Netlink() as nl:
        vrf = nl.add_link("vrf9", "vrf", data=attr(1, 9))
        add_members(nl)
        for case in address_cases():
            wrong.append(exercise(nl, case))
            if case.request[0] == DELADDR:
                nl.ask(*case.request)
        cases = (*link_cases(vrf), filter_case(nl), port_case(nl, "bridge"), port_case(nl, "bond"))
        wrong += [exercise(nl, case) for case in cases]
    ctypes.CDLL(None).unshare(_CLONE_NEWNET)
    found = leaks()
    print(found or "no leaks")
    return bool(found) or any(wrong)


if __name__ == "__main__":
    sys.exit(main())
