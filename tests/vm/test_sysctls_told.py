# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of links that a capture does not read for each link: netlink must tell of every one of them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
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
        pytest.param("ipv6/conf/d3/regen_min_advance", id="that_netlink_does_not_tell"),
    ],
)
def test_setting_of_one_link_among_others_like_it_is_found(kernel: Kernel, setting: str) -> None:
    links = {link.key: link for link in kernel.dump(Selection(everything=True))}
    before = kernel.changed_settings(links)
    assert _changed(_ROOT / setting)
    assert [found.key for found in kernel.changed_settings(links) if found not in before] == [(f"net/{setting}",)]
