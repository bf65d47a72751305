# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest should be -> the QEMU command line for it.  Pure.

Not virtme-ng: it runs one script per boot, its boot to a command takes three
times as long under TCG (7.6 s against 2.5 s here), its --systemd hangs, and a
test session needs a channel that carries thousands of results out of one boot.
It remains the tool of choice to try a kernel by hand.
"""

import sys
from pathlib import Path
from typing import NamedTuple

QEMU = "qemu-system-x86_64"

# A processor moves many bytes at a time where a string instruction says one ("erms": the kernel
# then clears and copies by bytes); TCG does what is said, and counts each byte as an instruction.
_EMULATED = ("-cpu", "max,-erms")


class Guest(NamedTuple):
    """The machine to boot."""

    kernel: Path
    python_path: Path
    cpus: int = 2
    memory_mib: int = 2048
    systemd: bool = False
    # One CPU whose clock counts instructions, a nanosecond each: what is
    # measured in it does not depend on how busy the host is.
    counted: bool = False
    parameters: tuple[str, ...] = ()  # for the kernel, besides the lab's own


def accelerator(guest: Guest, *, kvm: bool) -> tuple[str, ...]:
    """Return the options for KVM, or for TCG with a thread per CPU."""
    if guest.counted:
        return ("-accel", "tcg,thread=single,tb-size=512", "-icount", "shift=0", *_EMULATED)
    if kvm:
        return ("-accel", "kvm", "-cpu", "host")
    return ("-accel", "tcg,thread=multi,tb-size=512", *_EMULATED)


def kernel_parameters(guest: Guest) -> str:
    """Return the kernel command line; all after ``--`` is for process 1."""
    kernel = (
        "root=root rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose ro",
        # Warnings and worse on the console, where the host looks for them.
        "console=ttyS0 loglevel=5 panic=-1 oops=panic",
        "random.trust_cpu=on mitigations=off tsc=reliable no_timer_check",
        # The host may be busy for longer than a real CPU ever is.
        "rcupdate.rcu_cpu_stall_timeout=120",
        # Devices that are there before anybody asked only blur what a test sees.
        "bonding.max_bonds=0 dummy.numdummies=0 ifb.numifbs=0 fb_tunnels=none",
        *guest.parameters,
        # Paths may have blanks, and the kernel takes quotes off.
        f'init=/usr/bin/python3 PYTHONPATH="{guest.python_path}" PYTHONDONTWRITEBYTECODE=1',
    )
    # The guest with systemd has a /tmp of its own, and these may be in the host's.
    first_process = "-S -m netgroupd.lab.guest" + (f' systemd "{sys.prefix}"' if guest.systemd else "")
    return " ".join((*kernel, "--", first_process))


def command_line(guest: Guest, *, kvm: bool, console: Path) -> tuple[str, ...]:
    """Return the command; its standard input and output are the channel to the agent."""
    return (
        # QEMU must not outlive whoever started it, however that ends.
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *(QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *accelerator(guest, kvm=kvm),
        *("-machine", "pc", "-smp", str(1 if guest.counted else guest.cpus), "-m", f"{guest.memory_mib}M"),
        *("-kernel", str(guest.kernel), "-append", kernel_parameters(guest)),
        *("-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "virtio-rng-pci"),
        *("-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"),
        *("-chardev", "stdio,id=agent,signal=off", "-device", "virtio-serial-pci"),
        *("-device", "virtserialport,chardev=agent"),
    )
