# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM boots a guest on this host, found out by booting one, once per host boot.

/dev/kvm being there proves nothing: in nested and restricted hypervisors it
opens, accepts a guest, and never runs an ordinary kernel.
"""

import os
from pathlib import Path

from netgroupd.errors import LabError
from netgroupd.lab.kernel import cache_directory
from netgroupd.lab.machine import Machine
from netgroupd.lab.qemu import Guest

_LIMIT_S = 10.0


def kvm_works(guest: Guest) -> bool:
    """Tell whether to use KVM."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    answer = cache_directory() / f"kvm-{boot_id}"
    if not answer.exists():
        print(f"lab: trying whether /dev/kvm boots a guest (at most {_LIMIT_S:.0f} s, once)", flush=True)
        works = _boots(guest)
        _forget_earlier_boots(answer.parent)
        scratch = answer.with_name(f"{answer.name}.{os.getpid()}")
        scratch.write_text("yes" if works else "no")
        scratch.replace(answer)
    return answer.read_text() == "yes"


def _boots(guest: Guest) -> bool:
    probe = guest._replace(cpus=1, memory_mib=512, systemd=False)
    try:
        with Machine(probe, kvm=True, lifetime_s=_LIMIT_S) as machine:
            return machine.run(["true"], timeout_s=_LIMIT_S).status == 0
    except LabError:
        return False


def _forget_earlier_boots(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("kvm-*"):
        old.unlink(missing_ok=True)
