# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest should be -> the QEMU command line for it.  Pure.

Not virtme-ng: it runs one script per boot, its boot to a command takes three
times as long under TCG (7.6 s against 2.5 s here), its --systemd hangs, and a
test session needs a channel that carries thousands of results out of one boot.
It remains the tool of choice to try a kernel by hand.
"""

from pathlib import Path

from netgroupd.lab.boot import Guest, Image, Way, kernel_parameters

PROGRAM = "qemu-system-x86_64"

# A processor moves many bytes at a time where a string instruction says one ("erms": the kernel
# then clears and copies by bytes); TCG does what is said, and counts each byte as an instruction.
_EMULATED = ("-cpu", "max,-erms")
_PARAMETERS = (
    "root=root rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose",
    "console=ttyS0 random.trust_cpu=on mitigations=off tsc=reliable no_timer_check",
)


def accelerator(guest: Guest, way: Way) -> tuple[str, ...]:
    """Return the options for KVM, or for TCG with a thread per CPU."""
    if guest.counted:
        return ("-accel", "tcg,thread=single,tb-size=512", "-icount", "shift=0", *_EMULATED)
    if way is Way.KVM:
        return ("-accel", "kvm", "-cpu", "host")
    return ("-accel", "tcg,thread=multi,tb-size=512", *_EMULATED)


def command_line(guest: Guest, image: Image, console: Path) -> tuple[str, ...]:
    """Return the command; its standard input and output are the channel to the agent."""
    return (
        # QEMU must not outlive whoever started it, however that ends.
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *(PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *accelerator(guest, image.way),
        *("-machine", "pc", "-smp", str(1 if guest.counted else guest.cpus), "-m", f"{guest.memory_mib}M"),
        *("-kernel", str(image.path), "-append", kernel_parameters(guest, *_PARAMETERS)),
        *("-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "virtio-rng-pci"),
        *("-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"),
        *("-chardev", "stdio,id=agent,signal=off", "-device", "virtio-serial-pci"),
        *("-device", "virtserialport,chardev=agent"),
    )
