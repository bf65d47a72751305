# SPDX-License-Identifier: GPL-2.0-or-later
"""Install netgroupd in a guest, from a checkout, the way its package would."""

import sysconfig
from pathlib import Path

from netgroupd.errors import LabError
from netgroupd.lab.machine import Machine

_LIMIT_S = 120.0


def install(machine: Machine, checkout: Path) -> None:
    """Put the programs, units and policies into a guest that runs systemd.

    Raises:
        LabError: A step failed.
    """
    # The unit hides home directories, and with them the host's environment.
    libraries = sysconfig.get_path("purelib")
    version = sysconfig.get_python_version()
    local = f"/usr/local/lib/python{version}/dist-packages"
    for argv in (
        ["mkdir", "-p", local],
        ["mount", "--bind", libraries, local],
        [str(checkout / ".ci/stage"), "/"],
        ["systemctl", "daemon-reload"],
        # Starts the bus where nothing has used its socket yet.
        ["busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig"],
    ):
        got = machine.run(argv, timeout_s=_LIMIT_S)
        if got.status:
            raise LabError(f"installing netgroupd in the guest: {' '.join(argv)}: {got.stderr.strip()}")
