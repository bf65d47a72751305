# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of everything when the package is removed; by its name the last of the modules under systemd."""

from pathlib import Path

import pytest

from tests.vm.installed import ETC, bridges, good, run

pytestmark = pytest.mark.vm_systemd("stock")


def test_network_and_configuration_stay(daemon: None) -> None:
    good(2)
    assert run("dpkg", "--no-triggers", "--remove", "netgroupd").returncode == 0
    left = run(
        "find", "/usr/lib/python3/dist-packages/netgroupd", "/usr/bin/netgroupctl", "/run/netgroup", "/var/lib/netgroup"
    )
    assert left.stdout == ""
    assert (ETC / "10-bridges.yaml").exists()
    assert "netgroupd" not in Path("/etc/iproute2/group").read_text()
    assert bridges() >= 2
    for number in range(1, 41):
        run("ip", "link", "del", f"tbr-{number}")
