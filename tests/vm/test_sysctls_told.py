# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of links that a capture does not read for each link: netlink must tell of every one of them."""

import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.settings import sysctls, sysctls_changed
from netgroupd.kernel.settings.sysctls_told import TOLD, told

_ROOT = Path("/proc/sys/net")
_READ_ONLY = {"mc_forwarding"}
_OTHERS = ("1", "2", "0", "4", "64", "1000")  # one of them is another value, and a legal one


def _changed(setting: Path) -> bool:
    """Give a setting another value."""
    before = setting.read_text().strip()
    for value in _OTHERS:
        try:
            setting.write_text(value)
        except OSError:
            continue
        if setting.read_text().strip() != before:
            return True
    return False


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """Four links that are alike."""
    for number in range(4):
        subprocess.run(["ip", "link", "add", f"d{number}", "type", "dummy"], check=True)
    with Kernel() as kernel:
        kernel.dump(Selection(everything=True))
        yield kernel


def test_netlink_tells_of_every_setting_that_is_read_of_one_link_for_others_like_it(kernel: Kernel) -> None:
    before = told(kernel._context)
    assert before["d0"] == before["d1"] != before["lo"]
    settings = [
        setting
        for place, names in TOLD.items()
        for setting in sorted((_ROOT / place / "d1").iterdir())
        if setting.name in names
    ]
    assert len(settings) > 100
    for setting in settings:
        last = told(kernel._context)["d1"]
        assert _changed(setting) == (setting.name not in _READ_ONLY), setting
        assert (told(kernel._context)["d1"] != last) == (setting.name not in _READ_ONLY), setting
    assert told(kernel._context)["d0"] == before["d0"]


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param("ipv4/conf/d1/rp_filter", id="that_netlink_tells"),
        pytest.param("ipv6/neigh/d2/gc_stale_time", id="of_neighbours"),
        pytest.param("ipv6/neigh/d2/retrans_time_ms", id="by_one_of_its_two_names"),
        pytest.param("ipv6/conf/d3/regen_min_advance", id="that_netlink_does_not_tell"),
    ],
)
def test_setting_of_one_link_among_others_like_it_is_found(kernel: Kernel, setting: str) -> None:
    links = {link.key: link for link in kernel.dump(Selection(everything=True))}
    before = kernel.changed_settings(links)
    assert _changed(_ROOT / setting)
    assert [found.key for found in kernel.changed_settings(links) if found not in before] == [(f"net/{setting}",)]


def _routers(link: str) -> Iterator[socket.socket]:
    """What routes multicasts by a link, of each protocol: the kernel tells so among the settings of the link."""
    index, first, by_index = socket.if_nametoindex(link), 200, 8  # MRT_INIT and MRT6_INIT, VIFF_USE_IFINDEX
    ipv4 = struct.pack("=HBBIII", 0, by_index, 1, 0, index, 0)
    ipv6 = struct.pack("=HBBHxxI", 0, 0, 1, index, 0)
    for family, protocol, level, interface in (
        (socket.AF_INET, socket.IPPROTO_IGMP, socket.IPPROTO_IP, ipv4),
        (socket.AF_INET6, socket.IPPROTO_ICMPV6, socket.IPPROTO_IPV6, ipv6),
    ):
        with socket.socket(family, socket.SOCK_RAW, protocol) as router:
            router.setsockopt(level, first, struct.pack("=i", 1))
            router.setsockopt(level, first + 2, interface)
            yield router


def test_that_multicasts_are_routed_by_a_link_is_no_setting_of_it(kernel: Kernel) -> None:
    links = {link.key: link for link in kernel.dump(Selection(everything=True))}
    told_of = [_ROOT / family / "conf/d1/mc_forwarding" for family in ("ipv4", "ipv6")]
    before = kernel.changed_settings(links), kernel.settings_of({"d1"})
    for setting, _router in zip(told_of, _routers("d1"), strict=True):
        assert setting.read_text() == "1\n"
        assert (kernel.changed_settings(links), kernel.settings_of({"d1"})) == before


def test_few_files_of_links_like_others_are_read(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    links = {link.key: link for link in kernel.dump(Selection(everything=True))}
    read: list[str] = []

    def noted(path: str) -> str:
        read.append(path)
        return sysctls.read(path)

    monkeypatch.setattr(sysctls_changed, "read", noted)
    kernel.changed_settings(links)
    assert not any(path.endswith("/base_reachable_time") for path in read)  # which the kernel writes to its log
    of_each = [[path for path in read if f"/{name}/" in path] for name in ("d0", "d1", "d2", "d3")]
    assert len(of_each[0]) > 100
    assert _READ_ONLY.isdisjoint(Path(path).name for paths in of_each[1:] for path in paths)
    assert len(of_each[1]) == len(of_each[2]) == len(of_each[3]) < 10
