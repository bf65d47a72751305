# SPDX-License-Identifier: GPL-2.0-or-later
"""RTM_BATCHTFILTER on the patched kernel: message, reply, effect."""

import errno
import os
import random
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import (
    BATCHTFILTER,
    CREATE,
    DELTFILTER,
    DUMP,
    EXCL,
    GETTFILTER,
    NEWQDISC,
    NEWTFILTER,
    Netlink,
    Reply,
    attr,
    nest,
    parse,
    parse_all,
    u32,
)
from tests.waiting import eventually

pytestmark = pytest.mark.vm("patched", cpus=2)
KIND, OPTIONS = 1, 2
FLOWER_ACT, FLOWER_IPV4_DST, FLOWER_ETH_TYPE, FLOWER_FLAGS = 3, 12, 8, 22
CLSACT, INGRESS, CLASSFUL = 0xFFFFFFF1, 0xFFFFFFF2, 0x10000
IN_INIT_NET = ("nsenter", "--net=/proc/1/ns/net")
SKIP_HW, IPV4 = 1, 0x0008
SERIAL = 1


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in the test's network namespace."""
    with Netlink() as opened:
        yield opened


@pytest.fixture
def dev(nl: Netlink) -> int:
    """A link that filters hang on."""
    index = nl.add_link("d0", "dummy")
    qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, CLSACT, 0) + attr(KIND, "clsact")
    assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
    return index


def flower(dev: int, dst: int, prio: int = 1, act: str | None = "gact", kind: str = "flower") -> bytes:
    """A filter by destination address, with an action."""
    options = [attr(FLOWER_ETH_TYPE, struct.pack("H", IPV4)), attr(FLOWER_FLAGS, SKIP_HW)]
    options.append(attr(FLOWER_IPV4_DST, struct.pack("!I", 0x0A000000 + dst)))
    if act:
        drop = attr(2, struct.pack("IIiii", 0, 0, 2, 0, 0))
        options.append(nest(FLOWER_ACT, nest(1, attr(1, act), nest(2, drop))))
    head = struct.pack("BxHiIII", 0, 0, dev, 0, INGRESS, prio << 16 | IPV4)
    return head + attr(KIND, kind) + nest(OPTIONS, *options)


def entry(body: bytes, kind: int = NEWTFILTER, flags: int = CREATE | EXCL) -> bytes:
    """One entry of a batch."""
    size = 8 + len(body)
    return struct.pack("IHH", size, kind, flags) + body + bytes(-size % 4)


def batch(nl: Netlink, *entries: bytes, flags: int = 0, threads: int = 0, end: bytes = bytes(4)) -> Reply:
    """Send a batch."""
    return nl.ask(BATCHTFILTER, 0, struct.pack("BBH", 0, flags, threads) + b"".join(entries) + end)


def refused(reply: Reply) -> list[tuple[int, int, str]]:
    """(index, errno, sentence) of every refused entry."""
    found = []
    for _, value in parse_all(reply.tlvs[32]):
        one = parse(value)
        text = one.get(3, b"").rstrip(b"\0").decode()
        found.append((u32(one[1]), -struct.unpack("i", one[2])[0], text))
    return found


def count(nl: Netlink, dev: int) -> int:
    """How many filters there are."""
    reply = nl.ask(GETTFILTER, DUMP, struct.pack("BxHiIII", 0, 0, dev, 0, INGRESS, 0))
    return sum(OPTIONS in one.attrs(20) and FLOWER_IPV4_DST in parse(one.attrs(20)[OPTIONS]) for one in reply.messages)


def test_empty_batch_is_well(nl: Netlink) -> None:
    assert batch(nl).error == 0


