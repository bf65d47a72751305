# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lookup takes does not grow with the links that there are: instructions of the kernel, counted in a guest."""

import sys

from netgroupd.lab.boot import Guest
from netgroupd.lab.kernel import CHECKOUT
from netgroupd.lab.machine import Machine
from netgroupd.lab.ways import pc_image


def test_the_way_by_a_link_is_found_without_asking_all_others() -> None:
    guest = Guest(CHECKOUT, cpus=1, memory_mib=1024, counted=True)
    with Machine(guest, pc_image("patched", guest), lifetime_s=600.0) as machine:
        status, told, complaints = machine.run([sys.executable, "-m", "tests.lab.lookups"], timeout_s=300, cwd=CHECKOUT)
    assert status == 0, complaints
    few, many = ([int(word) for word in line.split()] for line in told.splitlines())
    assert all(after < 1.3 * before for before, after in zip(few, many, strict=True)), told
