# SPDX-License-Identifier: GPL-2.0-or-later
"""What a template learns about the host."""

import os
from pathlib import Path

from netgroupd.config.facts import Hardware, gather


def _device(sysfs: Path, bus: str, name: str, driver: str, mac: str) -> None:
    place = sysfs / "bus" / bus / "devices" / f"{bus}-{name}"
    (place / "net" / name).mkdir(parents=True)
    (place / "net" / name / "address").write_text(f"{mac}\n")
    (sysfs / "drivers" / driver).mkdir(parents=True, exist_ok=True)
    (place / "driver").symlink_to(sysfs / "drivers" / driver)


def test_hardware_is_found_by_bus_in_natural_order(tmp_path: Path) -> None:
    _device(tmp_path, "pci", "swp10", "mlxsw_spectrum", "02:00:00:00:00:0a")
    _device(tmp_path, "pci", "swp2", "mlxsw_spectrum", "02:00:00:00:00:02")
    _device(tmp_path, "virtio", "eth0", "virtio_net", "02:00:00:00:00:00")
    (tmp_path / "class" / "net" / "br0").mkdir(parents=True)
    assert gather(tmp_path).links == (
        Hardware("eth0", "virtio_net", "02:00:00:00:00:00"),
        Hardware("swp2", "mlxsw_spectrum", "02:00:00:00:00:02"),
        Hardware("swp10", "mlxsw_spectrum", "02:00:00:00:00:0a"),
    )


def test_this_host_has_a_name_and_memory() -> None:
    facts = gather()
    assert facts.name == os.uname().nodename
    assert facts.memory > 1 << 20
