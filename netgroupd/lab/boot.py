# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest should be, and what its kernel is told however it runs.  Pure."""

import sys
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple


class Way(Enum):
    """How a guest runs."""

    KVM = auto()
    USER_MODE = auto()  # the kernel as a process of the host, with one processor
    EMULATED = auto()


class Image(NamedTuple):
    """A kernel, and how it runs here."""

    path: Path
    way: Way


class Guest(NamedTuple):
    """The machine to boot."""

    python_path: Path
    cpus: int = 2
    memory_mib: int = 2048
    systemd: bool = False
    # One CPU whose clock counts instructions, a nanosecond each: what is
    # measured in it does not depend on how busy the host is.
    counted: bool = False
    parameters: tuple[str, ...] = ()  # for the kernel, besides the lab's own


def kernel_parameters(guest: Guest, *of_machine: str) -> str:
    """Return the kernel command line; all after ``--`` is for process 1."""
    kernel = (
        *of_machine,
        # Warnings and worse on the console, where the host looks for them.
        "ro loglevel=5 panic=-1 oops=panic",
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
