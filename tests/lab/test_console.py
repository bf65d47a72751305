# SPDX-License-Identifier: GPL-2.0-or-later
"""What on a console is a fault, and what is not."""

import pytest

from netgroupd.lab.console import excerpt, faults

FAULTS = [
    pytest.param("[    5.1] WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 f+0x1/0x2", id="warn"),
    pytest.param("[    5.1] WARNING: possible circular locking dependency detected", id="lockdep"),
    pytest.param("[    5.1] BUG: KASAN: slab-use-after-free in f+0x1/0x2", id="kasan"),
    pytest.param("[    5.1] BUG: kernel NULL pointer dereference, address: 0", id="null"),
    pytest.param("[    5.1] BUG: sleeping function called from invalid context at a.c:1", id="atomic_sleep"),
    pytest.param("[    5.1] Oops: general protection fault, 0000 [#1] SMP", id="oops"),
    pytest.param("[    5.1] Kernel panic - not syncing: Attempted to kill init!", id="panic"),
    pytest.param("[    5.1] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", id="stall"),
    pytest.param("[    5.1] unregister_netdevice: waiting for vlan1 to become free. Usage count = 2", id="leak"),
    pytest.param("[    5.1] Out of memory: Killed process 77 (python3)", id="memory"),
]
HARMLESS = [
    pytest.param("[    0.1] acpi PNP0A03:00: fail to add MMCONFIG information", id="acpi"),
    pytest.param("[    1.2] br0: port 1(d0) entered blocking state", id="bridge"),
    pytest.param("[    2.0] systemd[1]: Detected virtualization qemu.", id="systemd"),
    pytest.param("", id="nothing"),
]


@pytest.mark.parametrize("line", FAULTS)
def test_fault_is_found(line: str) -> None:
    assert faults(f"[    1.0] before\r\n{line}\r\n[    9.9] after\r\n") == (line.split("] ", 1)[1],)


@pytest.mark.parametrize("line", HARMLESS)
def test_ordinary_line_is_no_fault(line: str) -> None:
    assert faults(line) == ()


def test_excerpt_starts_at_the_first_fault() -> None:
    console = "\n".join(["[ 1.0] hello", "[ 2.0] WARNING: CPU: 0", "[ 2.0] Call Trace:"])
    assert excerpt(console) == "[ 2.0] WARNING: CPU: 0\n[ 2.0] Call Trace:"


def test_excerpt_of_a_quiet_console_is_its_end() -> None:
    console = "\n".join(f"line {number}" for number in range(100))
    assert excerpt(console).split("\n")[-1] == "line 99"
    assert len(excerpt(console).split("\n")) < 100
