# SPDX-License-Identifier: GPL-2.0-or-later
"""Every request that the patches add, with each of its allocations failing in turn; then a look for what leaked.

It needs the debug kernel, which fails the n-th allocation of a system call, of an object or of pages, and whose
kmemleak finds what nothing points to any more:
``python -m netgroupd.lab run --kernel debug --memory 4G --timeout 900 -- python -m tests.vm.failing_memory [WORD…]``.
With words only the cases are run that have one of them in their names.

A request may succeed although an allocation failed (a notification is lost, a hash stays small), or be refused; it
may not do half, and the kernel may not warn, which the lab notices on the console.
"""

import ctypes
import os
import struct
import sys
import time
from pathlib import Path

from tests.vm.failing_cases import Case, all_cases, local_routes, rule
from tests.vm.kernel_netlink import ACK, DELLINK, IFA_LOCAL, NEWADDR, NEWLINK, REQUEST, Netlink, attr

_FAIL_NTH = Path("/proc/thread-self/fail-nth")
_DEBUG = Path("/sys/kernel/debug")
_FAILURES = {
    "failslab": {"ignore-gfp-wait": "N", "verbose": "0"},
    "fail_page_alloc": {"ignore-gfp-wait": "N", "ignore-gfp-highmem": "N", "min-order": "0", "verbose": "0"},
}
_LEAKS = _DEBUG / "kmemleak"
_CLONE_NEWNET = 0x40000000
_MOST = 2000


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


def part_tables() -> str:
    """Fail each allocation of a first rule, each time in a namespace that has none; return what is wrong."""
    wrong = []
    for nth in range(1, _MOST):
        ctypes.CDLL(None).unshare(_CLONE_NEWNET)
        with Netlink() as nl:
            index = nl.add_link("d0", "dummy")
            nl.link(NEWLINK, index=index, up=True)
            for last in range(3):
                nl.address(NEWADDR, 2, 24, attr(IFA_LOCAL, bytes((10, 0, last, 1))), index=index)
            before = local_routes(nl)
            hit, _ = send_failing(nl, rule(), nth)
            if local_routes(nl) != before:
                wrong.append(nth)
            nl.link(NEWLINK, index=index, up=False)
            nl.link(DELLINK, index=index)
        if not hit:
            break
    print(f"a first rule: {nth - 1} allocations, routes lost after {wrong or 'none'}", flush=True)
    return "a first rule" if wrong else ""


def leaks() -> str:
    """What kmemleak finds: twice, as a pointer may be in a register the first time."""
    for _ in range(2):
        time.sleep(6)  # younger objects are not reported
        _LEAKS.write_text("scan", encoding="ascii")
    return _LEAKS.read_text(encoding="ascii")


def main() -> int:
    """Run the cases in a namespace of their own."""
    words = sys.argv[1:]

    def wanted(name: str) -> bool:
        return not words or any(word in name for word in words)

    for failure, settings in _FAILURES.items():
        for name, value in settings.items():
            (_DEBUG / failure / name).write_text(value, encoding="ascii")
    _LEAKS.write_text("clear", encoding="ascii")
    ctypes.CDLL(None).unshare(_CLONE_NEWNET)
    with Netlink() as nl:
        wrong = [exercise(nl, case) for case in all_cases(nl) if wanted(case.name)]
    if wanted("a first rule"):
        wrong.append(part_tables())
    ctypes.CDLL(None).unshare(_CLONE_NEWNET)
    found = leaks()
    print(found or "no leaks")
    return bool(found) or any(wrong)


if __name__ == "__main__":
    sys.exit(main())