@pytest.mark.parametrize("threads", [0, 1, 2, 65535])
@pytest.mark.parametrize("flags", [0, SERIAL])
def test_all_entries_are_done_whatever_the_threads(nl: Netlink, dev: int, flags: int, threads: int) -> None:
    assert batch(nl, *(entry(flower(dev, k)) for k in range(1000)), flags=flags, threads=threads).error == 0
    assert count(nl, dev) == 1000
    first = struct.pack("BxHiIII", 0, 0, dev, 0, INGRESS, 1 << 16 | IPV4)
    assert batch(nl, entry(first + attr(KIND, "flower"), DELTFILTER, 0), flags=flags, threads=threads).error == 0
    assert count(nl, dev) == 0


def test_refused_entries_are_reported_with_index_errno_and_sentence(nl: Netlink, dev: int) -> None:
    entries = [entry(flower(dev, k)) for k in range(200)]
    entries[5] = entry(flower(dev, 4))
    entries[17] = entry(flower(dev, 17, prio=2, kind="nokind"))
    entries[199] = entry(flower(4711, 1))
    reply = batch(nl, *entries)
    assert reply.text == "3 of 200 entries failed"
    want = {5: (errno.EEXIST, ""), 17: (errno.ENOENT, "TC classifier not found"), 199: (errno.ENODEV, "")}
    got = refused(reply)
    assert {index for index, _, _ in got} in ({5, 17, 199}, {4, 17, 199})
    assert [(code, text) for index, code, text in got if index == 17] == [want[17]]
    assert [code for index, code, _ in got if index == 199] == [errno.ENODEV]
    assert reply.error == got[0][1]
    assert count(nl, dev) == 197


def test_serial_batch_stops_at_the_first_refusal(nl: Netlink, dev: int) -> None:
    entries = [entry(flower(dev, k)) for k in range(100)]
    entries[40] = entry(flower(dev, 3))
    reply = batch(nl, *entries, flags=SERIAL)
    assert [index for index, _, _ in refused(reply)] == [40]
    assert reply.error == errno.EEXIST
    assert count(nl, dev) == 40


def test_reply_to_a_hopeless_batch_is_bounded(nl: Netlink, dev: int) -> None:
    reply = batch(nl, *(entry(flower(dev, k, kind="nokind")) for k in range(20000)))
    assert reply.text == "20000 of 20000 entries failed"
    got = refused(reply)
    assert [index for index, _, _ in got] == list(range(len(got)))
    assert len(got) > 2500
    assert len(reply.tlvs[32]) <= 60000


def test_reasons_give_way_to_entries(nl: Netlink, dev: int) -> None:
    got = refused(batch(nl, *(entry(flower(dev, k, kind="nokind")) for k in range(1500))))
    assert len(got) == 1500
    assert got[0][2] == "TC classifier not found"
    assert got[-1][2] == "TC classifier not found" or "" in {text for _, _, text in got}


GOOD = entry(flower(1, 1))
MALFORMED = [
    pytest.param(b"", b"", "Batch has no end", id="no_end"),
    pytest.param(GOOD, b"\0\0", "Batch has no end", id="half_an_end"),
    pytest.param(struct.pack("IHH", 8, 44, 0), bytes(4), "Batch entry 0 has an invalid length", id="only_a_header"),
    pytest.param(
        struct.pack("IHH", 27, 44, 0) + bytes(20), bytes(4), "Batch entry 0 has an invalid length", id="short"
    ),
    pytest.param(struct.pack("IHH", 0xFFFFFFFF, 44, 0), bytes(40), "Batch entry 0 has an invalid length", id="huge"),
    pytest.param(GOOD + struct.pack("IHH", 400, 44, 0), bytes(40), "Batch entry 1 has an invalid length", id="long"),
    pytest.param(GOOD + entry(bytes(20), 46), bytes(4), "Batch entry 1 has an invalid type", id="get"),
    pytest.param(entry(bytes(20), 47), bytes(4), "Batch entry 0 has an invalid type", id="batch_in_a_batch"),
]


