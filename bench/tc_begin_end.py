# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters sent between NLM_F_BEGIN and NLM_F_END, beside one compound message and messages that run one by one.

The flags are the first suggestion of the paper on tc insertion.  The series does not have them: add
``experiments/nlm-f-begin-end.patch`` to ``kernel-patches/series``, and run it on the kernel with that:
``python -m netgroupd.lab run --kernel patched --memory 3G -- python -m bench.tc_begin_end``.
"""

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from socket import MSG_DONTWAIT

from bench.harness import Cell, Table, run
from bench.kernel_scale import batch, flower
from tests.vm.kernel_netlink import (
    ACK,
    BATCHTFILTER,
    CREATE,
    EXCL,
    NEWQDISC,
    NEWTFILTER,
    NLMSG_ERROR,
    REQUEST,
    Netlink,
    attr,
    split,
)

_BEGIN, _END = 0x1000, 0x2000
_PACK = 128
_COUNT = 10_000
_SETTLE_S = 2


def one_by_one(nl: Netlink, bodies: Sequence[bytes]) -> None:
    """Messages that run when they arrive, many to a system call."""
    for at in range(0, len(bodies), _PACK):
        reply = nl.send_many((NEWTFILTER, CREATE | EXCL, body) for body in bodies[at : at + _PACK])
        assert reply.error == 0, reply


def compound(nl: Netlink, bodies: Sequence[bytes]) -> None:
    """All of them in one message."""
    reply = nl.ask(BATCHTFILTER, 0, batch(bodies, 0))
    assert reply.error == 0, reply


def keeps_messages(nl: Netlink, body: bytes) -> bool:
    """Tell whether the kernel waits for the end: others answer each message before the system call returns."""
    answers = []
    for seq, flags in enumerate((_BEGIN, _END), 1):
        nl.socket.send(struct.pack("IHHII", 16 + len(body), NEWTFILTER, flags | REQUEST | ACK, seq, 0) + body)
        with suppress(BlockingIOError):
            answers.append(nl.socket.recv(1 << 17, MSG_DONTWAIT))
    return len(answers) == 1


def begin_end(nl: Netlink, bodies: Sequence[bytes]) -> None:
    """Messages that the kernel keeps until the last one, which alone is acknowledged."""
    last = len(bodies) - 1
    for at in range(0, len(bodies), _PACK):
        blob = bytearray()
        for number, body in enumerate(bodies[at : at + _PACK], at):
            more = _BEGIN if number == 0 else _END | ACK if number == last else 0
            flags = REQUEST | CREATE | EXCL | more
            blob += struct.pack("IHHII", 16 + len(body), NEWTFILTER, flags, number + 1, 0) + body
            blob += bytes(-len(blob) % 4)
        nl.socket.send(blob)
    (answer,) = split(nl.socket.recv(1 << 17))
    assert (answer.type, answer.seq, struct.unpack_from("i", answer.body)[0]) == (NLMSG_ERROR, last + 1, 0), answer


WAYS: dict[str, Callable[[Netlink, Sequence[bytes]], None]] = {
    "messages, 128 to a system call": one_by_one,
    "between NLM_F_BEGIN and NLM_F_END": begin_end,
    "one compound message": compound,
}


def compare(quick: bool) -> Iterator[Table]:
    """Take turns, so that whatever else the machine does befalls each."""
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    with Netlink() as nl:
        index = nl.add_link("d0", "dummy")
        qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, 0xFFFFFFF1, 0) + attr(1, "clsact")
        bodies = [flower(index, 0x0A000000 + number) for number in range(_COUNT)]
        assert keeps_messages(nl, bytes(20)), "this kernel does not know NLM_F_BEGIN"
        for _ in range(3 if quick else 9):
            for name, way in WAYS.items():
                assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
                start = time.perf_counter()
                way(nl, bodies)
                times[name].append(time.perf_counter() - start)
                nl.ask(NEWQDISC + 1, 0, qdisc)
                time.sleep(_SETTLE_S)
    slow = times["messages, 128 to a system call"]
    rows: dict[str, tuple[Cell, ...]] = {
        name: (Cell(tuple(found)), Cell(tuple(one / other for one, other in zip(slow, found, strict=True)), "×"))
        for name, found in times.items()
    }
    yield Table("tc_begin_end", f"{_COUNT:,} flower filters", ("time", "times as fast as messages"), rows)


if __name__ == "__main__":
    run(compare)
