# SPDX-License-Identifier: GPL-2.0-or-later
"""Which way of running a guest works on this host, found out by booting one, once per host boot.

/dev/kvm being there proves nothing: in nested and restricted hypervisors it
opens, accepts a guest, and never runs an ordinary kernel.  Nor does it prove
anything of user mode Linux that it starts: it needs ptrace, and programs in /dev/shm.
"""

import os
import shutil
from pathlib import Path

from netgroupd.errors import LabError
from netgroupd.lab.boot import Guest, Image, Way
from netgroupd.lab.kernel import CHECKOUT, Arch, cache_directory, find_image
from netgroupd.lab.machine import Machine
from netgroupd.lab.user_mode import MEMORY

_LIMIT_S = 10.0


def image_for(name: str, guest: Guest, checkout: Path = CHECKOUT) -> Image:
    """Return the kernel of that name, for the quickest way in which any host can run the guest.

    With one processor that is a process: it boots in half a second, and whether
    KVM works is known only when another kernel has been built.

    Raises:
        LabError: It cannot be built.
    """
    process = user_mode_image(name, guest, checkout) if guest.cpus == 1 else None
    return process or pc_image(name, guest, checkout)


def pc_image(name: str, guest: Guest, checkout: Path = CHECKOUT) -> Image:
    """Return the kernel of that name to run on a PC: a virtual one, or where KVM does not work, an emulated one.

    Raises:
        LabError: It cannot be built.
    """
    path = find_image(name, checkout)
    there = not guest.counted and os.access("/dev/kvm", os.R_OK | os.W_OK)
    virtual = there and _works(Image(path, Way.KVM))
    return Image(path, Way.KVM if virtual else Way.EMULATED)


def user_mode_image(name: str, guest: Guest, checkout: Path = CHECKOUT) -> Image | None:
    """Return the kernel of that name to run as a process; None where that does not work.

    Raises:
        LabError: It cannot be built.
    """
    if shutil.disk_usage(MEMORY).free < guest.memory_mib << 20:
        return None
    image = Image(find_image(name, checkout, Arch.USER_MODE), Way.USER_MODE)
    return image if _works(image) else None


def _works(image: Image) -> bool:
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    way = image.way.name.lower()
    answer = cache_directory() / f"{way}-{boot_id}"
    if not answer.exists():
        print(f"lab: trying whether a guest boots with {way} (at most {_LIMIT_S:.0f} s, once)", flush=True)
        works = _boots(image)
        _forget_earlier_boots(answer.parent, way)
        scratch = answer.with_name(f"{answer.name}.{os.getpid()}")
        scratch.write_text("yes" if works else "no")
        scratch.replace(answer)
    return answer.read_text() == "yes"


def _boots(image: Image) -> bool:
    probe = Guest(CHECKOUT, cpus=1, memory_mib=512)
    try:
        with Machine(probe, image, lifetime_s=_LIMIT_S) as machine:
            return machine.run(["true"], timeout_s=_LIMIT_S).status == 0
    except LabError:
        return False


def _forget_earlier_boots(directory: Path, way: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob(f"{way}-*"):
        old.unlink(missing_ok=True)