@pytest.mark.parametrize(("entries", "end", "text"), MALFORMED)
def test_malformed_batch_is_refused_before_its_first_entry(
    nl: Netlink, dev: int, entries: bytes, end: bytes, text: str
) -> None:
    reply = batch(nl, entry(flower(dev, 1))[:0] + entries, end=end)
    assert (reply.error, reply.text) == (errno.EINVAL, text)
    assert count(nl, dev) == 0


@pytest.mark.parametrize(
    "head", [b"\0", struct.pack("BBH", 1, 0, 0) + bytes(4), struct.pack("BBH", 0, 2, 0) + bytes(4)]
)
def test_invalid_header_is_refused_with_a_sentence(nl: Netlink, head: bytes) -> None:
    reply = nl.ask(BATCHTFILTER, 0, head)
    assert reply.error == errno.EINVAL
    assert "header" in reply.text


@pytest.mark.parametrize("act", [b"bpf", b"bpf\0", b"bpf\0more"], ids=["bare", "terminated", "with_more_behind_it"])
def test_entries_that_need_the_callers_files_run_in_the_caller(nl: Netlink, dev: int, act: bytes) -> None:
    """A BPF program that exists only as the caller's descriptor is found."""
    program = load_program()
    action = nest(2, attr(2, struct.pack("IIiii", 0, 0, 0, 0, 0)), attr(5, program), attr(6, "p"))
    head = struct.pack("BxHiIII", 0, 0, dev, 0, INGRESS, 1 << 16 | IPV4)
    entries = []
    for k in range(400):
        match = (attr(FLOWER_ETH_TYPE, struct.pack("H", IPV4)), attr(FLOWER_IPV4_DST, struct.pack("!I", k)))
        acts = nest(FLOWER_ACT, nest(1, attr(1, act), action))
        entries.append(entry(head + attr(KIND, "flower") + nest(OPTIONS, *match, attr(FLOWER_FLAGS, SKIP_HW), acts)))
    reply = batch(nl, *entries, threads=4)
    assert reply.error == 0, refused(reply)[:3]
    assert count(nl, dev) == 400
    os.close(program)


def load_program() -> int:
    """Load ``return 0`` as a scheduler's action."""
    import ctypes  # noqa: PLC0415 - the one test that needs a system call without a wrapper

    code = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    instructions, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    request = struct.pack("IIQQIIQII", 4, 2, ctypes.addressof(instructions), ctypes.addressof(licence), 0, 0, 0, 0, 0)
    buffer = ctypes.create_string_buffer(request.ljust(128, b"\0"))
    fd = ctypes.CDLL(None, use_errno=True).syscall(321, 5, buffer, 128)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return int(fd)


def test_filters_of_other_kinds_run_too(nl: Netlink, dev: int) -> None:
    head = struct.pack("BxHiIII", 0, 0, dev, 0, INGRESS, 7 << 16 | IPV4)
    other = [entry(head + attr(KIND, "matchall") + nest(OPTIONS))]
    assert batch(nl, *(entry(flower(dev, k)) for k in range(300)), *other, threads=4).error == 0
    assert count(nl, dev) == 300


