# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings that others have changed below links that are made anew or go: they are back with their links."""

import subprocess
from pathlib import Path

import pytest

from netgroupd.kernel import sysctls_changed
from netgroupd.kernel.netns import entered
from tests.vm.hosts import EngineIn

VXLAN = "links: {{vx: {{kind: vxlan, id: {}, dstport: 4789, local: 127.0.0.1, up: true{}}}}}\n"
CHANGED = {
    "ipv4/conf/vx/rp_filter": "2",
    "ipv4/conf/vx/route_localnet": "1",
    "ipv6/conf/vx/accept_ra": "0",
    "ipv4/neigh/vx/base_reachable_time_ms": "12350",
    "ipv6/neigh/vx/gc_stale_time": "77",
}
NET = Path("/proc/sys/net")


def told() -> dict[str, str]:
    with entered("here"):
        return {path: (NET / path).read_text().strip() for path in CHANGED}


def change() -> None:
    with entered("here"):
        for path, value in CHANGED.items():
            (NET / path).write_text(value)


@pytest.mark.parametrize("few", [64, 0])
@pytest.mark.parametrize("after", [VXLAN.format(8, ""), "links: {d0: {kind: dummy}}\n"], ids=["made_anew", "goes"])
def test_settings_of_others_are_back_with_their_link(
    engine_in: EngineIn, monkeypatch: pytest.MonkeyPatch, after: str, few: int
) -> None:
    monkeypatch.setattr(sysctls_changed, "_FEW", few)
    engine_in("here", VXLAN.format(7, "")).apply()
    change()
    before = told()
    engine = engine_in("here", after)
    assert not engine.apply(confirm_s=60.0).plan.warnings
    engine.rollback()
    assert told() == before == CHANGED


def test_settings_of_others_are_back_with_a_link_that_goes_elsewhere(engine_in: EngineIn) -> None:
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    try:
        engine_in("here", "links: {vx: {kind: dummy, up: true}}").apply()
        change()
        engine = engine_in("here", "links: {vx: {kind: dummy, up: true, netns: blue}}")
        engine.apply(confirm_s=60.0)
        engine.rollback()
        assert told() == CHANGED
    finally:
        subprocess.run(["ip", "netns", "del", "blue"], check=True)


def test_setting_of_ours_and_those_of_others_are_back_together(engine_in: EngineIn) -> None:
    own = ", sysctl: {ipv4.rp_filter: 1}"
    engine_in("here", VXLAN.format(7, own)).apply()
    change()
    engine_in("here", VXLAN.format(7, own)).apply()
    engine = engine_in("here", VXLAN.format(8, own))
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert told() == {**CHANGED, "ipv4/conf/vx/rp_filter": "1"}
