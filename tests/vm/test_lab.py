# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab holds what it promises to every test in it."""

import os
import subprocess
from pathlib import Path

import pytest


def _links() -> list[str]:
    shown = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return [line.split(": ")[1] for line in shown.splitlines()]


@pytest.mark.parametrize("name", ["first", "second"])
def test_each_test_starts_in_an_empty_network_namespace(name: str) -> None:
    assert _links() == ["lo"]
    subprocess.run(["ip", "link", "add", name, "type", "dummy"], check=True)
    assert [link for link in _links() if link != "lo"] == [name]


def test_kernel_is_the_one_in_the_id(lab_kernel: str) -> None:
    assert os.uname().release.startswith("6.12.")
    assert "netgroupd" in os.uname().release
    assert lab_kernel in {"stock", "patched"}


@pytest.mark.vm("stock")
def test_marker_limits_a_test_to_one_kernel(lab_kernel: str) -> None:
    assert lab_kernel == "stock"
    assert os.uname().release.endswith("-netgroupd-stock")


@pytest.mark.parametrize("kind", ["vlan", "vrf", "bond", "team", "vxlan", "geneve", "macvlan", "ipvlan", "wireguard"])
def test_kernel_knows_link_kind(kind: str) -> None:
    subprocess.run(["ip", "link", "add", "lower", "type", "dummy"], check=True)
    options = {
        "vlan": ["link", "lower", "type", "vlan", "id", "5"],
        "vrf": ["type", "vrf", "table", "10"],
        "vxlan": ["type", "vxlan", "id", "1", "dstport", "4789"],
        "geneve": ["type", "geneve", "id", "1", "remote", "192.0.2.1"],
        "macvlan": ["link", "lower", "type", "macvlan"],
        "ipvlan": ["link", "lower", "type", "ipvlan"],
    }.get(kind, ["type", kind])
    subprocess.run(["ip", "link", "add", "upper", *options], check=True)


def test_root_is_writable_and_the_checkout_is_where_it_was() -> None:
    Path("/etc/written-in-the-guest").write_text("gone with the guest")
    assert Path(__file__).exists()


@pytest.mark.vm_systemd("patched", cpus=2)  # on a PC; all others have it as a process, on the other kernel
def test_systemd_is_process_1_and_the_system_bus_answers() -> None:
    assert Path("/proc/1/comm").read_text().strip() == "systemd"
    call = ["busctl", "call", "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority"]
    subprocess.run([*call, "org.freedesktop.DBus.Peer", "Ping"], check=True)