def test_batch_survives_a_qdisc_that_goes_meanwhile(nl: Netlink, dev: int) -> None:
    entries = [entry(flower(dev, k)) for k in range(3000)]
    child = os.fork()
    if not child:
        with Netlink() as other:
            qdisc = struct.pack("BxHiIII", 0, 0, dev, 0xFFFF0000, CLSACT, 0) + attr(KIND, "clsact")
            for _ in range(200):
                other.ask(37, 0, qdisc)
                other.ask(NEWQDISC, CREATE, qdisc)
        os._exit(0)
    for _ in range(5):
        batch(nl, *entries, threads=4)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def classful(nl: Netlink) -> int:
    """A link whose qdisc takes no filter without RTNL."""
    index = nl.add_link("d1", "dummy")
    bands = attr(2, struct.pack("i16B", 3, *range(3), *bytes(13)))
    qdisc = struct.pack("BxHiIII", 0, 0, index, CLASSFUL, 0xFFFFFFFF, 0) + attr(KIND, "prio") + bands
    assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
    return index


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """RTNL is held for the user mode helper of one bridge until this file is there; another bridge is called b1."""
    helper, go_on = Path("/sbin/bridge-stp"), tmp_path / "go-on"
    helper.write_text(f"#!/bin/sh\n> {tmp_path}/$1\nuntil [ $1 = b1 -o -e {go_on} ]; do sleep 0.1; done\n")
    helper.chmod(0o755)
    for bridge in ("b0", "b1"):
        subprocess.run([*IN_INIT_NET, "ip", "link", "add", bridge, "type", "bridge"], check=True)
    holder = start_helper("b0")
    eventually((tmp_path / "b0").exists, 250)
    yield go_on
    go_on.touch()
    assert holder.wait() == 0
    for bridge in ("b0", "b1"):
        subprocess.run([*IN_INIT_NET, "ip", "link", "del", bridge], check=True)
    helper.unlink()


def start_helper(bridge: str) -> subprocess.Popen[bytes]:
    """Switch a bridge to STP, for which those of the first namespace start their helper."""
    return subprocess.Popen([*IN_INIT_NET, "ip", "link", "set", bridge, "type", "bridge", "stp_state", "1"])


def ends_within(limit_s: float, action: Callable[[], object]) -> bool:
    """Whether a process is done with this before it is too late."""
    child = os.fork()
    if not child:
        action()
        os._exit(0)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            return True
        time.sleep(0.1)
    return False


def sleeps_soundly(pid: int) -> bool:
    """Whether a process waits for a mutex of the kernel's."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "D"


def busy_workers() -> int:
    """How many threads of the kernel wait for a mutex: uninterruptibly, and as workers."""
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text().rpartition(")")
            states.append("(kworker/u" in name and rest.split()[0] == "D")
    return sum(states)


@pytest.mark.vm("patched", cpus=1)
def test_batches_that_wait_for_rtnl_leave_room_for_a_user_mode_helper(
    nl: Netlink, dev: int, classful: int, held: Path
) -> None:
    """Whoever holds RTNL may wait for one, and it runs in a workqueue that must not be full of others who want RTNL."""
    head = struct.pack("BxHiIII", 0, 0, classful, 0, CLASSFUL, 1 << 16 | IPV4)
    waits = entry(head + attr(KIND, "flower") + nest(OPTIONS, attr(FLOWER_ETH_TYPE, struct.pack("H", IPV4))))
    blob = struct.pack("BBH", 0, 0, 16) + entry(flower(dev, 1)) + waits * 1000 + bytes(4)
    other = start_helper("b1")
    eventually(lambda: sleeps_soundly(other.pid), 250)  # it is the next to hold RTNL
    children = []
    for _ in range(45):
        children.append(os.fork())
        if not children[-1]:
            with Netlink() as mine:
                mine.ask(BATCHTFILTER, 0, blob)
            os._exit(0)
    eventually(lambda: busy_workers() > 200, 250)
    time.sleep(2)  # for the rest of those that there can be
    assert ends_within(100, lambda: batch(nl, *(entry(flower(dev, k)) for k in range(300)), threads=4))
    held.touch()
    assert other.wait(timeout=100) == 0
    for child in children:
        os.waitpid(child, 0)


def test_random_batches_do_no_harm(nl: Netlink, dev: int) -> None:
    rng = random.Random(1)
    good = b"".join(entry(flower(dev, k)) for k in range(20)) + bytes(4)
    for _ in range(300):
        mangled = bytearray(good[: rng.randrange(4, len(good))])
        for _ in range(rng.randrange(8)):
            mangled[rng.randrange(len(mangled))] = rng.randrange(256)
        nl.ask(BATCHTFILTER, 0, struct.pack("BBH", 0, rng.randrange(2), rng.randrange(5)) + bytes(mangled))
    assert batch(nl).error == 0
