# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest should be -> the command line of its kernel, itself a program of this host.  Pure.

User mode Linux has the same network stack, built from the same source with the
same patches, and runs Python as fast as the host does, where an emulated
processor takes ten times as long.  It has one processor.  Its kernel mounts the
root read-only, where QEMU refuses writes by itself: who is root here and there
could mount it otherwise.
"""

from pathlib import Path

from netgroupd.lab.boot import Guest, Image, kernel_parameters

# Its memory is a file, mapped again into every process: in RAM, or each page would be written to a disk.
MEMORY = "/dev/shm"
# Without "console" the kernel adds one behind the words for process 1.
_PARAMETERS = ("root=/dev/root rootfstype=hostfs console=tty0",)


def command_line(guest: Guest, image: Image, processor: int, directory: Path) -> tuple[str, ...]:
    """Return the command; its standard input and output are the channel to the agent, its errors the console."""
    return (
        *("setpriv", "--pdeathsig", "KILL", "--"),
        # At each system call of the guest the kernel and the process take turns, five times as fast on one processor.
        *("taskset", "--cpu-list", str(processor)),
        *("env", f"TMPDIR={MEMORY}"),
        *(str(image.path), f"mem={guest.memory_mib}M", f"uml_dir={directory}"),
        *("con0=null,fd:2", "con=null", "ssl0=fd:0,fd:1", "ssl=null"),
        *kernel_parameters(guest, *_PARAMETERS).split(" "),
    )
